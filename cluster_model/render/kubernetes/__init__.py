"""kubernetes/: what the cluster's API server is told of nodes, topology and tenants."""
