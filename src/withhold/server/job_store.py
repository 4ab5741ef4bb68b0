"""Jobs in the database: queued, running, done, failed, cancelled.

queued -> running -> done | failed
queued | running -> cancelled
running -> queued    only if the worker vanished, e.g. because the machine stopped
"""

from __future__ import annotations

import json
import sqlite3
import time
from dataclasses import dataclass
from typing import Any, Literal, get_args

from pydantic import TypeAdapter

from withhold.server.database import Database
from withhold.server.job_requests import AnyJob, Kind
from withhold.server.private_folder import new_id

State = Literal["queued", "running", "done", "failed", "cancelled"]
STATES: tuple[State, ...] = get_args(State)
ENDED: tuple[State, ...] = ("done", "failed", "cancelled")
MOST_MESSAGES = 200  # of one job
_ASKED: TypeAdapter[AnyJob] = TypeAdapter(AnyJob)


class QueueFull(Exception):
    """As many jobs wait as the settings allow."""


@dataclass(frozen=True)
class Job:
    """One job as it is now. Times are in seconds since 1970."""

    id: str
    kind: Kind
    state: State
    request: AnyJob
    created: float
    started: float | None
    ended: float | None
    attempts: int
    runs: int
    pid: int | None
    progress: list[dict[str, Any]]
    error: str | None
    result: dict[str, Any] | None

    @property
    def is_over(self) -> bool:
        """Whether nothing will change any more."""
        return self.state in ENDED


class JobStore:
    """All jobs. Every method is one transaction."""

    def __init__(self, database: Database) -> None:
        self.database = database

    def add(self, asked: AnyJob, *, most_queued: int) -> str:
        """Queue a job; raise `QueueFull` if too many wait."""
        id = new_id()
        with self.database.together():
            waiting = self.database.rows("SELECT count(*) FROM jobs WHERE state = 'queued'")[0][0]
            if waiting >= most_queued:
                raise QueueFull
            self.database.change(
                "INSERT INTO jobs (id, kind, state, request, created)"
                " VALUES (?, ?, 'queued', ?, ?)",
                id,
                asked.kind,
                asked.model_dump_json(),
                time.time(),
            )
        return id

    def find(self, id: str) -> Job | None:
        """A job by its id."""
        rows = self.database.rows("SELECT * FROM jobs WHERE id = ?", id)
        return _job(rows[0]) if rows else None

    def jobs(self, *, state: str | None = None, most: int = 1000) -> list[Job]:
        """The newest jobs, of one state or of all."""
        rows = self.database.rows(
            "SELECT * FROM jobs WHERE ? IS NULL OR state = ? ORDER BY created DESC LIMIT ?",
            state,
            state,
            most,
        )
        return [_job(row) for row in rows]

    def ids(self) -> set[str]:
        """The ids of all jobs."""
        return {row[0] for row in self.database.rows("SELECT id FROM jobs")}

    def needed(self, id: str) -> bool:
        """Whether a job that is not over names this upload or bundle."""
        rows = self.database.rows(
            "SELECT 1 FROM jobs WHERE state IN ('queued', 'running') AND instr(request, ?) LIMIT 1",
            id,
        )
        return bool(rows)

    def same(self, asked: AnyJob) -> Job | None:
        """The newest job that was asked the same and did not fail: it need not run twice."""
        rows = self.database.rows(
            "SELECT * FROM jobs WHERE kind = ? AND request = ? AND state IN"
            " ('queued', 'running', 'done') ORDER BY created DESC LIMIT 1",
            asked.kind,
            asked.model_dump_json(),
        )
        return _job(rows[0]) if rows else None

    def claim(self) -> Job | None:
        """Set the oldest queued job to running, and return it."""
        rows = self.database.rows(
            "UPDATE jobs SET state = 'running', started = ?, attempts = attempts + 1, pid = NULL,"
            " progress = '[]' WHERE id = (SELECT id FROM jobs WHERE state = 'queued'"
            " ORDER BY created LIMIT 1) AND state = 'queued' RETURNING *",
            time.time(),
        )
        return _job(rows[0]) if rows else None

    def requeue(self, id: str, *, stopped: bool = False) -> bool:
        """Queue a running job again whose worker vanished, or was stopped: that is no attempt."""
        return bool(
            self.database.change(
                "UPDATE jobs SET state = 'queued', attempts = attempts - ?"
                " WHERE id = ? AND state = 'running'",
                int(stopped),
                id,
            )
        )

    def run_by(self, id: str, pid: int) -> bool:
        """Note the worker of a running job; False if the job is not running any more."""
        return bool(
            self.database.change(
                "UPDATE jobs SET pid = ? WHERE id = ? AND state = 'running'", pid, id
            )
        )

    def note_progress(self, id: str, stages: list[dict[str, Any]]) -> None:
        """Note how far a running job is."""
        self.database.change(
            "UPDATE jobs SET progress = ? WHERE id = ? AND state = 'running'",
            json.dumps(stages),
            id,
        )

    def finish(self, id: str, result: dict[str, Any]) -> bool:
        """Set a running job to done with its result.

        `runs` counts how often an action was run to its end, whatever the state is by now.
        """
        with self.database.together():
            self.database.change("UPDATE jobs SET runs = runs + 1 WHERE id = ?", id)
            return bool(
                self.database.change(
                    "UPDATE jobs SET state = 'done', ended = ?, result = ?, progress = '[]'"
                    " WHERE id = ? AND state = 'running'",
                    time.time(),
                    json.dumps(result),
                    id,
                )
            )

    def fail(self, id: str, error: str) -> bool:
        """Set a running job to failed with one line that says why."""
        return bool(
            self.database.change(
                "UPDATE jobs SET state = 'failed', ended = ?, error = ?, progress = '[]'"
                " WHERE id = ? AND state = 'running'",
                time.time(),
                error,
                id,
            )
        )

    def cancel(self, id: str) -> bool:
        """Set a job that is not over to cancelled. Its worker must then be stopped."""
        return bool(
            self.database.change(
                "UPDATE jobs SET state = 'cancelled', ended = ?, progress = '[]'"
                " WHERE id = ? AND state IN ('queued', 'running')",
                time.time(),
                id,
            )
        )

    def remove(self, id: str) -> bool:
        """Forget a job that is over."""
        return bool(
            self.database.change(
                "DELETE FROM jobs WHERE id = ? AND state IN ('done', 'failed', 'cancelled')", id
            )
        )

    def say(self, id: str, line: str) -> None:
        """Add a message for the client, up to a number of them."""
        self.database.change(
            "INSERT INTO messages (job, line) SELECT ?, ? WHERE"
            " (SELECT count(*) FROM messages WHERE job = ?) < ?",
            id,
            line,
            id,
            MOST_MESSAGES,
        )

    def messages(self, id: str) -> list[str]:
        """What the action said, each line once, in order."""
        rows = self.database.rows("SELECT line FROM messages WHERE job = ? ORDER BY rowid", id)
        return list(dict.fromkeys(row[0] for row in rows))

    def counts(self) -> dict[tuple[str, str], int]:
        """How many jobs there are of each kind and state."""
        rows = self.database.rows("SELECT kind, state, count(*) FROM jobs GROUP BY kind, state")
        return {(row[0], row[1]): row[2] for row in rows}


def _job(row: sqlite3.Row) -> Job:
    fields = dict(row)
    fields["request"] = _ASKED.validate_json(fields["request"])
    fields["progress"] = json.loads(fields["progress"])
    fields["result"] = None if fields["result"] is None else json.loads(fields["result"])
    return Job(**fields)
