"""Racks: where everything stands, and what power it has."""
