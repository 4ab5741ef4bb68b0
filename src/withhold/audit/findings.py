"""The pieces of evidence: tiers, rungs of the ladder, slices, columns, copies, pictures."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from withhold.audit.metrics import Interval, Score

METADATA = "metadata of the file"  # the kind of a `Column` that stands for file metadata


class Finding(BaseModel):
    """A frozen piece of evidence. Reading one from JSON ignores unknown fields."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class Tier(Score):
    """The score of one tier, and its attacker."""

    attacker: str


class Linked(Finding):
    """The attacker sees `records` records of one person; `accuracy` is over the bundles drawn."""

    records: int = Field(description="number of records of one person in a bundle")
    people: int = Field(description="number of people with that many records in the test part")
    floor: float = Field(0.0, description="the best guess for a bundle from the preserved labels")
    accuracy: float
    ci: Interval
    least: float = Field(description="the accuracy is above this with 99.5 % confidence")
    attacker: str = Field(
        "added up",
        description="the scores of single records added up, or an attacker trained on whole people;"
        " 'columns' in its name: it also saw the columns beside the features",
    )
    learned: bool = Field(
        False, description="whether attackers trained on whole people were tried, beside adding up"
    )


class Wider(Finding):
    """What was read from other records or columns than the features of the test part."""

    records: int
    accuracy: float
    ci: Interval
    least: float = Field(
        description="the accuracy is above this; all tests of this kind share 99.5 % confidence"
    )
    floor: float = Field(description="the best guess for the same records without the release")
    attacker: str

    @property
    def sure(self) -> bool:
        """Whether the accuracy is surely above the floor."""
        return self.least > self.floor


class AllRows(Wider):
    """Cross-fitted attackers on every released record, including train and validation.

    The figures are those of the part that attackers read most surely (`part`); `parts` has all.
    """

    part: str
    parts: dict[str, Wider] = Field(default_factory=dict)
    elimination: dict[str, Wider] = Field(
        default_factory=dict,
        description="by part: an attacker who knows all other labels names the class a code lacks",
    )

    @property
    def eliminates(self) -> bool:
        """Whether the figure is that of an attacker who knows all other labels."""
        return self.attacker == "elimination"


class ColumnRead(Wider):
    """What one column of the release reveals of an attribute."""

    column: str
    copy_of: bool = Field(False, description="whether each value stands for one class")
    tells: bool = Field(
        False, description="whether it surely changes the odds, even if no guess improves"
    )
    bits: float = Field(0.0, description="gain in log2 probability of the truth")


class SliceRead(Wider):
    """A slice of the released records that attackers read better than the others."""

    by: str = Field(description="how the records were found")
    value: str
    share: float = Field(description="share of all records")


class WithOriginal(Wider):
    """An attacker who knows which released row is whose, and that person's original features.

    `accuracy` is read from both together. `floor` is what is read without the release: from the
    original alone, or by guessing. It counts in the verdict only if receivers may tell whose a row
    is (`linked_by`).
    """

    alone: float = Field(description="accuracy of the same attackers on the original alone")
    alone_attacker: str
    gain: float = Field(description="accuracy - alone, on the same records")
    gain_ci: Interval = Field(description="95 % interval of the gain, record by record")
    linked_by: str | None = Field(
        None, description="how receivers may tell whose a row is; null if nothing shows it"
    )


class Column(Finding):
    """One column of the release, and what it reveals alone."""

    name: str
    kind: str
    attacked: bool
    why_not: str = ""
    tells: dict[str, ColumnRead] = Field(default_factory=dict, description="by attribute")


class Copies(Finding):
    """Released records of one part that are (nearly) their originals."""

    records: int
    copies: int = Field(description="nearly equal to their original, and to no other original")
    share: float
    expected: float = Field(description="the share of copies that small changes would explain")
    reidentified: float = Field(description="the share with their own original as the nearest")
    found: bool = Field(description="whether there are surely more copies than expected")


class Rung(Finding):
    """One attacker of the ladder: its results on val, where the best is chosen, and on test."""

    attacker: str
    val_accuracy: float | None = None
    val_bits: float | None = Field(None, description="bits of the attribute read from val")
    accuracy: float | None = None
    ci: Interval | None = None
    seconds: float | None = None
    skipped: str | None = Field(None, description="why it was not run")


class Slice(Finding):
    """The informed attacker on the test records for which `by` is `value`."""

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
        "values", description="hash of the file, as sha256sum prints it, or of values in memory"
    )


class Distortion(Finding):
    """How far test records moved: Euclidean distances between original and release."""

    mean: float
    relative: float = Field(description="mean distance / mean distance of originals to the centre")
    edges: tuple[float, ...] = Field(description="edges of the histogram's bins")
    counts: tuple[int, ...] = Field(description="test records in each bin")


class Map(Finding):
    """Two maps (t-SNE) of the same test records, for illustration only."""

    original: tuple[tuple[float, float], ...]
    release: tuple[tuple[float, float], ...] | None
    labels: dict[str, tuple[int, ...]] = Field(description="class of each record, -1 if unknown")
    classes: dict[str, tuple[str, ...]]
