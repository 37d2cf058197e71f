"""Write to gear."""
