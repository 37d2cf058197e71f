"""Files from a plan."""
