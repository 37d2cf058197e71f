"""Every choice made: the frozen plan of a cluster."""
