"""Reading gear: one module per system whose answers are parsed."""
