"""The columns of the release: which were attacked, what each tells, and why others were not."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from withhold.audit.evidence import Evidence
from withhold.audit.findings import Column
from withhold.report.number_format import percent

SHOWN = 8


@dataclass(frozen=True)
class SeenColumn:
    """One column: what it tells, or why it was not attacked; `tone` is its colour."""

    name: str
    kind: str
    tone: str
    said: Markup


@dataclass(frozen=True)
class Attacked:
    """The columns in two lists; those that tell come first."""

    attacked: tuple[SeenColumn, ...]
    skipped: tuple[SeenColumn, ...]

    @property
    def folded(self) -> tuple[SeenColumn, ...]:
        """Attacked columns beyond those of the first screen."""
        return self.attacked[SHOWN:]


def attacked(evidence: Evidence) -> Attacked | None:
    """None if there is no release, or if its columns were not checked."""
    if evidence.release is None or not evidence.columns:
        return None
    seen = [_seen(column) for column in evidence.columns if column.attacked]
    seen.sort(key=lambda column: column.tone != "readable")
    skipped = [
        SeenColumn(column.name, column.kind, "blind", Markup.escape(column.why_not))
        for column in evidence.columns
        if not column.attacked
    ]
    return Attacked(tuple(seen), tuple(skipped))


def _seen(column: Column) -> SeenColumn:
    told = []
    for name, read in column.tells.items():
        if read.copy_of:
            told.append(
                Markup("is <b>{}</b> itself").format(name)
                if column.name == name
                else Markup("is a copy of <b>{}</b>").format(name)
            )
        elif read.sure:
            told.append(
                Markup("reveals <b>{}</b> for {} of records (guessing {})").format(
                    name, percent(read.accuracy), percent(read.floor)
                )
            )
        elif read.tells:
            told.append(Markup("shifts the odds of <b>{}</b>").format(name))
    if told:
        return SeenColumn(column.name, column.kind, "readable", Markup("; ").join(told))
    return SeenColumn(column.name, column.kind, "floor", Markup("nothing found"))
