"""Sessions to gear."""
