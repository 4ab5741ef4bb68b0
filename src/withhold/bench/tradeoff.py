"""Trade-off curves: what attackers read against what is left to use, all methods in one figure.

`kind: tradeoff`. Every row of the recipe is one point: a method at one place of its dial. Rows
whose labels begin alike, up to the first comma, are one curve, joined in the order of the rows.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from withhold.actions.audit import audit as evaluate
from withhold.audit.attackers import Attacker, MlpLarge, Nearest, Trees
from withhold.audit.attribute_evidence import AttributeEvidence
from withhold.bench.audits import row_key
from withhold.bench.figure import Curve, Panel, Spot, draw_figure
from withhold.bench.held_out import held_out
from withhold.bench.kept import keep_row, row_folder
from withhold.bench.recipe import Recipe, Row
from withhold.bench.result import at_most, markdown_table, percent, print_cells
from withhold.bench.run import row_method, timed_fit
from withhold.core.atomic import write_bytes
from withhold.core.errors import UserError
from withhold.core.progress import Progress
from withhold.datasets.public import public
from withhold.methods import Channel
from withhold.records.dataset import Dataset
from withhold.records.roles import Roles

NETWORK = MlpLarge(epochs=24, patience=5)
# Trees of many classes take minutes a point: there neighbours stand in for them.
FEW: tuple[Attacker, ...] = (Trees(), NETWORK)
MANY: tuple[Attacker, ...] = (Nearest(), NETWORK)
MOST_CLASSES = 20


@dataclass(frozen=True)
class Point:
    """A method at one place of its dial. Accuracies are fractions, of the test part.

    `attack` is the worse of two: by attackers of the fitted records' release, and (of a release of
    finitely many codes) by attackers of records never fitted.
    """

    label: str
    method: str
    floor: float
    attack: float
    attack_fitted: float
    attack_held_out: float | None
    bound: float | None
    utility: dict[str, float]
    guess: dict[str, float]
    codes: int | None
    seconds: float

    @property
    def curve(self) -> str:
        """The name of the curve that it belongs to."""
        return self.label.partition(",")[0]


@dataclass(frozen=True)
class TradeoffResult:
    """Every point of a recipe."""

    recipe: Recipe
    points: tuple[Point, ...]
    attackers: tuple[str, ...]

    @property
    def suppressed(self) -> str:
        """The attribute that attackers look for."""
        return suppressed(self.recipe)

    @property
    def useful(self) -> tuple[str, ...]:
        """The attributes that are to stay readable."""
        return tuple(n for n in self.recipe.measure if n != self.suppressed)

    def cells(self) -> tuple[list[str], list[list[str]]]:
        """Header and lines as text."""
        header = ["", f"attack: {self.suppressed}", "certificate", *self.useful, "codes", "fit s"]
        lines = [
            [
                p.label,
                percent(p.attack),
                at_most(p.bound),
                *(percent(p.utility[n]) for n in self.useful),
                "–" if p.codes is None else f"{p.codes}",
                f"{p.seconds:.0f}",
            ]
            for p in self.points
        ]
        return header, lines

    @property
    def legend(self) -> str:
        """What the table shows."""
        first = self.points[0]
        guesses = ", ".join(f"{n} {percent(first.guess[n])}" for n in self.useful)
        return (
            f"In %, test part. attack: the best of {' and '.join(self.attackers)}, retrained on the"
            " release; of a release of finitely many codes the worse of two, trained on the fitted"
            " records and on others. Without looking, an attacker is right in"
            f" {percent(min(p.floor for p in self.points))} (the floor). certificate: no attacker"
            " reads more from one record, at 95 % confidence. The other columns: what the same"
            f" models read of what is useful; without looking: {guesses}. fit s: seconds of the"
            " fit, its certificate included."
        )

    def to_markdown(self) -> str:
        """The table as Markdown, headed by its command, above the figure."""
        table = markdown_table(*self.cells())
        return (
            f"### {self.recipe.title}\n\n`withhold bench {self.recipe.name}`\n\n"
            f"![{self.recipe.title}](tradeoff.svg)\n\n{table}\n\n{self.legend}\n"
        )

    def to_svg(self) -> str:
        """The figure, a file of its own."""
        original = next((p for p in self.points if p.method == "identity"), None)
        panels = []
        for name in self.useful:
            curves: dict[str, list[Point]] = {}
            for p in self.points:
                curves.setdefault(p.curve, []).append(p)
            panels.append(
                Panel(
                    name,
                    tuple(
                        Curve(
                            label,
                            points[0].method,
                            tuple(
                                Spot(p.label, p.attack, p.utility[name], p.bound) for p in points
                            ),
                        )
                        for label, points in curves.items()
                    ),
                    guess=self.points[0].guess[name],
                )
            )
        return draw_figure(
            panels,
            title=self.recipe.title,
            suppressed=self.suppressed,
            floor=min(p.floor for p in self.points),
            original=None if original is None else original.attack,
        )

    def to_dict(self) -> dict[str, Any]:
        """Everything, for a machine."""
        points = [asdict(p) | {"curve": p.curve} for p in self.points]
        return {
            "recipe": self.recipe.name,
            "title": self.recipe.title,
            "attackers": self.attackers,
            "points": points,
        }

    def print(self) -> None:
        """The table in a terminal."""
        print_cells(self.recipe.title, *self.cells(), self.legend)


def suppressed(recipe: Recipe) -> str:
    """The attribute that every row suppresses: a figure has one axis for it."""
    names = {row.suppress or recipe.suppress or recipe.measure[0] for row in recipe.rows}
    if len(names) > 1 or "," in next(iter(names)):
        raise UserError(
            f"recipe {recipe.name}: a trade-off is of one suppressed attribute, and the rows"
            f" suppress {', '.join(sorted(names))}"
        )
    return names.pop()


def attackers_for(data: Dataset, recipe: Recipe) -> tuple[Attacker, ...]:
    """The same for every point of a figure."""
    classes = max(len(data.attribute(name).classes) for name in recipe.measure)
    return FEW if classes <= MOST_CLASSES else MANY


def run_tradeoff(recipe: Recipe, output: Path, *, progress: Progress) -> TradeoffResult:
    """Fit and attack every point, or go on where it was interrupted; draw the figure."""
    suppressed(recipe)
    data = public(recipe.data, progress=progress)
    digest = data.digest()
    attackers = attackers_for(data, recipe)
    points = []
    for row in recipe.rows:
        facts = [
            row.model_dump(mode="json"), recipe.config, recipe.method, recipe.seed, recipe.measure,
            digest, repr(attackers),
        ]  # fmt: skip
        make = partial(_point, recipe, row, data, progress)
        points.append(Point(**keep_row(row_folder(output, row.label), row_key(facts), make)))
    result = TradeoffResult(recipe, tuple(points), tuple(a.name for a in attackers))
    write_bytes(output / "results.json", json.dumps(result.to_dict(), indent=1).encode() + b"\n")
    write_bytes(output / "table.md", result.to_markdown().encode())
    write_bytes(output / "tradeoff.svg", result.to_svg().encode())
    return result


def _point(recipe: Recipe, row: Row, data: Dataset, progress: Progress) -> dict[str, Any]:
    progress.say(f"point: {row.label}")
    name = suppressed(recipe)
    roles = Roles.of(name, row.preserve)
    method = row_method(recipe, row)
    bundle, seconds = timed_fit(recipe, row, data, roles, progress)
    # Read inside the house: every label stays, in the order of the data.
    release = bundle.release(data, keep=data.table.column_names, keep_labels=True, same_order=True)
    useful = [n for n in recipe.measure if n != name]
    hidden = [n for n in useful if n not in roles.preserve]
    found = _read(release, roles, hidden, recipe, progress)
    other, codes = None, None
    if isinstance(bundle.modifier, Channel):
        _, others = held_out(data, release, roles)
        read = _read(others, Roles.of(name), [], recipe, progress)
        other, codes = read[name].informed.accuracy, len(bundle.modifier.codes)
    claims = (bundle.certificate or {}).get("attributes", {})
    fitted = found[name].informed.accuracy
    point = Point(
        row.label,
        method,
        found[name].floor,
        fitted if other is None else max(fitted, other),
        fitted,
        other,
        claims[name]["bound"] if name in claims else None,
        {n: found[n].informed.accuracy for n in useful},
        {n: found[n].majority for n in useful},
        codes,
        round(seconds, 1),
    )
    return asdict(point)


def _read(
    release: Dataset, roles: Roles, hidden: list[str], recipe: Recipe, progress: Progress
) -> dict[str, AttributeEvidence]:
    """What retrained models read of a release, by attribute.

    Of the release alone: what models of the originals would say of it is no part of the figure.
    """
    return evaluate(
        release,
        None,
        roles.suppress,
        roles.preserve,
        hidden=hidden,
        attackers=attackers_for(release, recipe),
        seed=recipe.seed,
        progress=progress,
    ).attributes
