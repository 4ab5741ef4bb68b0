"""What the API answers, as pydantic models."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field

from withhold.server.dataset_store import Upload
from withhold.server.job_requests import Kind
from withhold.server.job_store import Job, State


class DatasetAnswer(BaseModel):
    """An uploaded file."""

    id: str
    name: str = Field(description="as the client called it")
    format: str
    bytes: int
    created: float = Field(description="seconds since 1970")

    @classmethod
    def of(cls, upload: Upload) -> DatasetAnswer:
        """From the database."""
        return cls(**vars(upload))


class StageAnswer(BaseModel):
    """A piece of work in progress."""

    name: str
    done: int
    total: int | None
    note: str
    seconds: float = Field(description="since its beginning")
    left: float | None = Field(description="seconds left, if that can be said")


class JobAnswer(BaseModel):
    """A job as it is now."""

    id: str
    kind: Kind
    state: State
    created: float
    started: float | None
    ended: float | None
    attempts: int = Field(description="how often a worker was started for it")
    progress: list[StageAnswer] = Field(description="open stages, the outermost first")
    messages: list[str] = Field(description="notes and warnings of the action")
    error: str | None = Field(description="why it failed")
    result: dict[str, Any] | None
    request: dict[str, Any]

    @classmethod
    def of(cls, job: Job, messages: list[str]) -> JobAnswer:
        """From the database."""
        return cls(
            id=job.id,
            kind=job.kind,
            state=job.state,
            created=job.created,
            started=job.started,
            ended=job.ended,
            attempts=job.attempts,
            progress=[StageAnswer(**stage) for stage in job.progress],
            messages=messages,
            error=job.error,
            result=job.result,
            request=job.request.model_dump(mode="json"),
        )


class JobLine(BaseModel):
    """A job in a list."""

    id: str
    kind: Kind
    state: State
    created: float
    ended: float | None


class ColumnAnswer(BaseModel):
    """A column of a dataset: the facts of a label, or why it is none."""

    label: bool
    why: str | None = None
    kind: str | None = None
    classes: int | None = None
    missing: int | None = None
    majority: float | None = None
    entropy_bits: float | None = None


class TellsAnswer(BaseModel):
    """What a guess of a suppressed attribute from one column alone achieves."""

    column: str
    kind: str
    right: float | None = Field(description="share of right guesses")
    guessing: float = Field(description="the same without the column")
    bits: float | None
    rule: str
    verdict: str


class PairAnswer(BaseModel):
    """Two attributes and the bits they share."""

    one: str
    two: str
    shared_bits: float
    two_given_one: float


class FeasibilityAnswer(BaseModel):
    """What can be had for the roles, before anything is trained."""

    entropy: dict[str, float]
    pairs: list[PairAnswer]
    majority: dict[str, float]
    floor: dict[str, float] = Field(description="of suppressed attributes: nobody gets below it")
    ceiling: dict[str, float] = Field(description="of preserved attributes: nobody gets above it")
    warnings: list[str]
    impossible: list[str]


class InspectionAnswer(BaseModel):
    """What is in a dataset, and what is feasible."""

    name: str
    records: int
    features: int
    groups: int | None
    split: dict[str, int] | None
    kind: str
    attributes: dict[str, ColumnAnswer]
    feasibility: FeasibilityAnswer
    tells: dict[str, list[TellsAnswer]]


class FileAnswer(BaseModel):
    """A file that may be downloaded."""

    name: str
    bytes: int


class BundleAnswer(BaseModel):
    """A bundle that a fit or a release made. Its key never leaves."""

    id: str = Field(description="that of the job that made it")
    kind: Kind
    created: float
    suppress: list[str]
    preserve: list[str]
    method: str


class Health(BaseModel):
    """Whether the server works."""

    status: str
    version: str
