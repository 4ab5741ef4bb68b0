"""An answer that says what is wrong: a status and one line of JSON."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import BaseModel, Field


class Problem(Exception):
    """Raised by a handler; becomes `{"error": line}` with this status."""

    def __init__(self, status: int, line: str, *, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(line)
        self.status, self.line, self.headers = status, line, dict(headers or {})


class ProblemBody(BaseModel):
    """The body of every answer that is not a success."""

    error: str = Field(description="what is wrong, in one line")
    job: str | None = Field(None, description="the job that goes on, after a 504")


def missing(what: str) -> Problem:
    """There is no such thing, or it is not there any more."""
    return Problem(404, f"there is no such {what}; it may have been removed")
