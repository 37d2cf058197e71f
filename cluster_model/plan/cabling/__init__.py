"""Cables: what joins two ports, and how long it is."""
