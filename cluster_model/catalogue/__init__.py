"""Hardware facts, each with its source."""
