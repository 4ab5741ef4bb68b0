"""What a release has written, for every kind of record."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from withhold.media.pipeline import Skipped
from withhold.records.samples import RecordKind
from withhold.release.policy import Decision


@dataclass(frozen=True)
class Written:
    """How many records were released, with which columns, and where the other files are.

    columns: what leaves beside media, or all columns of a file of features; rows, names: which
    record became which, in a table or in a folder; skipped: media that could not be released,
    which `left_out` lists.
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
