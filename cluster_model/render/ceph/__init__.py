"""What is rendered of Ceph."""
