"""Cables as they are, against cables as planned."""
