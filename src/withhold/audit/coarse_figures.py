"""Figures in coarse steps, for an audit that leaves the house with a release.

A figure of a suppressed attribute is computed from its labels, and every other figure from parts
that these labels stratify. With all digits it works like a hash of them: whoever knows the
originals and all labels but one runs the same audit with each guess of that label, and sees which
one gives the printed figure. In steps of ten records, one label seldom changes a figure, and there
are few figures left. Conclusions stay as they are: what was surely
above its floor still is, and nothing else.
"""

from __future__ import annotations

from typing import TypeVar

from withhold.audit.attribute_evidence import AttributeEvidence
from withhold.audit.checked_certificate import Certified, CertifiedRows
from withhold.audit.findings import ColumnRead, Linked, SliceRead, Tier, Wider, WithOriginal
from withhold.certificate.stated_figures import with_coarse_attacks
from withhold.core.coarse_grid import RECORDS, Grid, tens

SOME = "the best of several"
SLICE = "some of the records"
ELIMINATION = "elimination"  # the verdict needs to know
Found = TypeVar("Found", Tier, Linked, Wider, WithOriginal)


def coarse(a: AttributeEvidence) -> AttributeEvidence:
    """The evidence on an attribute as it may leave. Its notes do not: they name rare values."""
    grid = Grid.of(a.records)
    bound = 1.0 if a.certificate is None else a.certificate.at_most
    least, majority = _guess(a.floor, grid, bound), grid.near(a.majority)
    update: dict[str, object] = {
        "records": tens(a.records),
        "majority": majority,
        "floor": least,
        "entropy_bits": round(a.entropy_bits, 1),
        "original": _coarse(a.original, grid, majority, sure=not a.blind),
        "linked": {
            size: _coarse(one, grid, max(least, grid.near(one.floor)), sure=a.sure[f"linked{size}"])
            for size, one in a.linked.items()
        },
        **{
            name: _coarse(one, grid, max(least, grid.near(one.floor)), sure=a.sure[name])
            for name, one in (("linked_row", a.linked_row), ("linked_number", a.linked_number))
            if one is not None
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
            update[name] = coarse_wider(wider, grid, bound)
    made = _beside_bound(a.model_copy(update=update), a, grid)
    return made if made.destroyed is a.destroyed else _as_lost(made, grid, lost=a.destroyed)


def _guess(floor: float, grid: Grid, bound: float) -> float:
    """A floor in steps, on the same side of the certified bound."""
    near = grid.near(floor)
    if floor < bound <= near:
        return grid.down(floor)
    return grid.up(floor) if near <= bound < floor else near


def _beside_bound(made: AttributeEvidence, a: AttributeEvidence, grid: Grid) -> AttributeEvidence:
    """The same evidence, in which the same attacks surely read more than the certificate states.

    Their figures move up to the next step above the bound, the limits of all others down to it.
    """
    if a.certificate is None or a.certificate.at_most >= 1:
        return made
    bound, update = a.certificate.at_most, {}
    for name in ("informed", "ignorant", "column", "columns", "all_rows"):
        before, after = getattr(a, name), getattr(made, name)
        if after is None:
            continue
        single = name in ("informed", "ignorant")
        if a.contradicted and before is a.best if single else before.least > bound:
            above = max(after.accuracy, min(grid.up(bound) + grid.step, 1.0))
            low = max(after.ci[0], (bound + above) / 2)
            limit = above if before.least > a.floor_of(name) else after.least
            changed = {"accuracy": above, "least": limit, "ci": (low, max(after.ci[1], above))}
        else:
            ci = (min(after.ci[0], bound), after.ci[1])
            changed = {"least": min(after.least, bound), "ci": ci}
        update[name] = after.model_copy(update=changed)
    return made.model_copy(update=update)


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


def coarse_wider(found: Wider, grid: Grid, bound: float = 1.0) -> Wider:
    """What was read from other records or columns, with the same conclusion; bound: certified."""
    made = _coarse(found, grid, _guess(found.floor, grid, bound), sure=found.sure)
    update: dict[str, object] = {"records": tens(found.records)}
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
            "records": tens(found.records),
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
        update["release"] = with_coarse_attacks(found.release, grid)
    return found.model_copy(update=update)
