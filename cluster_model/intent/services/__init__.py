"""What an intent says of services, one module per service."""
