"""What a user can ask for, typed: every door calls these functions."""
