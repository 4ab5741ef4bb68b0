"""Options that requests share: how to read a dataset, and how to open media."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from withhold.core.progress import Progress
from withhold.records.dataset import Dataset


class Request(BaseModel):
    """The checked options of an action. Interfaces such as the command line make one."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class DataOptions(Request):
    """How to read a file of features."""

    features: str = "x"
    group: str | None = None
    exclude: tuple[str, ...] = ()
    multilabel: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    test: str | None = Field(None, description='records to hold out, e.g. "take>=30"')

    def read(self, path: Path, progress: Progress) -> Dataset:
        """Read the dataset at `path`."""
        data = Dataset.read(
            path,
            features=self.features,
            group=self.group,
            exclude=self.exclude,
            multilabel=self.multilabel,
            progress=progress,
        )
        return data if self.test is None else data.with_test_where(self.test)


class Opening(Request):
    """How to open media; see `withhold.records.readers.open_media`."""

    pattern: str | None = None
    column: str | None = None
    rate: int | None = Field(None, ge=1)
    allow_outside: bool = False

    def given(self) -> dict[str, Any]:
        """The options that were given, for `open_media`."""
        return {k: v for k, v in self.model_dump().items() if v not in (None, False)}
