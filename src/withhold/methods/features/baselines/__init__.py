"""Baselines, each a method like any other. Importing this package registers them all."""

from withhold.methods.features.baselines import constant, identity, leace, noise, random_substitute

registered = (identity, constant, noise, random_substitute, leace)
