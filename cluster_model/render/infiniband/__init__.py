"""fabric-manager/: what subnet managers and the tools beside them read."""
