"""What evidence is made of: a tier, a rung of the ladder, a slice, a source, a picture."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from withhold.audit.metrics import Interval, Score

METADATA = "metadata of the file"  # the kind of a column that is none


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


class Wider(Finding):
    """What was read beside the test part's features: accuracy, and the floor that it has."""

    records: int
    accuracy: float
    ci: Interval
    least: float = Field(
        description="the accuracy is above this; all looks of this kind share 99.5 % confidence"
    )
    floor: float = Field(description="the best guess of the same records without the release")
    attacker: str

    @property
    def sure(self) -> bool:
        """Whether it is surely above its floor."""
        return self.least > self.floor


class AllRows(Wider):
    """Cross-fitted attackers on every released record, train and validation too.

    The figure is of the part that is read most surely: `part` names it, `parts` has them all.
    """

    part: str
    parts: dict[str, Wider] = Field(default_factory=dict)
    elimination: dict[str, Wider] = Field(
        default_factory=dict,
        description="by part: who knows all other labels names the class that a code lacks",
    )

    @property
    def eliminates(self) -> bool:
        """Whether the figure is that of somebody who knows all other labels."""
        return self.attacker == "elimination"


class ColumnRead(Wider):
    """What one column of the release tells of an attribute."""

    column: str
    copy_of: bool = Field(False, description="whether each value stands for one class")
    tells: bool = Field(
        False, description="whether it surely moves the odds, even where no guess gets better"
    )
    bits: float = Field(0.0, description="gain of the guess in log2 probability of the truth")


class SliceRead(Wider):
    """Some of the released records, of which more is read than of the others."""

    by: str = Field(description="how the records were found")
    value: str
    share: float = Field(description="of all records")


class Column(Finding):
    """One column of the release, and what it tells alone."""

    name: str
    kind: str
    attacked: bool
    why_not: str = ""
    tells: dict[str, ColumnRead] = Field(default_factory=dict, description="by attribute")


class Copies(Finding):
    """Released records of one part that are (nearly) their originals."""

    records: int
    copies: int = Field(description="so near to their originals that nothing else is as near")
    share: float
    expected: float = Field(description="the share that changes as large as the others' explain")
    reidentified: float = Field(description="the share whose nearest original is their own")
    found: bool = Field(description="whether there are surely more copies than expected")


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


class AuditedData(Finding):
    """A file or dataset that was audited."""

    name: str
    records: int
    features: int
    sha256: str
    sha256_of: Literal["file", "values"] = Field(
        "values", description="of the file, as sha256sum prints it, or of the values in memory"
    )


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
