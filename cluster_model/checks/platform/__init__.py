"""Rules about what a network operating system can do."""
