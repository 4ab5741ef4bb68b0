"""Options that requests share: how to read a dataset, and how to open media."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from withhold.core.errors import UserError
from withhold.core.progress import Progress
from withhold.media.text_columns import open_with_texts
from withhold.records.arrow_kinds import is_list
from withhold.records.dataset import Dataset
from withhold.records.readers import Source, open_source
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
    text: Literal["minilm"] | None = Field(None, description="embeds the free text of a table")

    def resolved(self, path: Path) -> DataOptions:
        """The same with the kind of the file: without features it is a mixed table.

        A file holds features if some were named, or if it has a list column `x`.
        """
        if {"features", "kind"} & self.model_fields_set:
            return self
        schema = open_source(path, delimiter=self.delimiter).schema
        is_features = self.features in schema.names and is_list(schema.field(self.features).type)
        return self if is_features else self.of_kind("table")

    def of_kind(self, kind: Literal["features", "table"]) -> DataOptions:
        """The same for a file of which the user said the kind."""
        return self.model_copy(update={"kind": kind})

    def open(self, path: Path, progress: Progress) -> Source:
        """The file as a source of batches, with embeddings of its free text if they are wanted."""
        if self.text is None:
            return open_source(path, delimiter=self.delimiter)
        return open_with_texts(path, self.text, delimiter=self.delimiter, progress=progress)

    def read(self, path: Path, progress: Progress) -> Dataset:
        """Read the dataset at `path`."""
        table = self.kind == "table"
        if table and self.multilabel:
            raise UserError("--multilabel is for features; a table has one value in each cell")
        if self.text is not None and not table:
            raise UserError(f"--text is for mixed tables, and {path.name} holds features")
        if table:
            data = Dataset.of_table(
                self.open(path, progress),
                path=path,
                group=self.group,
                exclude=self.exclude,
                progress=progress,
            )
            return data if self.test is None else data.with_test_where(self.test)
        data = Dataset.read(
            path,
            features=self.features,
            group=self.group,
            exclude=self.exclude,
            multilabel=self.multilabel,
            delimiter=self.delimiter,
            progress=progress,
        )
        return data if self.test is None else data.with_test_where(self.test)

    def is_large(self, path: Path) -> bool:
        """Whether the features of a file are too many to be in memory at once."""
        if self.kind == "table":
            return False
        return is_large(path, self.features, delimiter=self.delimiter)

    def stream(self, path: Path, columns: Sequence[str], progress: Progress) -> StreamedDataset:
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
