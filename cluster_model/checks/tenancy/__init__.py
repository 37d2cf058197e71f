"""Rules about tenants, their subnets, and the border."""
