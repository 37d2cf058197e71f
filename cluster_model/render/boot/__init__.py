"""boot/: what takes a machine from power-on to an operating system."""
