"""Losses, one a file, each with its equation. They take predictions, not models."""
