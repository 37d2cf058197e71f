"""`python -m gpuyard` is `gpuyard`."""

from cluster_model.cli.main import main

main()
