"""Rules about services: provisioning, Ceph, Kubernetes, and those of the site."""
