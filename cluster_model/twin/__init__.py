"""Boot the rendered tree on this machine."""
