"""Design rules over a plan."""
