"""Ceph as it tells of itself, against the plan."""
