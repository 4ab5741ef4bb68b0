"""Figures in coarse steps, for an audit that leaves the house with a release.

A figure of a suppressed attribute is computed from its labels, and every other figure from parts
that these labels stratify. With all digits it works like a hash of them: whoever knows the
originals and all labels but one runs the same audit with each guess of that label, and sees which
one gives the printed figure. In steps of ten records, one label seldom changes a figure, and there
are few figures left. Conclusions stay as they are: what was surely
above its floor still is, and nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor
from typing import TypeVar

from withhold.audit.attribute_evidence import AttributeEvidence
from withhold.audit.checked_certificate import Certified, CertifiedRows
from withhold.audit.findings import ColumnRead, Linked, SliceRead, Tier, Wider, WithOriginal

LEAST = 0.01  # the finest step
RECORDS = 10  # of the test part, in a step
SOME = "the best of several"
SLICE = "some of the records"
ELIMINATION = "elimination"  # the verdict needs to know
_ROUNDING = 1e-9
Found = TypeVar("Found", Tier, Linked, Wider, WithOriginal)


@dataclass(frozen=True)
class Grid:
    """Multiples of a step, from 0 to 1."""

    step: float

    @classmethod
    def of(cls, records: int) -> Grid:
        """The grid for figures of so many test records."""
        return cls(min(max(LEAST, RECORDS / max(records, 1)), 0.25))

    def near(self, share: float) -> float:
        """The nearest one."""
        return self._at(floor(share / self.step + 0.5))

    def up(self, share: float) -> float:
        """The next one above."""
        return self._at(ceil(share / self.step - _ROUNDING))

    def down(self, share: float) -> float:
        """The next one below."""
        return self._at(floor(share / self.step + _ROUNDING))

    def _at(self, number: int) -> float:
        return round(min(max(number * self.step, -1.0), 1.0), 6)


def coarse(a: AttributeEvidence) -> AttributeEvidence:
    """The evidence on an attribute as it may leave. Its notes do not: they name rare values."""
    grid = Grid.of(a.records)
    least, majority = grid.near(a.floor), grid.near(a.majority)
    update = {
        "majority": majority,
        "floor": least,
        "entropy_bits": round(a.entropy_bits, 1),
        "original": _coarse(a.original, grid, majority, sure=not a.blind),
        "linked": {
            size: _coarse(one, grid, max(least, grid.near(one.floor)), sure=a.sure[f"linked{size}"])
            for size, one in a.linked.items()
        },
        "with_original": None if a.with_original is None else with_original(a.with_original, grid),
        "smallest_leak": None if a.smallest_leak is None else grid.up(a.smallest_leak),
        "ladder": (),
        "models": (),
        "by_class": (),
        "by_group": (),
        "worst_group": None,
        "notes": (),
        "certificate": _without_counts(a.certificate, grid),
    }
    for name in ("ignorant", "informed", "repeated", "columns"):
        tier = getattr(a, name)
        if tier is not None:
            update[name] = _coarse(tier, grid, least, sure=a.sure[name])
    for name in ("all_rows", "column", "subgroup"):
        wider = getattr(a, name)
        if wider is not None:
            update[name] = coarse_wider(wider, grid)
    made = a.model_copy(update=update)
    return made if made.destroyed is a.destroyed else _as_lost(made, grid, lost=a.destroyed)


def _as_lost(made: AttributeEvidence, grid: Grid, *, lost: bool) -> AttributeEvidence:
    """The same evidence, where rounding had changed whether the attribute was destroyed.

    The figures that decide move by a step: down to a guess, or up to a tenth of what was readable.
    """
    guess = made.majority
    whole = max(made.original.accuracy, guess + grid.step)
    if lost:
        left = min(made.informed.accuracy, guess)
    else:
        left = grid.up(guess + 0.1 * (whole - guess) + 1e-6)
    return made.model_copy(
        update={
            "original": made.original.model_copy(update={"accuracy": whole}),
            "informed": made.informed.model_copy(update={"accuracy": left}),
        }
    )


def coarse_wider(found: Wider, grid: Grid) -> Wider:
    """What was read from other records or columns, with the same conclusion."""
    made = _coarse(found, grid, grid.near(found.floor), sure=found.sure)
    update: dict[str, object] = {}
    if isinstance(made, ColumnRead):
        update["bits"] = round(made.bits, 1)
    if isinstance(made, SliceRead):  # its limits were learned from the labels
        about = {"value": SLICE, "share": grid.near(made.share)}
        update |= about | {"records": RECORDS * round(made.records / RECORDS)}
    for name in ("parts", "elimination"):
        if hasattr(made, name):
            update[name] = {}
    return made.model_copy(update=update)


def with_original(found: WithOriginal, grid: Grid) -> WithOriginal:
    """The figures of someone who knows the original, with the same conclusion."""
    made = _coarse(found, grid, grid.near(found.floor), sure=found.sure)
    return made.model_copy(
        update={
            "alone": grid.near(found.alone),
            "gain": grid.near(found.gain),
            "gain_ci": (grid.down(found.gain_ci[0]), grid.up(found.gain_ci[1])),
            "alone_attacker": SOME,
        }
    )


def _coarse(found: Found, grid: Grid, least: float, *, sure: bool) -> Found:
    """accuracy, its intervals and all other figures of a tier, whose floor is now `least`."""
    accuracy = grid.near(found.accuracy)
    if sure:  # still surely above its floor
        accuracy = max(accuracy, min(round(least + grid.step, 6), 1.0))
    width = grid.up((found.ci[1] - found.ci[0]) / 2)
    update: dict[str, object] = {
        "accuracy": accuracy,
        "ci": (max(accuracy - width, 0.0), min(accuracy + width, 1.0)),
        "least": least + grid.step / 2 if sure else min(least, accuracy),
    }
    if isinstance(found, Tier):
        gone = ("f1", "auc", "top5", "cmap")
        update |= dict.fromkeys(gone) | {"bits": round(found.bits, 1), "intervals": {}}
        update["balanced_accuracy"] = grid.near(found.balanced_accuracy)
    else:
        update["floor"] = least
    if not isinstance(found, Linked) and found.attacker != ELIMINATION:
        update["attacker"] = SOME  # which one was best depends on single records
    return found.model_copy(update=update)


def _without_counts(
    found: Certified | CertifiedRows | None, grid: Grid
) -> Certified | CertifiedRows | None:
    """The claims that leave in the certificate itself, without our own counts of the rows."""
    if found is None:
        return None
    update: dict[str, object] = {"recounted": None, "recounted_test": None}
    if found.release is not None:
        measured = {share: grid.near(rate) for share, rate in found.release.measured.items()}
        update["release"] = found.release.model_copy(update={"measured": measured})
    return found.model_copy(update=update)
