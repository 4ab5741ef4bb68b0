"""The files of a release: written to a folder beside it, then moved into place together."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from withhold.core.atomic import writing_to
from withhold.media.folder_sink import DATE
from withhold.media.pipeline import Skipped
from withhold.records.samples import RecordKind
from withhold.records.writers.sink import check_sink
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


@contextmanager
def making(output: Path) -> Iterator[Path]:
    """A folder `.NAME.partial` beside the release, to write its files in.

    When the block ends, its files are moved beside the release, the release itself last. After an
    exception, the older files stay as they were. Lists of rows, certificates and tables of codes
    of an older release of the same name are removed. All files get the same fixed date, so that
    they do not show when the release was made.
    """
    check_sink(output)
    final = Path(os.path.realpath(output))
    work = final.with_name(f".{final.name}.partial")
    with writing_to(output):
        _remove(work)  # left by a killed run
        work.mkdir()
    try:
        yield work
        made = sorted(work.iterdir(), key=lambda path: path.name == final.name)
        with writing_to(output):
            for path in made:
                os.utime(path, (DATE, DATE))
                os.replace(path, final.with_name(path.name))
            for path in _older(final.with_name(output.name)):
                if path.name not in {p.name for p in made}:
                    path.unlink(missing_ok=True)
    finally:
        _remove(work)


def _older(output: Path) -> list[Path]:
    """Files that belong to a release. A table of codes counts only beside one of the others."""
    names = [f"{output.stem}.{end}" for end in ("rows.csv", "rows.parquet", "certificate.json")]
    found = [path for name in names if (path := output.with_name(name)).is_file()]
    return [*found, codes_path(output)] if found else []


def codes_path(output: Path) -> Path:
    """Where the table of codes of a release `--as index` goes."""
    return output.with_name(f"{output.stem}.codes{output.suffix}")


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
