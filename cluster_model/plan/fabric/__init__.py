"""Switches, links, ports and addresses of the networks."""
