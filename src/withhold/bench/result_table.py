"""What every recipe gives back: a table for people and a dict for machines."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from withhold.bench.recipe import Recipe
from withhold.certificate import claim_wording
from withhold.core.atomic import write_bytes

Cells = tuple[list[str], list[list[str]]]  # the header, and the lines below it


class BenchResult(ABC):
    """A result that prints and writes its table; subclasses are frozen dataclasses."""

    file: ClassVar[str] = "results.json"  # the file of `to_dict`
    left: ClassVar[int] = 1  # columns that are aligned to the left
    figure: ClassVar[str] = ""  # a drawing above the table

    @property
    @abstractmethod
    def title(self) -> str:
        """The heading of the table."""

    @property
    @abstractmethod
    def command(self) -> str:
        """The name of the recipe."""

    @property
    @abstractmethod
    def legend(self) -> str:
        """The text below the table: what its columns mean."""

    def cells(self) -> Cells:
        """Header and lines of the table; none where `tables` gives several."""
        return [], []

    def tables(self) -> list[tuple[str, Cells]]:
        """Each table with its title; most results have one."""
        return [(self.title, self.cells())]

    def to_dict(self) -> dict[str, Any]:
        """All figures, for a program."""
        return asdict(self)  # type: ignore[call-overload, no-any-return]

    def to_markdown(self) -> str:
        """The tables as Markdown, headed by the command that makes them."""
        tables = self.tables()
        headings = [f"#### {title}\n\n" if len(tables) > 1 else "" for title, _ in tables]
        drawn = [f"![{self.title}]({self.figure})"] if self.figure else []
        drawn += [
            f"{h}{self._table(*cells)}" for h, (_, cells) in zip(headings, tables, strict=True)
        ]
        parts = [f"### {self.title}", f"`withhold bench {self.command}`", *drawn, self.legend]
        return "\n\n".join(parts) + "\n"

    def print(self) -> None:
        """The tables in a terminal."""
        from rich.console import Console
        from rich.markup import escape
        from rich.table import Table

        console = Console()
        if not console.is_terminal:  # a log or a file has no right edge
            console = Console(width=160)
        for title, (header, lines) in self.tables():
            table = Table(title=escape(title), title_justify="left")
            for i, name in enumerate(header):
                table.add_column(escape(name), justify="left" if i < self.left else "right")
            for line in lines:
                table.add_row(*(escape(cell) for cell in line))
            console.print(table)
        console.print(self.legend, style="dim", highlight=False, markup=False)

    def write(self, output: Path) -> Self:
        """Write the figures and table.md to the folder `output`."""
        text = json.dumps(self.to_dict(), indent=1)
        write_bytes(output / self.file, text.encode() + b"\n")
        write_bytes(output / "table.md", self.to_markdown().encode())
        return self

    def _table(self, header: list[str], lines: list[list[str]]) -> str:
        rule = ["---"] * self.left + ["---:"] * (len(header) - self.left)
        return "\n".join("| " + " | ".join(line) + " |" for line in [header, rule, *lines])


@dataclass(frozen=True)
class RecipeResult(BenchResult):
    """The result of a recipe that has rows, with one result for each."""

    recipe: Recipe
    rows: tuple[Any, ...]

    @property
    def command(self) -> str:
        """The name of the recipe."""
        return self.recipe.name

    @property
    def title(self) -> str:
        """The title of the recipe."""
        return self.recipe.title

    @property
    def source(self) -> str:
        """Where the paper's figures are from, as the end of a legend."""
        return f" Paper: {self.recipe.paper_title}." if self.recipe.paper_title else ""

    def to_dict(self) -> dict[str, Any]:
        """All figures, for a program."""
        rows = [asdict(row) for row in self.rows]
        return {"recipe": self.recipe.name, "title": self.recipe.title, "rows": rows}


def percent(value: float | None) -> str:
    """A share of 0..1 in percent; a dash for None."""
    return "–" if value is None else f"{100 * value:.1f}"


def at_most(bound: float | None) -> str:
    """A bound in percent, rounded up; a dash for None."""
    return "–" if bound is None else claim_wording.at_most(bound)


def with_spread(values: Sequence[float]) -> str:
    """Mean ± standard deviation of shares, in percent."""
    return f"{100 * np.mean(values):.1f} ± {100 * np.std(values):.1f}"
