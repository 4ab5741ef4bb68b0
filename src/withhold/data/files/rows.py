"""The list of rows beside a release: which original row each released row was.

It stays in the house. `withhold audit` reads it to compare a release with its original.
"""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv as pcsv
import pyarrow.parquet as pq

from withhold.atomic import open_new, writing_to
from withhold.errors import UserError

_STEP = 4096
MANY_ROWS = 1_000_000  # from which the list is Parquet


def rows_path(output: Path, rows: int = 0) -> Path:
    """Where the list of released rows goes: which original row each of them was."""
    return output.with_name(f"{output.stem}.rows.{'parquet' if rows > MANY_ROWS else 'csv'}")


def write_rows(path: Path, originals: npt.NDArray[np.int64]) -> None:
    """Write which original row each released row was, for the owner of the file alone (0600).

    This list does not leave the house.
    """
    with writing_to(path), open_new(path, private=True) as file:
        if path.suffix == ".parquet":
            numbers = np.arange(len(originals))
            pq.write_table(pa.table({"released": numbers, "original": originals}), file)
            return
        with io.TextIOWrapper(file, encoding="ascii", newline="") as text:
            writer = csv.writer(text, lineterminator="\n")
            writer.writerow(["released", "original"])
            for start in range(0, len(originals), _STEP):
                writer.writerows(enumerate(originals[start : start + _STEP].tolist(), start))


def find_rows(release: Path) -> Path | None:
    """The list of rows that stands beside a release, if there is one."""
    found = [release.with_name(f"{release.stem}.rows.{kind}") for kind in ("csv", "parquet")]
    return next((path for path in found if path.is_file()), None)


def read_rows(path: Path) -> npt.NDArray[np.int64]:
    """The original row of each released row, (n,)."""
    try:
        table = pq.read_table(path) if path.suffix == ".parquet" else pcsv.read_csv(path)
        released = table["released"].to_numpy().astype(np.int64)
        originals = table["original"].to_numpy().astype(np.int64)
    except (OSError, KeyError, ValueError, pa.ArrowException) as error:
        raise UserError(
            f"{path} is not a list of rows as withhold transform writes it (columns released and"
            " original)"
        ) from error
    n = len(originals)
    if not np.array_equal(np.sort(released), np.arange(n)) or len(np.unique(originals)) != n:
        raise UserError(f"{path} does not name each row once; write the release again")
    found = np.empty(n, np.int64)
    found[released] = originals
    return found
