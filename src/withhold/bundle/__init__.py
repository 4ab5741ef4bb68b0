"""Bundles: the result of a fit, saved, loaded and verified, and a record of what it saw."""
