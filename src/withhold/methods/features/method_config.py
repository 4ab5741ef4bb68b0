"""The base of every method's settings."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class MethodConfig(BaseModel):
    """Settings that cannot be changed. An unknown name is refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class NoConfig(MethodConfig):
    """The settings of a method that has none."""
