"""Sessions to switches."""
