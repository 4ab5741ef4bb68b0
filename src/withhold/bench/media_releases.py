"""Releases of media and of their features, side by side: `kind: media`.

If the method of a row changes media, the row is released as a file of media first, as `withhold
transform` does, and features are extracted from it as from the originals. If the method changes
features, it is fitted on the features of the originals, with views of the media if it needs them.
A row may also name a folder of images that another system anonymised (`anonymised_folder`).
The same attackers read all rows: `ignorant` is a model of the originals, `informed` is retrained on
the release.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from withhold import __version__
from withhold.actions.audit import audit as evaluate
from withhold.actions.fit import fit_bundle
from withhold.audit.attackers import Attacker, Logistic, MlpLarge
from withhold.audit.pairing import matching
from withhold.bench.anonymised_folder import anonymised_pictures
from withhold.bench.examples import draw_clip_examples, draw_examples
from withhold.bench.fit_row import (
    bundle_claims,
    features_alone,
    fit_row,
    row_config,
    row_method,
    row_roles,
    unnamed,
)
from withhold.bench.media_features import features_of, media_of, opened
from withhold.bench.recipe import Extracted, Recipe, RecipeRow
from withhold.bench.result_table import Cells, RecipeResult, at_most, percent
from withhold.bench.row_cache import keep_row, recipe_key, row_folder, write_once
from withhold.core.progress import Progress
from withhold.datasets.media_sets import RECORD, MediaFile
from withhold.datasets.sized_pictures import COLUMN as PNG
from withhold.datasets.sized_pictures import write_pictures
from withhold.media.extraction_note import with_raw_media
from withhold.methods import method_names
from withhold.records.dataset import Dataset
from withhold.records.roles import Roles
from withhold.release.media_stream import release_media
from withhold.release.wishes import Wishes

ATTACKERS: tuple[Attacker, ...] = (Logistic(), MlpLarge(epochs=24, patience=5))
PROBE = "logistic"
# Fixed, so that a second run finds the releases of the first; nobody else gets them.
_KEY = bytes(range(32))


@dataclass(frozen=True)
class MediaRow:
    """One release seen through one extractor. Accuracies are fractions, of the test part."""

    label: str
    extractor: str
    records: int
    features: int
    guess: dict[str, float]  # without the release
    probe: dict[str, float]  # a linear probe, retrained
    ignorant: dict[str, float]
    informed: dict[str, float]
    bound: dict[str, float]
    seconds: float  # of the fit


class MediaResult(RecipeResult):
    """Every row of a recipe, by extractor."""

    rows: tuple[MediaRow, ...]
    left = 2

    def cells(self) -> Cells:
        """For each attribute ignorant / informed."""
        names, specs = self.recipe.measure, {spec.label: spec for spec in self.recipe.rows}
        beside = any(spec.paper for spec in specs.values())
        noted = any(spec.paper_note for spec in specs.values())
        more = ["certificate", *(["paper"] if noted else [])]
        blank = ["–"] * len(more)
        lines = []
        for row in self.rows:
            if row.label == self.recipe.rows[0].label:
                probes = [f"probe {percent(row.probe[n])}" for n in names]
                of = f"{row.extractor}, {row.features}-d"
                lines.append([of, f"linear, {row.records:,} records", *probes, *blank])
                guesses = [percent(row.guess[n]) for n in names]
                lines.append([of, "guessing", *guesses, *blank])
            cells = []
            for name in names:
                ours = f"{percent(row.ignorant.get(name))} / {percent(row.informed[name])}"
                paper = specs[row.label].paper.get(name, "–")
                cells.append(f"{paper} / {ours}" if beside else ours)
            whole = max(r.records for r in self.rows if r.extractor == row.extractor)
            fewer = "" if row.records == whole else f" ({row.records:,} records)"
            cells.append(", ".join(map(at_most, row.bound.values())) or "–")
            cells += [specs[row.label].paper_note or "–"] if noted else []
            lines.append([row.extractor, row.label + fewer, *cells])
        return ["features", "", *names, *more], lines

    @property
    def legend(self) -> str:
        """What the columns mean."""
        beside = any(spec.paper for spec in self.recipe.rows)
        return (
            f"Accuracy in % on the test part: {'the paper / ' if beside else ''}ignorant (a model"
            " of the originals) / informed (retrained on the release; of a linear model and a"
            f" network, the one that is better on the validation part). Suppressed:"
            f" {self.recipe.suppress}. linear: a linear probe of the originals. certificate: no"
            f" attacker can exceed this from one record, at 95 % confidence.{self.source}"
            f"{self._left_out}"
        )

    @property
    def _left_out(self) -> str:
        here = {row.label for row in self.rows}
        gone = [row.label for row in self.recipe.rows if row.label not in here]
        return f" Left out, since their folders are not there: {', '.join(gone)}." if gone else ""


def run_media(recipe: Recipe, output: Path, *, progress: Progress) -> MediaResult:
    """Release, extract and attack every row, or resume after an interruption."""
    file = media_of(recipe, output / "media", progress=progress)
    rows_here = [row for row in recipe.rows if _is_there(row, progress)]
    releases = {
        row.label: _released(recipe, row, file, output / "media", progress)
        for row in rows_here
        if row.folder or row_method(recipe, row) not in method_names("features")
    }
    if file.kind == "image":
        draw_examples(file, releases, output / "examples.png")
    elif file.kind == "clip":
        draw_clip_examples(file, releases, output / "examples.gif")
    rows = []
    for spec in recipe.extractors:
        folder = row_folder(output, spec.shown)
        folder.mkdir(parents=True, exist_ok=True)
        original = features_of(spec, file, folder / "original.parquet", progress=progress)
        data = with_raw_media(original, file.path, column=file.column)
        digest = data.digest()
        for row in rows_here:
            made = releases[row.label].path if row.label in releases else None
            made_from = "" if made is None else made.with_suffix(".key").read_text()
            key = recipe_key(recipe, row, digest, repr(ATTACKERS), made_from)
            progress.say(f"{spec.shown}: {row.label}")
            make = partial(_row, recipe, row, spec, data, releases, folder, progress)
            rows.append(keep_row(row_folder(folder, row.label), key, MediaRow, make))
    return MediaResult(recipe, tuple(rows)).write(output)


def _row(
    recipe: Recipe,
    row: RecipeRow,
    spec: Extracted,
    data: Dataset,
    releases: dict[str, MediaFile],
    folder: Path,
    progress: Progress,
) -> MediaRow:
    roles = row_roles(recipe, row)
    release: Dataset | None = None
    bound: dict[str, float] = {}
    seconds = 0.0
    if row.label in releases:
        path = row_folder(folder, row.label).with_suffix(".parquet")
        like = folder / "original.parquet"
        release = features_of(spec, releases[row.label], path, like=like, progress=progress)
    elif row_method(recipe, row) != "identity":
        bundle, seconds = fit_row(recipe, row, data, roles, progress)
        release = data.with_features(bundle.modifier.transform(data.x))
        claims = bundle_claims(bundle)
        bound = {name: claims[name]["bound"] for name in roles.suppress if name in claims}
    before = data if release is None else matching(data, release, RECORD)
    evidence = evaluate(
        before,
        None if release is None else features_alone(release, keep=(RECORD,)),
        roles.suppress,
        roles.preserve,
        hidden=unnamed(recipe, roles),
        id=None if release is None else RECORD,
        same_order=release is not None,  # both number the records of one collection
        attackers=ATTACKERS,
        order_counts=False,
        seed=recipe.seed,
        progress=progress,
    )
    found = {name: evidence.attributes[name] for name in recipe.measure}
    probes = {
        name: next(r.accuracy for r in a.ladder if r.attacker == PROBE and r.accuracy is not None)
        for name, a in found.items()
    }
    return MediaRow(
        row.label,
        spec.shown,
        len(before),
        data.dimension,
        {name: a.majority for name, a in found.items()},
        probes,
        {name: (a.ignorant or a.original).accuracy for name, a in found.items()},
        {name: a.informed.accuracy for name, a in found.items()},
        bound,
        round(seconds, 1),
    )


def _released(
    recipe: Recipe, row: RecipeRow, file: MediaFile, folder: Path, progress: Progress
) -> MediaFile:
    """The release of a row as a file like the original's; an existing one is used again."""
    media = Dataset.of_media(opened(file))
    name = row_folder(folder, row.label).name
    target = folder / f"{recipe.data}-{name}{file.path.suffix}"
    if row.folder:
        pictures = anonymised_pictures(opened(file), _expanded_folder(row), row.ending)
        key = recipe_key(recipe, row, pictures.stamp(), opened(file).stamp())
        write_once(target, key, partial(write_pictures, pictures, target))
        progress.say(f"{row.label}: {len(pictures):,} of {len(media):,} images are in its folder")
        return MediaFile(target, file.kind, PNG)
    bundle = fit_bundle(
        media,
        Roles.of(recipe.suppress, ""),
        method=row_method(recipe, row),
        config=row_config(recipe, row),
        seed=recipe.seed,
        key=_KEY,
    )
    # For use by this bench only: all labels stay, in the order of the original.
    wishes = Wishes.of(keep=media.schema.names, keep_labels=True, same_order=True)
    release = partial(release_media, bundle, media, target, wishes=wishes, progress=progress)
    write_once(target, recipe_key(recipe, row, bundle.input, __version__), release)
    return MediaFile(target, file.kind, file.column)


def _expanded_folder(row: RecipeRow) -> Path:
    return Path(os.path.expandvars(row.folder))


def _is_there(row: RecipeRow, progress: Progress) -> bool:
    """Whether a row can be computed: not without the folder of images that it names."""
    if row.folder and not _expanded_folder(row).is_dir():
        progress.say(f"{row.label} is left out: there is no folder {_expanded_folder(row)}")
        return False
    return True
