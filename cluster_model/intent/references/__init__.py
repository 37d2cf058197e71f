"""Names, ids and numbers that must agree within an intent."""
