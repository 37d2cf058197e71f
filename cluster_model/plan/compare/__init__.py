"""What changes from one plan to another."""
