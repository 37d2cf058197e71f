"""Read gear and compare with the plan."""
