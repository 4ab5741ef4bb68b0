"""`adversarial`: an anonymiser against an ensemble of privacy models."""

from withhold.methods.clips.adversarial.fit import Adversarial

__all__ = ["Adversarial"]
