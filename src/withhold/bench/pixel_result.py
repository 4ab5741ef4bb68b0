"""The result of `kind: pixels`: tables, and the trade-off curve (seed paper, Figure 1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from withhold.bench.pixel_figures import PixelFigures
from withhold.bench.result_table import Cells, RecipeResult, at_most, percent, with_spread
from withhold.bench.tradeoff_figure import Curve, Panel, Spot, draw_figure


@dataclass(frozen=True)
class PixelRow:
    """One setting of one method, with its figures for every seed."""

    label: str
    method: str
    seeds: tuple[PixelFigures, ...]

    @property
    def curve(self) -> str:
        """The name of the curve that it belongs to."""
        return self.label.partition(",")[0]

    def of(self, name: str) -> list[float]:
        """A figure by name, for every seed that has it."""
        return [v for v in (getattr(f, name) for f in self.seeds) if v is not None]

    def utility(self, how: str) -> list[float]:
        """The mean over the useful attributes, for every seed."""
        return [float(np.mean([*getattr(f, how).values()])) for f in self.seeds]


@dataclass(frozen=True)
class PixelResult(RecipeResult):
    """Every row of a recipe."""

    rows: tuple[PixelRow, ...]
    guess: dict[str, float]  # the rate of the commonest class of the test part
    figure = "tradeoff.svg"

    @property
    def useful(self) -> list[str]:
        """The attributes that should stay readable."""
        return [n for n in self.guess if n != self.recipe.suppress]

    def tables(self) -> list[tuple[str, Cells]]:
        """The trade-off, then what each attacker and each model reads."""
        return [
            (self.title, self._tradeoff()),
            ("Retrained attackers, one by one", self._attackers()),
            ("Useful attributes: fixed / retrained models", self._attributes()),
            (f"Correlation with {self.recipe.suppress} of what fixed models see", self._related()),
        ]

    def _tradeoff(self) -> Cells:
        papers = {row.label: row.paper_note for row in self.recipe.rows}
        noted = ["paper"] if any(papers.values()) else []
        header = [
            "", f"privacy loss: {self.recipe.suppress}", "ignorant", "bound", "utility, fixed",
            "utility, retrained", "s' seen", "distortion", "SSIM", "faces", "fit s", *noted,
        ]  # fmt: skip
        lines = [
            [
                row.label,
                with_spread(row.of("privacy_loss")),
                with_spread(row.of("ignorant")),
                at_most(max(row.of("bound"), default=None)),
                with_spread(row.utility("utility_fixed")),
                with_spread(row.utility("utility_retrained")),
                with_spread(row.of("success")) if row.of("success") else "–",
                f"{np.mean(row.of('distortion')):.4f}",
                f"{np.mean(row.of('ssim')):.2f}",
                percent(float(np.mean(row.of("faces")))) if row.of("faces") else "–",
                f"{np.mean(row.of('seconds')):.0f}",
                *([papers[row.label] or "–"] if noted else []),
            ]
            for row in self.rows
        ]
        guesses = [percent(self.guess[self.recipe.suppress]), "–", "–"]
        middle = percent(float(np.mean([self.guess[n] for n in self.useful])))
        blank = ["–"] * (len(header) - 6)
        return header, [["guessing", *guesses, middle, middle, *blank], *lines]

    def _attackers(self) -> Cells:
        names = list(self.rows[0].seeds[0].attack)
        return ["", *names], [
            [row.label, *(with_spread([f.attack[n] for f in row.seeds]) for n in names)]
            for row in self.rows
        ]

    def _attributes(self) -> Cells:
        lines = [["guessing", *(percent(self.guess[n]) for n in self.useful)]]
        for row in self.rows:
            cells = []
            for name in self.useful:
                fixed = with_spread([f.utility_fixed[name] for f in row.seeds])
                again = with_spread([f.utility_retrained[name] for f in row.seeds])
                cells.append(f"{fixed} / {again}")
            lines.append([row.label, *cells])
        return ["", *self.useful], lines

    def _related(self) -> Cells:
        return ["", *self.useful], [
            [
                row.label,
                *(f"{np.mean([f.correlation[n] for f in row.seeds]):+.2f}" for n in self.useful),
            ]
            for row in self.rows
        ]

    @property
    def legend(self) -> str:
        """What the columns mean."""
        seeds = len(self.recipe.pixels.seeds)
        spread = f", mean ± deviation over {seeds} seeds" if seeds > 1 else ", one seed"
        return (
            f"In % of the test part{spread}. privacy loss: the highest accuracy of attackers that"
            " were trained on the released training part. ignorant: of a model of the originals."
            " bound: no attacker reads more from one record, at 95 % confidence. utility: mean"
            f" accuracy over {', '.join(self.useful)}, by models of the originals (fixed) and by"
            " models of the release (retrained). s' seen: how often the fixed model sees the new"
            " class. distortion: mean squared error, pixels 0 to 1. SSIM: 1 for equal images."
            f" faces: images in which a detector finds a face.{self.source}"
        )

    def to_dict(self) -> dict[str, Any]:
        """All figures, for a program."""
        return {**super().to_dict(), "guess": self.guess}


def draw_tradeoff(result: PixelResult) -> str:
    """Privacy loss against utility, by fixed and by retrained models."""
    curves: dict[str, list[PixelRow]] = {}
    for row in result.rows:
        curves.setdefault(row.curve, []).append(row)
    panels = []
    useful = " and ".join(result.useful)
    for how, name in (("utility_fixed", "fixed"), ("utility_retrained", "retrained")):
        drawn = tuple(
            Curve(
                curve,
                rows[0].method,
                tuple(
                    Spot(
                        row.label,
                        float(np.mean(row.of("privacy_loss"))),
                        float(np.mean(row.utility(how))),
                        max(row.of("bound"), default=None),
                    )
                    for row in rows
                ),
            )
            for curve, rows in curves.items()
        )
        guess = float(np.mean([result.guess[n] for n in result.useful]))
        panels.append(Panel(f"{useful} ({name})", drawn, guess))
    first = next((r for r in result.rows if r.method == "identity"), None)
    return draw_figure(
        panels,
        title=result.title,
        suppressed=result.recipe.suppress,
        floor=result.guess[result.recipe.suppress],
        original=None if first is None else float(np.mean(first.of("privacy_loss"))),
    )
