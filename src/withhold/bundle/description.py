"""The contents of `bundle.json`. Every field is checked when a bundle is read."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from withhold.core.errors import UserError, listing
from withhold.core.safe_read import parse_json
from withhold.records.roles import Roles

SCHEMA = 3
Name = Annotated[str, Field(min_length=1, max_length=10_000)]
Names = Annotated[tuple[Name, ...], Field(max_length=100_000)]
Share = Annotated[float, Field(ge=0, le=1)]
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class _Checked(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class HarmlessColumn(_Checked):
    """A column that revealed nothing in the fit."""

    kind: str
    values: tuple[str, ...] | None = Field(
        description="keyed digests of its values; null if there were too many"
    )


class FitInput(_Checked):
    """The data of a fit, and how it was read."""

    name: str
    records: int = Field(ge=1)
    features: int = Field(ge=0, description="per record; 0 for media")
    columns: Names = Field(description="of the features; none for media")
    label_columns: Names = Field(description="with labels of suppressed attributes")
    group: str | None
    multilabel: dict[str, Names]
    raw: str | None
    opened: dict[Literal["pattern", "column", "rate"], Name | Annotated[int, Field(ge=1)]] = Field(
        description="how media were opened; a release opens them alike"
    )
    checked: Names
    tells: dict[str, dict[str, Share]]
    harmless: dict[str, HarmlessColumn] = Field(description="columns that revealed nothing")
    sha256: Digest = Field(description="of the data, keyed: only a holder of the key can compare")


class Description(_Checked):
    """`bundle.json`."""

    schema_: Literal[3] = Field(alias="schema")
    kind: Literal["features", "table", "image", "sound", "clip", "text"]
    method: str
    suppress: Names = Field(min_length=1)
    preserve: Names
    seed: int = Field(ge=0)
    config: dict[str, Any]
    modifier: dict[str, Any]
    input: FitInput
    versions: dict[str, str]

    @property
    def roles(self) -> Roles:
        """The roles of the fit."""
        return Roles(self.suppress, self.preserve)

    @model_validator(mode="after")
    def _opened_alike(self) -> Description:
        odd = [k for k, v in self.input.opened.items() if isinstance(v, str) != (k != "rate")]
        if odd:
            raise ValueError(f"opened has an odd {odd[0]}")
        return self

    @model_validator(mode="after")
    def _has_features(self) -> Description:
        there = (self.input.features > 0, bool(self.input.columns))
        if there != (self.kind in ("features", "table"),) * 2:
            raise ValueError(f"features and columns do not fit the kind '{self.kind}'")
        return self

    @model_validator(mode="after")
    def _labels_are_left_out(self) -> Description:
        """Check that every label column of a suppressed attribute is named, so it is left out."""
        said = set(self.input.label_columns)
        labels = {c for n in self.suppress for c in self.input.multilabel.get(n, (n,))}
        # Media may have no labels, and a filter does not need them.
        if labels - said and (self.kind in ("features", "table") or said):
            raise ValueError(f"label_columns lacks {listing(sorted(labels - said))}")
        odd = (said | set(self.suppress)) & set(self.input.harmless)
        if odd:
            raise ValueError(f"harmless names {listing(sorted(odd))}, which is suppressed")
        return self


def read_json(path: Path, name: str, data: bytes) -> Any:
    """The JSON in one file of a bundle."""
    try:
        return parse_json(data, name)
    except UserError as error:
        raise UserError(f"bundle {path}: {error}; restore it, or fit again") from error


def read_description(path: Path, data: bytes) -> Description:
    """`bundle.json` of the bundle at `path`, with every field checked."""
    text = read_json(path, "bundle.json", data)
    if not isinstance(text, dict):
        raise UserError(f"bundle {path}: bundle.json is not an object; restore it, or fit again")
    schema = text.get("schema")
    if schema != SCHEMA or isinstance(schema, bool):
        raise UserError(
            f"bundle {path} has schema {str(schema)[:20]}, this version reads {SCHEMA};"
            " fit it again with this version"
        )
    try:
        return Description.model_validate(text)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(p) for p in first["loc"])[:100] or "bundle.json"
        raise UserError(
            f"bundle {path}: bundle.json is not what withhold fit writes ('{where}':"
            f" {_short(first['msg'])}); restore it, or fit again"
        ) from error
    except RecursionError as error:
        raise UserError(f"bundle {path}: bundle.json is nested too deeply") from error


def _short(message: str) -> str:
    """The first line, without pydantic's prefix."""
    line = message.removeprefix("Value error, ").splitlines()[0]
    return line[:1].lower() + line[1:200]
