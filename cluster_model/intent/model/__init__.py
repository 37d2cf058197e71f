"""What a person writes, part by part: the models of an intent."""
