"""inventory/inventory.json, for Ansible."""
