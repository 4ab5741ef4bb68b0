"""The list of rows beside a release: which original row each released row was.

The list is private. `withhold audit` reads it to compare a release with its original. It contains
the SHA-256 of the release file, and one of the features of the original in their order. With
another file, or with the same records in another order, every record would be paired with a wrong
one, and an audit would wrongly find that nothing can be inferred.
"""

from __future__ import annotations

import csv
import hashlib
import io
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv as pcsv
import pyarrow.parquet as pq

from withhold.core.atomic import open_new, writing_to
from withhold.core.errors import UserError
from withhold.core.safe_read import file_sha256
from withhold.records.splits import SPLIT
from withhold.records.tables import canonical_bytes

if TYPE_CHECKING:
    from withhold.records.dataset import Dataset

_STEP = 4096
MANY_ROWS = 1_000_000  # a longer list is written as Parquet
_MARKS = {  # the first lines of a CSV list, and the metadata of a Parquet list
    "release": "# sha256 of the release: ",
    "original": "# sha256 of the features of the original: ",
}


def rows_path(output: Path, rows: int = 0) -> Path:
    """Where the list goes that says which original row each released row was."""
    return output.with_name(f"{output.stem}.rows.{'parquet' if rows > MANY_ROWS else 'csv'}")


def write_rows(
    path: Path, originals: npt.NDArray[np.int64], release: Path, original: str | None
) -> None:
    """Write which original row each row of the file `release` was, for its owner alone (0600).

    original: the digest of its features, if it has any. This list must stay private.
    """
    known = {"release": file_sha256(release)} | ({} if original is None else {"original": original})
    with writing_to(path), open_new(path, private=True) as file:
        if path.suffix == ".parquet":
            numbers = np.arange(len(originals))
            table = pa.table({"released": numbers, "original": originals})
            said = {f"withhold.{of}.sha256": digest for of, digest in known.items()}
            pq.write_table(table.replace_schema_metadata(said), file)
            return
        with io.TextIOWrapper(file, encoding="ascii", newline="") as text:
            writer = csv.writer(text, lineterminator="\n")
            text.writelines(f"{_MARKS[of]}{digest}\n" for of, digest in known.items())
            writer.writerow(["released", "original"])
            for start in range(0, len(originals), _STEP):
                writer.writerows(enumerate(originals[start : start + _STEP].tolist(), start))


def find_rows(release: Path) -> Path | None:
    """The list of rows beside a release, if there is one."""
    found = [release.with_name(f"{release.stem}.rows.{kind}") for kind in ("csv", "parquet")]
    return next((path for path in found if path.is_file()), None)


def read_rows(path: Path) -> npt.NDArray[np.int64]:
    """The original row of each released row, (n,)."""
    try:
        if path.suffix == ".parquet":
            table = pq.read_table(path)
        else:
            skip = pcsv.ReadOptions(skip_rows=len(listed_digests(path)))
            table = pcsv.read_csv(path, read_options=skip)
        released = table["released"].to_numpy().astype(np.int64)
        originals = table["original"].to_numpy().astype(np.int64)
    except (OSError, KeyError, ValueError, pa.ArrowException) as error:
        raise UserError(
            f"{path} is not a list of rows from withhold transform (it needs the columns released"
            " and original)"
        ) from error
    n = len(originals)
    if not np.array_equal(np.sort(released), np.arange(n)) or len(np.unique(originals)) != n:
        raise UserError(f"{path} does not name each row once; write the release again")
    found = np.empty(n, np.int64)
    found[released] = originals
    return found


def listed_digests(path: Path) -> dict[str, str]:
    """The SHA-256 of the `release` and of the features of the `original` in a list.

    The result is empty for a list without them, and for a file that is not a list: `read_rows`
    reports what is wrong.
    """
    try:
        if path.suffix == ".parquet":
            said = pq.read_schema(path).metadata or {}
            keys = {of: f"withhold.{of}.sha256".encode() for of in _MARKS}
            return {of: said[k].decode("ascii", "replace") for of, k in keys.items() if k in said}
        with path.open("rb") as file:
            first = [file.readline(200).decode("ascii", "replace") for _ in _MARKS]
    except (OSError, pa.ArrowException):
        return {}
    return {
        of: line.removeprefix(mark).strip()
        for line in first
        for of, mark in _MARKS.items()
        if line.startswith(mark)
    }


def check_release(path: Path, release: Path, *, named: bool) -> None:
    """Refuse a list of rows that belongs to another file than `release`.

    A list without a digest is accepted only if the user named it.
    """
    digest = listed_digests(path).get("release")
    if digest is None and not named:
        raise UserError(
            f"{path} does not say which release it belongs to; write the release again, or name it"
            " with --rows if you are sure"
        )
    if digest is not None and digest != file_sha256(release):
        raise UserError(
            f"{path} is the list of rows of another release than {release} (its SHA-256 differs);"
            " remove it, or name the list of this release with --rows"
        )


class FeatureDigest:
    """SHA-256 of records in the order of their rows: of features, for any file format and batches,
    or of all columns of a mixed table, for any file format and batches of 4,096 rows."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()

    def add(self, x: npt.NDArray[np.float32]) -> None:
        """The next rows, (n, d)."""
        self._hash.update(np.ascontiguousarray(x + np.float32(0), "<f4").data)

    def add_table(self, table: pa.Table) -> None:
        """The next 4,096 rows of a mixed table. An audit may add a split, which does not count."""
        for name in sorted(n for n in table.column_names if n != SPLIT):
            self._hash.update(name.encode())
            for piece in canonical_bytes(table[name]):
                self._hash.update(piece)

    def hexdigest(self) -> str:
        """The digest of all rows so far."""
        return self._hash.hexdigest()


def records_digest(dataset: Dataset) -> str:
    """The digest of all records of a dataset at once."""
    found = FeatureDigest()
    for start in range(0, len(dataset), _STEP):
        if dataset.tabular:
            found.add_table(dataset.table.slice(start, _STEP))
        else:
            found.add(dataset.x[start : start + _STEP])
    return found.hexdigest()
