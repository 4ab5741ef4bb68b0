"""Uploaded files: streamed to a private folder, known by an opaque id, removed by age."""

from __future__ import annotations

import asyncio
import errno
import os
import time
import unicodedata
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from withhold.server.database import Database
from withhold.server.private_folder import PrivateFolder, new_id
from withhold.server.problems import Problem

# The formats by name: the suffix of the file that is written, and how clients may name them.
SUFFIXES = {
    "csv": ".csv",
    "tsv": ".tsv",
    "csv.gz": ".csv.gz",
    "jsonl": ".jsonl",
    "jsonl.gz": ".jsonl.gz",
    "parquet": ".parquet",
    "xlsx": ".xlsx",
    "npz": ".npz",
    "arrow": ".arrow",
}
_ENDINGS = {"ndjson": "jsonl", "ndjson.gz": "jsonl.gz", "pq": "parquet", "arrows": "arrow"}
_ENDINGS |= {name: name for name in SUFFIXES}
_LONGEST = 200  # characters of a name that are kept


@dataclass(frozen=True)
class Upload:
    """One uploaded file. `name` is for people only."""

    id: str
    name: str
    format: str
    bytes: int
    created: float


class DatasetStore:
    """All uploads."""

    def __init__(self, database: Database, folder: PrivateFolder) -> None:
        self.database, self.folder = database, folder
        # Bytes of every upload, also of those that are still arriving: the limit is for all.
        self._held = {one.id: one.bytes for one in self.uploads()}

    async def receive(
        self, body: AsyncIterator[bytes], *, name: str, format: str, most: int, stored: int
    ) -> Upload:
        """Write a body to disk as it arrives; refuse what is larger than `most` bytes.

        `stored` is the limit of all uploads together.
        """
        id = new_id()
        size = 0
        try:
            with _room():
                self.folder.upload(id).mkdir(mode=0o700)
                handle = os.open(self.path(id, format), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
                with os.fdopen(handle, "wb") as file:
                    async for chunk in body:
                        size += len(chunk)
                        if size > most:
                            raise Problem(413, f"the file is larger than {_size(most)}")
                        self._held[id] = size
                        if sum(self._held.values()) > stored:
                            raise Problem(
                                413,
                                f"all uploads together would be larger than {_size(stored)};"
                                " delete some",
                            )
                        file.write(chunk)
                    file.flush()
                    await asyncio.to_thread(os.fsync, file.fileno())
            if not size:
                raise Problem(422, "the file is empty")
            await asyncio.to_thread(
                self.database.change,
                "INSERT INTO datasets VALUES (?, ?, ?, ?, ?)",
                id,
                shown_name(name) or f"data{SUFFIXES[format]}",
                format,
                size,
                time.time(),
            )
        except BaseException:
            self._held.pop(id, None)
            self.folder.remove_upload(id)
            raise
        found = self.find(id)
        assert found is not None
        return found

    def path(self, id: str, format: str) -> Path:
        """Where the file of an upload is. The name that the client gave is no part of it."""
        return self.folder.upload(id) / f"data{SUFFIXES[format]}"

    def find(self, id: str) -> Upload | None:
        """An upload by its id."""
        rows = self.database.rows("SELECT * FROM datasets WHERE id = ?", id)
        return Upload(**dict(rows[0])) if rows else None

    def uploads(self) -> list[Upload]:
        """All uploads, the newest first."""
        rows = self.database.rows("SELECT * FROM datasets ORDER BY created DESC")
        return [Upload(**dict(row)) for row in rows]

    def remove(self, id: str) -> bool:
        """Remove an upload from disk and from the database."""
        found = bool(self.database.change("DELETE FROM datasets WHERE id = ?", id))
        self.folder.remove_upload(id)
        self._held.pop(id, None)
        return found

    def remove_older(self, seconds: float) -> int:
        """Remove uploads of this age that no job waits for or works on; returns how many."""
        rows = self.database.rows(
            "SELECT id FROM datasets WHERE created < ? AND NOT EXISTS (SELECT 1 FROM jobs WHERE"
            " state IN ('queued', 'running') AND instr(request, datasets.id))",
            time.time() - seconds,
        )
        for row in rows:
            self.remove(row[0])
        return len(rows)


@contextmanager
def _room() -> Iterator[None]:
    """A disk that is full is no mistake of the client, and its path is none of its business."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise Problem(507, "the disk of the server is full; delete datasets or jobs") from error


def format_of(name: str) -> str:
    """The format that the ending of a file's name says."""
    ending = name.lower().rpartition("/")[2]
    for known in sorted(_ENDINGS, key=len, reverse=True):
        if ending.endswith(f".{known}"):
            return _ENDINGS[known]
    raise Problem(
        422,
        "the name does not say what the file is; it must end in one of"
        f" {', '.join(sorted(_ENDINGS))}",
    )


def shown_name(name: str) -> str:
    """A name to show: its last part, without control characters, not too long."""
    last = name.replace("\\", "/").rpartition("/")[2]
    plain = "".join(c for c in last if unicodedata.category(c)[0] != "C")
    return plain.strip()[:_LONGEST]


def _size(size: int) -> str:
    return f"{size / 2**20:,.0f} MiB"
