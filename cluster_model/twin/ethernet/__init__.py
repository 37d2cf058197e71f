"""Ethernet networks of the twin: booted, tried, broken and mended."""
