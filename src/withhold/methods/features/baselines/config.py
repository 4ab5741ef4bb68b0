"""The settings of a method that has none."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class NoConfig(BaseModel):
    """Nothing to set."""

    model_config = ConfigDict(extra="forbid", frozen=True)
