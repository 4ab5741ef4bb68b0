"""Attackers: models that infer an attribute from a release, one a file."""
