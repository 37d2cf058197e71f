"""`python -m cluster_model.cli` is `gpuyard`."""

from cluster_model.cli.main import main

main()
