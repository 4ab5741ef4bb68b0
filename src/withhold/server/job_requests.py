"""What a client may ask of a job: ids of uploads and bundles, names of columns, settings.

No field is a path. Ids are looked up; everything else is a name or a number for an action.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from withhold.server.private_folder import ID

Id = Annotated[str, StringConstraints(pattern=ID)]
# SQLite and UTF-8 files hold neither half a surrogate pair nor a zero byte.
Name = Annotated[str, StringConstraints(min_length=1, max_length=300, pattern=r"^[^\x00-\x1f]+$")]
Names = Annotated[list[Name], Field(max_length=500)]
Setting = bool | int | float | Annotated[str, StringConstraints(max_length=300)] | None
# JSON Schema says of keys only their pattern, so that it holds their length too.
_Key = Annotated[str, StringConstraints(pattern=r"^[^\x00-\x1f]{1,300}$")]
_ONLY = Field(max_length=100, json_schema_extra={"additionalProperties": False})
_Inner = Annotated[dict[_Key, Setting], _ONLY]
Settings = Annotated[dict[_Key, Setting | _Inner], _ONLY]
Seed = Annotated[int, Field(ge=0, lt=2**32)]
OutputFormat = Literal["csv", "jsonl", "parquet", "arrow"]


class _Asked(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ReadingOptions(_Asked):
    """How to read the file."""

    features: Name | None = Field(
        None, description='the list column with features, or names of numeric columns ("f_*,age")'
    )
    group: Name | None = Field(None, description="the column that names the person or source")
    exclude: Names = Field(default_factory=list, description="columns that are not attributes")
    delimiter: Annotated[str, StringConstraints(pattern=r"^[\t\x20-\x7e]$")] | None = Field(
        None, description="of a CSV file; guessed by default"
    )


class _OnData(_Asked):
    dataset: Id = Field(description="an uploaded dataset")
    suppress: Names = Field(min_length=1, description="attributes that nobody should infer")
    preserve: Names = Field(default_factory=list, description="attributes that should stay")
    reading: ReadingOptions = ReadingOptions()


class InspectJob(_OnData):
    """What is in a dataset, and what is feasible for given roles."""

    kind: Literal["inspect"]
    suppress: Names = Field(default_factory=list, description="attributes to hide, if known")


class ReleaseJob(_OnData):
    """A release of these records with its proof, as a folder to hand over."""

    kind: Literal["release"]
    keep: Names = Field(default_factory=list, description="columns to release as they are")
    drop: Names = Field(default_factory=list, description="columns to leave out")
    same_order: bool = Field(False, description="keep the order of the rows")
    hold_back: float = Field(0.0, ge=0, le=0.5, description="share of rows that stay, at random")
    fail_if: Names = Field(default_factory=list, description='gate, such as "sex>floor+2"')
    quick: bool = Field(False, description="run a weaker audit in less time")
    config: Settings = Field(default_factory=dict, description="settings of method exact")
    seed: Seed = 0


class FitJob(_OnData):
    """A bundle that can transform later records."""

    kind: Literal["fit"]
    method: Name = Field("codebook", description="a method for features or tables")
    config: Settings = Field(default_factory=dict, description="settings of the method")
    seed: Seed = 0


class CompareJob(_OnData):
    """Several methods on the same records, judged alike."""

    kind: Literal["compare"]
    budget: Name | None = Field(None, description='how much may leak, such as "sex<=floor+1"')
    methods: Names = Field(default_factory=list, description="methods to try; empty: all")
    read: Names = Field(default_factory=list, description="attributes to read; empty: all")
    seeds: int = Field(1, ge=1, le=20, description="fits of every row")
    minutes: float | None = Field(None, gt=0, le=10_000, description="no row is started later")


class AuditJob(_Asked):
    """Attacks on a release made by any tool; without a release, on the original."""

    kind: Literal["audit"]
    dataset: Id = Field(description="the original")
    release: Id | None = Field(None, description="the upload with the release")
    suppress: Names = Field(min_length=1, description="attributes that nobody should infer")
    preserve: Names = Field(default_factory=list, description="attributes that should stay")
    id: Name | None = Field(None, description="the column that identifies a record in both")
    same_order: bool = Field(False, description="the records are in the same order")
    fail_if: Names = Field(default_factory=list, description='gate, such as "sex>floor+2"')
    quick: bool = Field(False, description="run a weaker audit in less time")
    seed: Seed = 0
    reading: ReadingOptions = ReadingOptions()


class TransformJob(_Asked):
    """A release of records with an earlier bundle."""

    kind: Literal["transform"]
    bundle: Id = Field(description="a bundle made by a fit or a release")
    dataset: Id = Field(description="the records")
    format: OutputFormat = Field("csv", description="of the release")
    keep: Names = Field(default_factory=list, description="columns to release as they are")
    drop: Names = Field(default_factory=list, description="columns to leave out")
    same_order: bool = Field(False, description="keep the order of the rows")


class CertifyJob(_Asked):
    """A bound on every attacker for later records, from records that the fit never saw."""

    kind: Literal["certify"]
    bundle: Id = Field(description="a bundle made by a fit")
    dataset: Id = Field(description="labelled records that the fit never saw")
    confidence: float = Field(0.95, gt=0.5, lt=1)
    reading: ReadingOptions = ReadingOptions()


AnyJob = Annotated[
    InspectJob | ReleaseJob | FitJob | CompareJob | AuditJob | TransformJob | CertifyJob,
    Field(discriminator="kind"),
]
Kind = Literal["inspect", "release", "fit", "compare", "audit", "transform", "certify"]
