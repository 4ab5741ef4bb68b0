"""`replace`: remove the attribute from an image, and put an independent one in its place."""

from withhold.methods.images.replace.fit import Replace

__all__ = ["Replace"]
