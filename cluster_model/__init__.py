"""gpuyard: one typed description of a GPU cluster, and everything that follows from it."""

__version__ = "0.1.0"
