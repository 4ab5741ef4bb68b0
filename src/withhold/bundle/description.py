"""What `bundle.json` says: every field is checked when a bundle is read."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from withhold.core.errors import UserError, listing
from withhold.core.safe_read import parse_json
from withhold.records.roles import Roles

SCHEMA = 2
Name = Annotated[str, Field(min_length=1, max_length=10_000)]
Names = Annotated[tuple[Name, ...], Field(max_length=100_000)]
Share = Annotated[float, Field(ge=0, le=1)]
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class _Checked(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class HarmlessColumn(_Checked):
    """A column that was measured to tell nothing."""

    kind: str
    values: tuple[str, ...] | None = Field(
        description="keyed digests of what occurred in it; null where that was too much"
    )


class FitInput(_Checked):
    """The data of a fit, and how it was read."""

    name: str
    records: int = Field(ge=1)
    features: int = Field(ge=1)
    columns: Names = Field(min_length=1)
    label_columns: Names = Field(min_length=1)
    group: str | None
    multilabel: dict[str, Names]
    raw: str | None
    checked: Names
    tells: dict[str, dict[str, Share]]
    harmless: dict[str, HarmlessColumn] = Field(
        default_factory=dict, description="columns measured to tell nothing"
    )
    sha256: Digest = Field(description="of the data, keyed: only a holder of the key can compare")


class MediaInput(_Checked):
    """The media of a fit, and how they were opened."""

    name: str
    items: int = Field(ge=0)
    columns: Names
    where: dict[str, Any]
    tells: dict[str, dict[str, Share]] = Field(default_factory=dict)
    harmless: dict[str, HarmlessColumn] = Field(default_factory=dict)
    sha256: Digest = Field(description="of the media, keyed: only a holder of the key can compare")


class _Description(_Checked):
    schema_: Literal[2] = Field(alias="schema")
    method: str
    suppress: Names = Field(min_length=1)
    preserve: Names
    seed: int = Field(ge=0)
    config: dict[str, Any]
    versions: dict[str, str]

    @property
    def roles(self) -> Roles:
        """The roles of the fit."""
        return Roles(self.suppress, self.preserve)


class FeatureDescription(_Description):
    """`bundle.json` of a modifier of features."""

    kind: Literal["features"] = "features"
    modifier: dict[str, Any]
    input: FitInput

    @model_validator(mode="after")
    def _labels_are_left_out(self) -> FeatureDescription:
        """Every column with labels of a suppressed attribute is named, so that it is left out."""
        said = set(self.input.label_columns)
        labels = {c for n in self.suppress for c in self.input.multilabel.get(n, (n,))}
        if labels - said:
            raise ValueError(f"label_columns lacks {listing(sorted(labels - said))}")
        odd = (said | set(self.suppress)) & set(self.input.harmless)
        if odd:
            raise ValueError(f"harmless names {listing(sorted(odd))}, which is suppressed")
        return self


class MediaDescription(_Description):
    """`bundle.json` of a modifier of media."""

    kind: Literal["image", "sound", "clip", "text"]
    input: MediaInput


D = TypeVar("D", bound=_Description)


def read_json(path: Path, name: str, data: bytes) -> Any:
    """JSON of a bundle's file."""
    try:
        return parse_json(data, name)
    except UserError as error:
        raise UserError(f"bundle {path}: {error}; restore it, or fit again") from error


def read_kind(path: Path, data: bytes) -> tuple[dict[str, Any], str]:
    """What `bundle.json` says, unchecked but for the schema, and the kind of records it is for."""
    text = read_json(path, "bundle.json", data)
    if not isinstance(text, dict):
        raise UserError(f"bundle {path}: bundle.json is not an object; restore it, or fit again")
    schema = text.get("schema")
    if schema != SCHEMA or isinstance(schema, bool):
        raise UserError(
            f"bundle {path} has schema {str(schema)[:20]}, this version reads {SCHEMA};"
            " fit it again with this version"
        )
    return text, str(text.get("kind", "features"))


def checked(path: Path, text: dict[str, Any], into: type[D]) -> D:
    """The description, every field in its range."""
    try:
        return into.model_validate(text)
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
