"""What a release wrote, for every kind of record."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from withhold.media.pipeline import Skipped
from withhold.records.samples import RecordKind
from withhold.release.policy import Decision


@dataclass(frozen=True)
class Written:
    """How many records were released, with which columns, and where the other files are.

    columns: the labels released with media, or all columns of a file of features; rows, names: the
    file that says which record became which, for a table or a folder; skipped: media that could
    not be released; left_out: the file that lists them.
    """

    kind: RecordKind
    records: int
    decision: Decision
    columns: list[str]
    same_order: bool
    rows: Path | None = None
    certificate: Path | None = None
    codes: Path | None = None
    names: Path | None = None
    skipped: tuple[Skipped, ...] = ()
    left_out: Path | None = None
