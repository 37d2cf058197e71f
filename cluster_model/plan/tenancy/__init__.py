"""What tenants need of switches and servers."""
