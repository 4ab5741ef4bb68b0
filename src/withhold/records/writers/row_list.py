"""The list of rows beside a release: which original row each released row was.

It stays in the house. `withhold audit` reads it to compare a release with its original. The list
holds the SHA-256 of the release file, and one of the features of the original in their order: with
another file, or the same records in another order, every record would be paired with a stranger,
and an audit would find that nothing can be read.
"""

from __future__ import annotations

import csv
import hashlib
import io
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv as pcsv
import pyarrow.parquet as pq

from withhold.core.atomic import open_new, writing_to
from withhold.core.errors import UserError
from withhold.core.safe_read import file_sha256

_STEP = 4096
MANY_ROWS = 1_000_000  # from which the list is Parquet
_MARKS = {  # the first lines of a CSV list, and the metadata of a Parquet list
    "release": "# sha256 of the release: ",
    "original": "# sha256 of the features of the original: ",
}


def rows_path(output: Path, rows: int = 0) -> Path:
    """Where the list of released rows goes: which original row each of them was."""
    return output.with_name(f"{output.stem}.rows.{'parquet' if rows > MANY_ROWS else 'csv'}")


def write_rows(
    path: Path, originals: npt.NDArray[np.int64], release: Path, original: str | None
) -> None:
    """Write which original row each row of the file `release` was, for its owner alone (0600).

    original: the digest of its features, where it has some. This list does not leave the house.
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
    """The list of rows that stands beside a release, if there is one."""
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
            f"{path} is not a list of rows as withhold transform writes it (columns released and"
            " original)"
        ) from error
    n = len(originals)
    if not np.array_equal(np.sort(released), np.arange(n)) or len(np.unique(originals)) != n:
        raise UserError(f"{path} does not name each row once; write the release again")
    found = np.empty(n, np.int64)
    found[released] = originals
    return found


def listed_digests(path: Path) -> dict[str, str]:
    """The SHA-256 of the `release` and of the features of the `original` that a list is of.

    A list without them gives nothing, and so does what is no list: `read_rows` says what is wrong.
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
    """Refuse a list of rows that is of another file than `release`.

    A list that does not say whose it is counts where the user named it himself.
    """
    digest = listed_digests(path).get("release")
    if digest is None and not named:
        raise UserError(
            f"{path} does not say which release it is of; write the release again, or name the list"
            " with --rows if you are sure"
        )
    if digest is not None and digest != file_sha256(release):
        raise UserError(
            f"{path} is the list of rows of another release than {release} (its SHA-256 differs);"
            " remove it, or name the list of this release with --rows"
        )


class FeatureDigest:
    """SHA-256 of features in the order of their rows, whatever file or batches they come in."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()

    def add(self, x: npt.NDArray[np.float32]) -> None:
        """The next rows, (n, d)."""
        self._hash.update(np.ascontiguousarray(x + np.float32(0), "<f4").data)

    def hexdigest(self) -> str:
        """The digest of all rows so far."""
        return self._hash.hexdigest()


def features_digest(x: npt.NDArray[np.float32]) -> str:
    """The digest of all rows at once."""
    found = FeatureDigest()
    for start in range(0, len(x), _STEP):
        found.add(x[start : start + _STEP])
    return found.hexdigest()
