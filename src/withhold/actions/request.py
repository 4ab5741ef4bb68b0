"""Options that requests share: how to read a dataset, and how to open media."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from withhold.core.progress import Progress
from withhold.records.dataset import Dataset
from withhold.records.readers import open_source
from withhold.records.streamed import StreamedDataset, is_large


class Request(BaseModel):
    """The checked options of an action. Interfaces such as the command line make one."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class DataOptions(Request):
    """How to read a file of features, or a mixed table."""

    features: str = "x"
    group: str | None = None
    exclude: tuple[str, ...] = ()
    multilabel: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    test: str | None = Field(None, description='records to hold out, e.g. "take>=30"')
    kind: Literal["features", "table"] = "features"
    delimiter: str | None = Field(None, description="of a CSV file; guessed by default")

    def resolved(self, path: Path) -> DataOptions:
        """The same with the kind of the file: without features it is a mixed table.

        A file holds features if some were named, or if it has a column `x`.
        """
        if self.features != "x" or self.kind == "table":
            return self
        schema = open_source(path, delimiter=self.delimiter).schema
        return self if "x" in schema.names else self.model_copy(update={"kind": "table"})

    def read(self, path: Path, progress: Progress) -> Dataset:
        """Read the dataset at `path`."""
        table = self.kind == "table"
        data = Dataset.read(
            path,
            features=self.features,
            group=self.group,
            exclude=self.exclude,
            multilabel=self.multilabel,
            kind="table" if table else None,
            delimiter=self.delimiter,
            progress=progress,
        )
        return data if self.test is None else data.with_test_where(self.test)

    def is_large(self, path: Path) -> bool:
        """Whether the features of a file are too many to be in memory at once."""
        if self.kind == "table":
            return False
        return is_large(path, self.features, delimiter=self.delimiter)

    def open(self, path: Path, columns: Sequence[str], progress: Progress) -> StreamedDataset:
        """The dataset at `path` with its features left in the file, and these columns in memory."""
        return StreamedDataset.open(
            path,
            columns,
            features=self.features,
            group=self.group,
            exclude=self.exclude,
            multilabel=self.multilabel,
            delimiter=self.delimiter,
            progress=progress,
        )


class Opening(Request):
    """How to open media; see `withhold.records.readers.open_media`."""

    pattern: str | None = None
    column: str | None = None
    rate: int | None = Field(None, ge=1)
    allow_outside: bool = False

    def given(self) -> dict[str, Any]:
        """The options that were given, for `open_media`."""
        return {k: v for k, v in self.model_dump().items() if v not in (None, False)}
