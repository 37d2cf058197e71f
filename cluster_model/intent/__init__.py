"""What is wanted: the typed description a person writes."""
