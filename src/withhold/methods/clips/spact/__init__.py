"""`spact`: an anonymiser against a branch that learns without privacy labels."""

from withhold.methods.clips.spact.fit import Spact

__all__ = ["Spact"]
