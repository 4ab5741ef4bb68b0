"""Shared foundations: errors, progress, atomic files, keys and keyed randomness."""
