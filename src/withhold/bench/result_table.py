"""A recipe's table: the paper's figures, ours with frozen models, ours with retrained ones."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from withhold.certificate import claim_wording

if TYPE_CHECKING:
    from withhold.bench.recipe import Recipe


@dataclass(frozen=True)
class RowResult:
    """Accuracies (0..1) per attribute; distance moved; entropy of the frozen prediction in bits.

    `seconds` is what this run took: stages found in the journal cost nothing.
    """

    label: str
    ignorant: dict[str, float]
    informed: dict[str, float]
    distortion: float
    entropy_bits: float
    seconds: float


@dataclass(frozen=True)
class TableResult:
    """Every row of a recipe."""

    recipe: Recipe
    rows: tuple[RowResult, ...]

    def cells(self) -> tuple[list[str], list[list[str]]]:
        """Header and lines, as text: for each attribute paper / frozen / retrained."""
        names = self.recipe.measure
        beside = any(spec.paper for spec in self.recipe.rows)
        noted = any(spec.paper_note for spec in self.recipe.rows)
        header = ["", *names, "moved", "entropy", *(["paper"] if noted else [])]
        lines = []
        for row, spec in zip(self.rows, self.recipe.rows, strict=True):
            cells = []
            for name in names:
                ours = f"{100 * row.ignorant[name]:.1f} / {100 * row.informed[name]:.1f}"
                paper = f"{spec.paper[name]:.1f}" if name in spec.paper else "–"
                cells.append(f"{paper} / {ours}" if beside else ours)
            line = [row.label, *cells, f"{row.distortion:.2f}", f"{row.entropy_bits:.2f}"]
            lines.append(line + ([spec.paper_note] if noted else []))
        return header, lines

    def to_markdown(self) -> str:
        """The table as Markdown, headed by its command."""
        header, lines = self.cells()
        body = markdown_table(header, lines)
        return (
            f"### {self.recipe.title}\n\n`withhold bench {self.recipe.name}`\n\n{body}\n\n{LEGEND}"
            f"{self._source()}\n"
        )

    def to_dict(self) -> dict[str, Any]:
        """Everything, for a machine."""
        return {
            "recipe": self.recipe.name,
            "title": self.recipe.title,
            "rows": [
                asdict(row) | {"paper": spec.paper}
                for row, spec in zip(self.rows, self.recipe.rows, strict=True)
            ],
        }

    def print(self) -> None:
        """The table in a terminal."""
        print_cells(self.recipe.title, *self.cells(), LEGEND + self._source())

    def _source(self) -> str:
        return f" Paper: {self.recipe.paper_title}." if self.recipe.paper_title else ""


def at_most(bound: float | None) -> str:
    """A bound in percent, rounded up; a dash where there is none."""
    return "–" if bound is None else claim_wording.at_most(bound)


def percent(value: float | None) -> str:
    """A share of 0..1 as text; a dash where there is none."""
    return "–" if value is None else f"{100 * value:.1f}"


def markdown_table(header: list[str], lines: list[list[str]], *, left: int = 1) -> str:
    """A table of text as Markdown, its first columns to the left."""
    rule = ["---"] * left + ["---:"] * (len(header) - left)
    return "\n".join("| " + " | ".join(line) + " |" for line in [header, rule, *lines])


def print_cells(
    title: str, header: list[str], lines: list[list[str]], legend: str, *, left: int = 1
) -> None:
    """A table of text in a terminal, its first columns to the left."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table(title=escape(title), title_justify="left")
    for i, name in enumerate(header):
        table.add_column(escape(name), justify="left" if i < left else "right")
    for line in lines:
        table.add_row(*(escape(cell) for cell in line))
    console = Console()
    if not console.is_terminal:  # a log or a file has no right edge
        console = Console(width=160)
    console.print(table)
    console.print(legend, style="dim", highlight=False, markup=False)


LEGEND = (
    "Accuracy in %, test part: (paper /) ours, frozen model / ours, retrained on the release."
    " moved: mean distance of a record; entropy: of the frozen prediction of the suppressed, bits."
)
