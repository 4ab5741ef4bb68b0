"""Stages of a fit that several methods share: each trains one network and journals its epochs."""
