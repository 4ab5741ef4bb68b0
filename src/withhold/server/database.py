"""The database of a server: one SQLite file that the server and its workers share.

The write-ahead log lets readers go on while one process writes. Every change of a state is one
statement with the old state in its condition, so that two processes cannot both make it.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_SCHEMA = """
CREATE TABLE IF NOT EXISTS jobs (
    id TEXT PRIMARY KEY,
    kind TEXT NOT NULL,
    state TEXT NOT NULL,
    request TEXT NOT NULL,
    created REAL NOT NULL,
    started REAL,
    ended REAL,
    attempts INTEGER NOT NULL DEFAULT 0,
    runs INTEGER NOT NULL DEFAULT 0,
    pid INTEGER,
    progress TEXT NOT NULL DEFAULT '[]',
    error TEXT,
    result TEXT
) STRICT;
CREATE INDEX IF NOT EXISTS jobs_by_state ON jobs (state, created);
CREATE TABLE IF NOT EXISTS messages (
    job TEXT NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
    line TEXT NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS messages_by_job ON messages (job);
CREATE TABLE IF NOT EXISTS datasets (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    format TEXT NOT NULL,
    bytes INTEGER NOT NULL,
    created REAL NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS sessions (digest TEXT PRIMARY KEY, ends REAL NOT NULL) STRICT;
"""


class Database:
    """One connection, which the threads of a process use in turn."""

    def __init__(self, path: Path) -> None:
        self._lock = threading.RLock()
        self._connection = sqlite3.connect(
            path, timeout=30, isolation_level=None, check_same_thread=False
        )
        self._connection.row_factory = sqlite3.Row
        self._connection.execute("PRAGMA journal_mode = WAL")
        # A job that was answered with 202 must survive a power cut.
        self._connection.execute("PRAGMA synchronous = FULL")
        self._connection.execute("PRAGMA foreign_keys = ON")
        self._connection.executescript(_SCHEMA)
        path.chmod(0o600)

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            self._connection.close()

    def rows(self, statement: str, *values: object) -> list[sqlite3.Row]:
        """All rows that a statement finds."""
        with self._lock:
            return self._connection.execute(statement, values).fetchall()

    def change(self, statement: str, *values: object) -> int:
        """Run one statement; returns how many rows it changed."""
        with self._lock:
            return self._connection.execute(statement, values).rowcount

    @contextmanager
    def together(self) -> Iterator[None]:
        """Several statements as one: all or none; no other process writes in between."""
        with self._lock:
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")
