"""Releases: which columns leave, in which order, and what is written beside them."""
