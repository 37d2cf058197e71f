"""kubernetes/network/: how pods get on the rails of the compute network, and how switches know where pods are."""
