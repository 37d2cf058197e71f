"""Services as planned, one module per service."""
