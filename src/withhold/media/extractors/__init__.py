"""Extractors from media to features: one a file, one registry."""
