"""Releases of media and of their features, side by side: `kind: media`.

A row whose method changes media is released as a file of media first, as `withhold transform` does,
and its features are extracted as those of the originals were. A row whose method changes features
is fitted on the features of the originals, with views of the media where it asks for them. All rows
are read by the same attackers: `ignorant` is a model of the originals, `informed` one retrained on
the release.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from withhold import __version__
from withhold.actions.audit import audit as evaluate
from withhold.audit.attackers import Attacker, Logistic, MlpLarge
from withhold.audit.pairing import matching
from withhold.bench.audits import row_key
from withhold.bench.examples import draw_examples
from withhold.bench.held_out import features_alone
from withhold.bench.kept import keep_row, row_folder
from withhold.bench.recipe import Extracted, Recipe, Row
from withhold.bench.result import at_most, markdown_table, percent, print_cells
from withhold.bench.run import row_config, row_method, timed_fit
from withhold.bundle.media import fit_media
from withhold.core.atomic import write_bytes
from withhold.core.progress import Progress
from withhold.datasets.media_sets import RECORD, MediaFile, public_media
from withhold.media.collect import Collection, open_media
from withhold.media.extract import plan, with_raw_media
from withhold.media.to_file import extract_to
from withhold.methods.classical import CLASSICAL
from withhold.records.dataset import Dataset
from withhold.records.roles import Roles
from withhold.release import Wishes
from withhold.release.media_stream import release_media

ATTACKERS: tuple[Attacker, ...] = (Logistic(), MlpLarge(epochs=24, patience=5))
PROBE = "logistic"

# Fixed, so that a second run finds what the first made; these releases stay in the house.
_KEY = bytes(range(32))


@dataclass(frozen=True)
class MediaRow:
    """One release seen through one extractor. Accuracies are fractions, of the test part."""

    label: str
    extractor: str
    records: int
    features: int
    guess: dict[str, float]  # without looking
    probe: dict[str, float]  # a linear probe, retrained
    ignorant: dict[str, float]
    informed: dict[str, float]
    bound: dict[str, float]
    seconds: float  # of the fit


@dataclass(frozen=True)
class MediaResult:
    """Every row of a recipe, by extractor."""

    recipe: Recipe
    rows: tuple[MediaRow, ...]

    def cells(self) -> tuple[list[str], list[list[str]]]:
        """Header and lines as text: for each attribute ignorant / informed."""
        names = self.recipe.measure
        papers = {spec.label: spec.paper for spec in self.recipe.rows}
        notes = {spec.label: spec.paper_note for spec in self.recipe.rows}
        beside, noted = any(papers.values()), any(notes.values())
        more = ["certificate", *(["paper"] if noted else [])]
        header = ["features", "", *names, *more]
        blank = ["–"] * len(more)
        lines = []
        for row in self.rows:
            if row.label == self.recipe.rows[0].label:
                probes = [f"probe {percent(row.probe[n])}" for n in names]
                of = f"{row.extractor}, {row.features}-d"
                lines.append([of, f"linear, {row.records:,} records", *probes, *blank])
                guesses = [percent(row.guess[n]) for n in names]
                lines.append([of, "without looking", *guesses, *blank])
            cells = []
            for name in names:
                ours = f"{percent(row.ignorant.get(name))} / {percent(row.informed[name])}"
                paper = papers[row.label].get(name)
                cells.append(f"{'–' if paper is None else paper} / {ours}" if beside else ours)
            bounds = [at_most(b) for b in row.bound.values()]
            whole = max(r.records for r in self.rows if r.extractor == row.extractor)
            fewer = "" if row.records == whole else f" ({row.records:,} records)"
            told = [", ".join(bounds) or "–", *([notes[row.label] or "–"] if noted else [])]
            lines.append([row.extractor, row.label + fewer, *cells, *told])
        return header, lines

    @property
    def legend(self) -> str:
        """What the table shows."""
        beside = any(spec.paper for spec in self.recipe.rows)
        return (
            f"Accuracy in %, test part: {'the paper / ' if beside else ''}ignorant (a model of the"
            " originals) / informed (retrained on the release; the better on val of a linear and a"
            f" network). Suppressed: {self.recipe.suppress}. linear: a linear probe of the"
            " originals. certificate: what no attacker can exceed from one record, at 95 %"
            " confidence."
            + (f" Paper: {self.recipe.paper_title}." if self.recipe.paper_title else "")
        )

    def to_markdown(self) -> str:
        """The table as Markdown, headed by its command."""
        table = markdown_table(*self.cells(), left=2)
        return (
            f"### {self.recipe.title}\n\n`withhold bench {self.recipe.name}`\n\n{table}\n\n"
            f"{self.legend}\n"
        )

    def to_dict(self) -> dict[str, Any]:
        """Everything, for a machine."""
        rows = [asdict(row) for row in self.rows]
        return {"recipe": self.recipe.name, "title": self.recipe.title, "rows": rows}

    def print(self) -> None:
        """The table in a terminal."""
        print_cells(self.recipe.title, *self.cells(), self.legend, left=2)


def run_media(recipe: Recipe, output: Path, *, progress: Progress) -> MediaResult:
    """Release, extract and attack every row, or go on where it was interrupted."""
    file = public_media(recipe.data, output / "media", most=recipe.most)
    releases = {
        row.label: _released(recipe, row, file, output / "media", progress)
        for row in recipe.rows
        if row_method(recipe, row) in CLASSICAL
    }
    if file.kind == "image":
        draw_examples(file, releases, output / "examples.png")
    rows = []
    for spec in recipe.extractors:
        folder = row_folder(output, spec.shown)
        folder.mkdir(parents=True, exist_ok=True)
        original = features_of(spec, file, folder / "original.parquet", progress=progress)
        data = with_raw_media(original, file.path, column=file.column)
        digest = data.digest()
        for row in recipe.rows:
            text = [row.model_dump(mode="json", exclude={"paper"}), recipe.config, recipe.seed]
            made = _key_of(releases[row.label]) if row.label in releases else ""
            key = row_key([*text, recipe.measure, recipe.suppress, digest, repr(ATTACKERS), made])
            progress.say(f"{spec.shown}: {row.label}")
            make = partial(_row, recipe, row, spec, data, releases, folder, progress)
            rows.append(MediaRow(**keep_row(row_folder(folder, row.label), key, make)))
    result = MediaResult(recipe, tuple(rows))
    write_bytes(output / "results.json", json.dumps(result.to_dict(), indent=1).encode() + b"\n")
    write_bytes(output / "table.md", result.to_markdown().encode())
    return result


def _row(
    recipe: Recipe,
    row: Row,
    spec: Extracted,
    data: Dataset,
    releases: dict[str, MediaFile],
    folder: Path,
    progress: Progress,
) -> dict[str, Any]:
    roles = Roles.of(row.suppress or recipe.suppress, row.preserve)
    release: Dataset | None = None
    bound: dict[str, float] = {}
    seconds = 0.0
    if row.label in releases:
        path = row_folder(folder, row.label).with_suffix(".parquet")
        like = folder / "original.parquet"
        release = features_of(spec, releases[row.label], path, like=like, progress=progress)
    elif row_method(recipe, row) != "identity":
        bundle, seconds = timed_fit(recipe, row, data, roles, progress)
        release = data.with_features(bundle.modifier.transform(data.x))
        if bundle.certificate is not None:
            proved = bundle.certificate["attributes"]
            bound = {name: proved[name]["bound"] for name in roles.suppress}
    before = data if release is None else matching(data, release, RECORD)
    hidden = [name for name in recipe.measure if name not in roles.named]
    evidence = evaluate(
        before,
        None if release is None else features_alone(release, keep=(RECORD,)),
        roles.suppress,
        roles.preserve,
        hidden=hidden,
        id=None if release is None else RECORD,
        same_order=release is not None,  # the numbers of the records are those of one collection
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
    return asdict(
        MediaRow(
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
    )


def _key_of(file: MediaFile) -> str:
    """What a release was made from, as `_released` wrote it."""
    return file.path.with_suffix(".key").read_text()


def _opened(file: MediaFile) -> Collection:
    return open_media(file.path, file.kind, column=file.column)


def _released(
    recipe: Recipe, row: Row, file: MediaFile, folder: Path, progress: Progress
) -> MediaFile:
    """The release of a row, as a file like the original's; one that is there is taken."""
    media = _opened(file)
    name = row_folder(folder, row.label).name
    target = folder / f"{recipe.data}-{name}{file.path.suffix}"
    bundle = fit_media(
        media,
        Roles.of(recipe.suppress, ""),
        method=row_method(recipe, row),
        config=row_config(recipe, row),
        seed=recipe.seed,
        key=_KEY,
    )
    text = [row.model_dump(mode="json", exclude={"paper"}), bundle.input, bundle.seed]
    key = row_key([*text, __version__])
    note = target.with_suffix(".key")
    if not (target.exists() and note.exists() and note.read_text() == key):
        # Read inside the house: every label stays, in the order of the original.
        wishes = Wishes.of(keep=media.schema.names, keep_labels=True, same_order=True)
        release_media(bundle, media, target, wishes=wishes, progress=progress)
        write_bytes(note, key.encode())
    return MediaFile(target, file.kind, file.column)


def features_of(
    spec: Extracted,
    file: MediaFile,
    target: Path,
    *,
    like: Path | None = None,
    progress: Progress,
) -> Dataset:
    """Features of a file of media, extracted once; attributes only."""
    job = plan(
        _opened(file),
        extractor=None if like else spec.name,
        settings=None if like else spec.settings,
        like=like,
    )
    key, note = row_key([job.fingerprint()]), target.with_suffix(".key")
    if not (target.exists() and note.exists() and note.read_text() == key):
        extract_to(job, target, progress=progress)
        write_bytes(note, key.encode())
    return Dataset.read(target, exclude=[RECORD])
