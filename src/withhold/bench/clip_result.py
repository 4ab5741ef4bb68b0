"""The result of `kind: clips`: tables, and the trade-off of action against private attributes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from withhold.bench.clip_figures import ClipFigures, ModelReading
from withhold.bench.result_table import Cells, RecipeResult, percent, with_spread
from withhold.bench.tradeoff_figure import Curve, Panel, Spot, draw_figure


@dataclass(frozen=True)
class ClipRow:
    """One method with its settings, with its figures for every seed."""

    label: str
    method: str
    seeds: tuple[ClipFigures, ...]

    def worst(self, group: str, *, fixed: bool = False) -> list[float]:
        """What the best privacy model reads, for every seed."""
        return [f.worst(group, fixed=fixed) for f in self.seeds]


@dataclass(frozen=True)
class ClipResult(RecipeResult):
    """Every row of a recipe. `guess`: what a model reaches that sees nothing; the action first."""

    rows: tuple[ClipRow, ...]
    guess: dict[str, float]
    labels: dict[str, int]  # of multi-label targets; 0 for others
    figure = "tradeoff.svg"

    @property
    def action(self) -> str:
        """The attribute that should stay readable."""
        return next(iter(self.guess))

    @property
    def groups(self) -> list[str]:
        """The groups of private attributes."""
        return [*self.guess][1:]

    def tables(self) -> list[tuple[str, Cells]]:
        """The trade-off, then what each network reads."""
        found = [(self.title, self._tradeoff())]
        found.append(
            (f"{self.action}: top-1 of fresh models, one by one", self._by_model("action"))
        )
        for group in self.groups:
            title = f"{group}: fresh privacy models, one by one ({self._metric(group)})"
            found.append((title, self._by_model("attack", group)))
            title = f"{group}: privacy models of the originals ({self._metric(group)})"
            found.append((title, self._by_model("ignorant", group)))
        return found

    def _metric(self, group: str) -> str:
        return "cMAP" if self.labels[group] else "accuracy"

    def _tradeoff(self) -> Cells:
        papers = {row.label: row.paper_note for row in self.recipe.rows}
        noted = ["paper"] if any(papers.values()) else []
        header, guess = ["", f"{self.action} ↑"], ["guessing", percent(self.guess[self.action])]
        for group in self.groups:
            several = bool(self.labels[group])
            header += [f"{group}, {self._metric(group)} ↓", f"{group}, ignorant"]
            guess += [percent(self.guess[group])] * 2
            header += [f"{group}, F1 ↓"] if several else []
            guess += ["–"] if several else []
        header += ["distortion", "fit s", *noted]
        lines = [guess + ["–"] * (len(header) - len(guess))]
        for row in self.rows:
            line = [row.label, _shares([f.top1() for f in row.seeds])]
            for group in self.groups:
                line += [_shares(row.worst(group)), _shares(row.worst(group, fixed=True))]
                if self.labels[group]:
                    f1 = [f.worst_f1(group) for f in row.seeds]
                    line.append(_mean([f for f in f1 if f is not None], "{:.3f}"))
            moved = [f.distortion for f in row.seeds if f.distortion is not None]
            line += [_mean(moved, "{:.4f}"), f"{np.mean([f.seconds for f in row.seeds]):.0f}"]
            lines.append([*line, *([papers[row.label] or "–"] if noted else [])])
        return header, lines

    def _by_model(self, which: str, group: str | None = None) -> Cells:
        def of(figures: ClipFigures) -> dict[str, ModelReading]:
            found: Any = getattr(figures, which)
            return dict(found if group is None else found.get(group, {}))

        names = list(dict.fromkeys(n for row in self.rows for f in row.seeds for n in of(f)))
        lines = []
        for row in self.rows:
            values = {n: [of(f)[n].value for f in row.seeds if n in of(f)] for n in names}
            lines.append([row.label, *(_shares(values[n]) for n in names)])
        return ["", *names], lines

    @property
    def legend(self) -> str:
        """What the columns mean."""
        seeds = len(self.recipe.clips.seeds)
        spread = f", mean ± deviation over {seeds} seeds" if seeds > 1 else ", one seed"
        several = any(self.labels.values())
        cmap = (
            " cMAP: macro mean average precision; guessing has the mean prevalence of the labels."
            " F1: at probability 0.5."
            if several
            else ""
        )
        return (
            f"In % of the test part{spread}. {self.action}: top-1 of the first action model, the"
            " mean of its sub-clips. Fresh models learn from the released training part; no model"
            " of the fit is used. Private attributes: the worst case over all architectures."
            f" ignorant: models of the originals.{cmap} distortion: mean squared error, pixels 0 to"
            " 1. fit s: without phases that another row had trained already. Rows on features are"
            f" read by attackers of features, and their best figure is shown.{self.source}"
        )

    def to_dict(self) -> dict[str, Any]:
        """All figures, for a program."""
        found = super().to_dict()
        return {**found, "rows": [asdict(r) for r in self.rows], "guess": self.guess}


def draw_clip_tradeoff(result: ClipResult) -> str:
    """Action against the worst case of every group of private attributes, a panel each."""
    group = result.groups[0]
    curves = tuple(
        Curve(
            row.label,
            row.method,
            (
                Spot(
                    row.label,
                    float(np.mean(row.worst(group))),
                    float(np.mean([f.top1() for f in row.seeds])),
                ),
            ),
        )
        for row in result.rows
    )
    first = next((r for r in result.rows if r.method == "identity"), None)
    return draw_figure(
        [Panel(f"{result.action} (fresh)", curves, result.guess[result.action])],
        title=result.title,
        suppressed=group,
        floor=result.guess[group],
        original=None if first is None else float(np.mean(first.worst(group))),
    )


def _shares(values: Sequence[float]) -> str:
    if not values:
        return "–"
    return with_spread(values) if len(values) > 1 else percent(values[0])


def _mean(values: Sequence[float], form: str) -> str:
    return form.format(np.mean(values)) if values else "–"
