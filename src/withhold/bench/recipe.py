"""A recipe: a YAML file with what to fit, what to measure and what the paper found."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

import withhold
from withhold.bench.clip_settings import ClipSettings
from withhold.core.errors import UserError, did_you_mean, listing
from withhold.core.settings import read_settings

# Kinds whose recipe names data, rows and what is measured.
_WITH_ROWS = (
    "table", "table-rivals", "audits", "certified", "exact", "elimination-exact", "tradeoff",
    "pixels", "clips",
)  # fmt: skip


class RecipeRow(BaseModel):
    """One line of a table: a fit and its roles. Without `suppress` it is the original data."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    label: str
    method: str | None = None
    suppress: str = ""
    preserve: str = ""
    config: dict[str, Any] = Field(default_factory=dict)
    tool: str = Field("", description="of `kind: table-rivals`: what releases the table")
    hold_back: float = Field(0.0, ge=0, le=0.5, description="share of the rows that stay")
    rounded: bool = Field(
        False,
        description="of `kind: elimination-exact`: each class gets each code as often as its share"
        " says, up to one row, in place of separate draws; a comparison, offered to nobody",
    )
    draws: int = Field(1, ge=1, description="releases of the same records, for the tier repeated")
    folder: str = Field(
        "", description="images that another system anonymised, of `kind: media`; may use $NAMES"
    )
    ending: str = Field("", description="what that system appends to names, such as `_cloaked`")
    paper: dict[str, float] = Field(
        default_factory=dict, description="the paper's figures in %, by column"
    )
    paper_note: str = Field("", description="the paper's figures if its columns differ from ours")


class Extracted(BaseModel):
    """An extractor of a recipe of media."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    settings: dict[str, Any] = Field(default_factory=dict)
    label: str = ""

    @property
    def shown(self) -> str:
        """What tables call it."""
        return self.label or self.name


class PixelSettings(BaseModel):
    """What `kind: pixels` measures on."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    side: int = Field(32, ge=8, le=512, description="side of all images in pixels")
    seeds: tuple[int, ...] = Field((0,), min_length=1)
    shown: int = Field(40_000, ge=1, description="images that an attacker is shown, about")
    width: int = Field(16, ge=1, description="channels of the attackers' first stage")
    batch: int = Field(16, ge=2, description="images in a step of an attacker")
    rate: float = Field(1e-3, gt=0, description="learning rate of the attackers")


class Recipe(BaseModel):
    """A table: its rows share data, method and settings unless a row has its own."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = ""
    title: str
    kind: Literal[
        "table", "table-rivals", "audits", "certified", "exact", "tradeoff", "external", "power",
        "release-leaks", "soundness", "elimination", "elimination-exact", "equal-proof", "speed",
        "codebook-speed", "audit-speed", "memory", "release-memory", "media", "media-speed",
        "pixels", "clips", "pixel-speed", "clip-speed", "onnx-speed", "engine-speed",
        "server-load", "audit-engines",
    ] = "table"  # fmt: skip
    data: str = ""
    method: str = "mass"
    suppress: str = Field("", description="what the audit of the original looks for")
    seed: int = 0
    config: dict[str, Any] = Field(default_factory=dict)
    measure: tuple[str, ...] = ()
    rows: tuple[RecipeRow, ...] = ()
    ladder: Literal["full", "strong"] = Field(
        "full", description="attackers of `certified`: all of them, or trees and a network"
    )
    extractors: tuple[Extracted, ...] = Field(
        (),
        description="of `kind: media`; of `kind: table` and `exact` one, if their data are media",
    )
    most: int | None = Field(None, ge=1, description="media to take, of `kind: media`")
    pixels: PixelSettings = Field(PixelSettings(), description="of `kind: pixels`")
    clips: ClipSettings = Field(ClipSettings(), description="of `kind: clips`")
    data_settings: dict[str, Any] = Field(
        default_factory=dict, description="of a media set that has some, such as `drawn-faces`"
    )
    tags: dict[str, dict[str, str]] = Field(
        default_factory=dict,
        description="of `kind: table` on media: multi-label attributes made of values of others,"
        " such as privacy: {hat: yes, build: broad}",
    )
    task: str = Field("", description="of `kind: table-rivals`: the label that is learned")
    test_data: str = Field("", description="of `kind: table-rivals`: originals to test it on")
    paper_title: str = Field("", description="where the paper's figures are from")

    def with_seeds(self, text: str) -> Recipe:
        """The same recipe with these seeds, such as `0,1,2`."""
        if self.kind not in ("pixels", "clips"):
            raise UserError(
                f"--seeds is for recipes of `kind: pixels` and `clips`, and {self.name} is none"
            )
        try:
            seeds = [int(seed) for seed in text.split(",")]
        except ValueError:
            raise UserError(f"--seeds '{text}': write numbers with commas, such as 0,1,2") from None
        if self.kind == "clips":
            own = self.clips.model_copy(update={"seeds": tuple(seeds)})
            return self.model_copy(update={"clips": own})
        return self.model_copy(update={"pixels": self.pixels.model_copy(update={"seeds": seeds})})

    @model_validator(mode="after")
    def _table_is_whole(self) -> Recipe:
        lacking = [n for n in ("data", "measure", "rows") if not getattr(self, n)]
        of_media = self.kind in ("media", "equal-proof")
        if of_media and not self.extractors:
            lacking.append("extractors")
        if self.kind == "table-rivals":
            lacking += [n for n in ("suppress", "task", "test_data") if not getattr(self, n)]
        if (of_media or self.kind in _WITH_ROWS) and lacking:
            raise ValueError(f"a table needs '{lacking[0]}'")
        if self.kind in ("table", "exact", "elimination-exact") and len(self.extractors) > 1:
            raise ValueError(f"`kind: {self.kind}` has one extractor; `kind: media` takes several")
        for row in self.rows:
            if row.folder and self.kind != "media":
                raise ValueError(f"row '{row.label}': a folder of images needs `kind: media`")
            if row.folder and row.method:
                raise ValueError(f"row '{row.label}': give a method or a folder, not both")
        return self


def folders() -> list[Path]:
    """Where recipes live: in the installed package, and in a checkout."""
    package = Path(withhold.__file__).parent
    return [f for f in (package / "recipes", package.parents[1] / "recipes") if f.is_dir()]


def recipe_names() -> Iterator[tuple[str, str]]:
    """Name and title of every recipe."""
    for path in sorted(p for folder in folders() for p in folder.glob("*.yaml")):
        yield path.stem, _read(path).title


def find_recipe(name: str) -> Recipe:
    """A recipe by its name, or from a YAML file."""
    path = Path(name)
    if path.suffix in (".yaml", ".yml"):
        if not path.is_file():
            raise UserError(f"no such recipe: {path}")
        return _read(path)
    for folder in folders():
        if (folder / f"{name}.yaml").is_file():
            return _read(folder / f"{name}.yaml")
    known = [n for n, _ in recipe_names()]
    raise UserError(
        f"there is no recipe '{name}'{did_you_mean(name, known)}"
        f" (recipes: {listing(known, most=20)})"
    )


def _read(path: Path) -> Recipe:
    try:
        return Recipe.model_validate({"name": path.stem, **read_settings(path)})
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(p) for p in first["loc"])
        what = first["msg"].removeprefix("Value error, ")
        raise UserError(f"{path}: " + (f"'{where}': {what}" if where else what)) from error
