"""What everything rests on: errors, progress, atomic files, keys and keyed randomness."""
