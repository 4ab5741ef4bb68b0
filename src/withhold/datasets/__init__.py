"""Datasets to try things on: generated worlds with known answers, and public sets by name."""
