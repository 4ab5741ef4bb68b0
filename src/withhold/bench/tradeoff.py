"""Trade-off curves: what attackers read against what is left to use, all methods in one figure.

`kind: tradeoff`. Every row of the recipe is one point: a method with one setting. Rows whose labels
are equal up to the first comma form one curve, in the order of the rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from withhold.actions.audit import audit as evaluate
from withhold.audit.attackers import Attacker, MlpLarge, Nearest, Trees
from withhold.audit.attribute_evidence import AttributeEvidence
from withhold.bench.fit_row import (
    bundle_claims,
    code_count,
    fit_row,
    held_out,
    labelled_release,
    row_method,
    unnamed,
)
from withhold.bench.recipe import Recipe, RecipeRow
from withhold.bench.result_table import Cells, RecipeResult, at_most, percent
from withhold.bench.row_cache import cached_rows
from withhold.bench.tradeoff_figure import Curve, Panel, Spot, draw_figure
from withhold.core.atomic import write_bytes
from withhold.core.errors import UserError
from withhold.core.progress import Progress
from withhold.datasets.public import public
from withhold.records.dataset import Dataset
from withhold.records.roles import Roles

NETWORK = MlpLarge(epochs=24, patience=5)
# With many classes, trees take minutes for each point; nearest neighbours replace them there.
FEW: tuple[Attacker, ...] = (Trees(), NETWORK)
MANY: tuple[Attacker, ...] = (Nearest(), NETWORK)
MOST_CLASSES = 20


@dataclass(frozen=True)
class TradeoffPoint:
    """A method with one setting. Accuracies are fractions, of the test part.

    For a release of finitely many codes, `attack` is the worse of two: attackers trained on the
    release of the fitted records, and attackers trained on records that were never fitted.
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
class TradeoffResult(RecipeResult):
    """Every point of a recipe."""

    attackers: tuple[str, ...]
    rows: tuple[TradeoffPoint, ...]
    figure = "tradeoff.svg"

    @property
    def floor(self) -> float:
        """What guessing gets of the suppressed attribute."""
        return min(p.floor for p in self.rows)

    @property
    def useful(self) -> tuple[str, ...]:
        """The attributes that should stay readable."""
        return tuple(n for n in self.recipe.measure if n != suppressed(self.recipe))

    def cells(self) -> Cells:
        """A line for every point."""
        header = ["", f"attack: {suppressed(self.recipe)}", "certificate", *self.useful]
        lines = [
            [
                p.label,
                percent(p.attack),
                at_most(p.bound),
                *(percent(p.utility[n]) for n in self.useful),
                "–" if p.codes is None else f"{p.codes}",
                f"{p.seconds:.0f}",
            ]
            for p in self.rows
        ]
        return [*header, "codes", "fit s"], lines

    @property
    def legend(self) -> str:
        """What the columns mean."""
        guesses = ", ".join(f"{n} {percent(self.rows[0].guess[n])}" for n in self.useful)
        return (
            f"In %, test part. attack: the best of {' and '.join(self.attackers)}, retrained on the"
            " release. For a release of finitely many codes it is the worse of two: trained on the"
            " fitted records, and on others. Guessing gets"
            f" {percent(self.floor)} (the floor). certificate: no attacker reads more from one"
            " record, at 95 % confidence. The other columns: what the same models read of the"
            f" useful attributes; guessing gets {guesses}. fit s: seconds of the fit, its"
            " certificate included."
        )

    def to_svg(self) -> str:
        """The figure as a standalone file."""
        original = next((p.attack for p in self.rows if p.method == "identity"), None)
        curves: dict[str, list[TradeoffPoint]] = {}
        for p in self.rows:
            curves.setdefault(p.curve, []).append(p)

        def curve(label: str, useful: str) -> Curve:
            spots = (Spot(p.label, p.attack, p.utility[useful], p.bound) for p in curves[label])
            return Curve(label, curves[label][0].method, tuple(spots))

        return draw_figure(
            [
                Panel(n, tuple(curve(label, n) for label in curves), self.rows[0].guess[n])
                for n in self.useful
            ],
            title=self.title,
            suppressed=suppressed(self.recipe),
            floor=self.floor,
            original=original,
        )

    def to_dict(self) -> dict[str, Any]:
        """All figures, for a program."""
        found = super().to_dict() | {"attackers": self.attackers}
        points = [
            row | {"curve": p.curve} for row, p in zip(found.pop("rows"), self.rows, strict=True)
        ]
        return found | {"points": points}


def suppressed(recipe: Recipe) -> str:
    """The attribute that every row suppresses: the figure has one axis for it."""
    names = {row.suppress or recipe.suppress or recipe.measure[0] for row in recipe.rows}
    if len(names) > 1 or "," in next(iter(names)):
        raise UserError(
            f"recipe {recipe.name}: a trade-off is of one suppressed attribute, and the rows"
            f" suppress {', '.join(sorted(names))}"
        )
    return names.pop()


def attackers_for(data: Dataset, recipe: Recipe) -> tuple[Attacker, ...]:
    """The attackers of every point of a figure."""
    classes = max(len(data.attribute(name).classes) for name in recipe.measure)
    return FEW if classes <= MOST_CLASSES else MANY


def run_tradeoff(recipe: Recipe, output: Path, *, progress: Progress) -> TradeoffResult:
    """Fit and attack every point, or resume after an interruption; draw the figure."""
    suppressed(recipe)
    data = public(recipe.data, progress=progress)
    attackers = attackers_for(data, recipe)
    make = partial(_point, recipe, data=data, progress=progress)
    facts = [data.digest(), repr(attackers)]
    points = cached_rows(recipe, output, facts, TradeoffPoint, make)
    result = TradeoffResult(recipe, points, tuple(a.name for a in attackers))
    write_bytes(output / result.figure, result.to_svg().encode())
    return result.write(output)


def _point(recipe: Recipe, row: RecipeRow, *, data: Dataset, progress: Progress) -> TradeoffPoint:
    progress.say(f"point: {row.label}")
    name = suppressed(recipe)
    roles = Roles.of(name, row.preserve)
    bundle, seconds = fit_row(recipe, row, data, roles, progress)
    release = labelled_release(bundle, data)
    found = _read(release, roles, unnamed(recipe, roles), recipe, progress)
    codes, other = code_count(bundle), None
    if codes is not None:
        _, others = held_out(data, release, roles)
        other = _read(others, Roles.of(name), [], recipe, progress)[name].informed.accuracy
    claims = bundle_claims(bundle)
    fitted = found[name].informed.accuracy
    useful = {n: a for n, a in found.items() if n != name}
    return TradeoffPoint(
        row.label,
        row_method(recipe, row),
        found[name].floor,
        fitted if other is None else max(fitted, other),
        fitted,
        other,
        claims[name]["bound"] if name in claims else None,
        {n: a.informed.accuracy for n, a in useful.items()},
        {n: a.majority for n, a in useful.items()},
        codes,
        round(seconds, 1),
    )


def _read(
    release: Dataset, roles: Roles, hidden: list[str], recipe: Recipe, progress: Progress
) -> dict[str, AttributeEvidence]:
    """What retrained models read from a release, by attribute.

    The release is audited alone: the figure does not show models of the originals.
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
