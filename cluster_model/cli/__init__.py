"""The gpuyard command: one file per verb."""
