"""`meta`: `adversarial` with virtual training and testing on attributes and models."""

from withhold.methods.clips.meta.fit import Meta

__all__ = ["Meta"]
