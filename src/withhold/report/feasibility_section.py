"""The feasibility section: bits that attributes share, floors and ceilings, as rows of tables."""

from __future__ import annotations

from dataclasses import dataclass

from withhold.audit.evidence import Evidence

LEVELS = 5


@dataclass(frozen=True)
class Cell:
    """Bits that two attributes share; `level` 0..5 is how much of the smaller one that is."""

    bits: float
    level: int
    own: bool


@dataclass(frozen=True)
class FeasibilityRow:
    """One attribute against every other, and what is possible for it."""

    name: str
    role: str
    cells: tuple[Cell, ...]
    entropy: float
    majority: float | None
    floor: float | None
    ceiling: float | None


def rows(evidence: Evidence) -> list[FeasibilityRow]:
    """The matrix, symmetric; on its diagonal an attribute's own bits."""
    found = evidence.feasibility
    pairs = {(p.one, p.two): p.shared_bits for p in found.pairs}
    names = list(found.entropy)

    def cell(one: str, two: str) -> Cell:
        if one == two:
            return Cell(found.entropy[one], 0, True)
        shared = pairs.get((one, two), pairs.get((two, one), 0.0))
        smaller = min(found.entropy[one], found.entropy[two])
        part = shared / smaller if smaller > 0 else 0.0
        return Cell(shared, min(round(LEVELS * part), LEVELS), False)

    return [
        FeasibilityRow(
            name=name,
            role=evidence.attributes[name].role if name in evidence.attributes else "",
            cells=tuple(cell(name, other) for other in names),
            entropy=found.entropy[name],
            majority=found.majority.get(name),
            floor=found.floor.get(name),
            ceiling=found.ceiling.get(name),
        )
        for name in names
    ]
