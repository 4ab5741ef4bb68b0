"""What evidence is made of: a tier, a rung of the ladder, a slice, a source, a picture."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from withhold.audit.metrics import Interval, Score


class Finding(BaseModel):
    """A frozen piece of evidence; reading one leaves out what it does not know."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class Tier(Score):
    """What one tier of attacker read, and which attacker that was."""

    attacker: str


class Linked(Finding):
    """`records` of one person at once: right about `accuracy` of the bundles drawn."""

    records: int = Field(description="how many records of one person are put together")
    people: int = Field(description="how many people have that many records in the test part")
    floor: float = Field(0.0, description="the best guess of a bundle from the preserved labels")
    accuracy: float
    ci: Interval
    least: float = Field(description="the accuracy is above this with 99.5 % confidence")


class Rung(Finding):
    """One attacker of the ladder: how it did on val, where the best is chosen, and on test."""

    attacker: str
    val_accuracy: float | None = None
    val_bits: float | None = Field(None, description="bits of the attribute read from val")
    accuracy: float | None = None
    ci: Interval | None = None
    seconds: float | None = None
    skipped: str | None = Field(None, description="why it was not run")


class Slice(Finding):
    """The informed attacker on some of the test records: those where `by` is `value`."""

    by: str
    value: str
    records: int
    majority: float = Field(0.0, description="the rate of the commonest class among them")
    accuracy: float
    ci: Interval


class Source(Finding):
    """A file or dataset that was audited."""

    name: str
    records: int
    features: int
    sha256: str


class Distortion(Finding):
    """How far test records moved: Euclidean distances between original and release."""

    mean: float
    relative: float = Field(description="mean distance over the mean distance from the centre")
    edges: tuple[float, ...] = Field(description="edges of the histogram's bins")
    counts: tuple[int, ...] = Field(description="test records in each bin")


class Map(Finding):
    """Two flat pictures (t-SNE) of the same test records: for the eye, not for the verdict."""

    original: tuple[tuple[float, float], ...]
    release: tuple[tuple[float, float], ...] | None
    labels: dict[str, tuple[int, ...]] = Field(description="class of each record, -1 if unknown")
    classes: dict[str, tuple[str, ...]]
