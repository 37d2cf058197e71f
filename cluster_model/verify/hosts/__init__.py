"""Servers as they and their BMCs describe them, against the plan."""
