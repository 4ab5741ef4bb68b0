"""`linked`: the attacker knows that r records are of one person, and reads them together."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from withhold.audit.attack import Outcome
from withhold.audit.attackers.attacker import FloatArray
from withhold.audit.findings import Linked
from withhold.audit.intervals import Z_995, hull, share, wilson
from withhold.audit.own_records_attack import OwnScores
from withhold.audit.select_attacker import Reading, choose
from withhold.audit.whole_people import WholePeople
from withhold.records.attribute import Attribute
from withhold.records.record_sets import (
    PEOPLE,
    Rows,
    add_up,
    draw_sets,
    person_labels,
    set_sizes,
    why_not_linked,
)

ADDED_UP = "added up"


def linked(
    log_p: FloatArray,
    truth: Attribute,
    log_prior: FloatArray,
    people: Rows | None,
    *,
    seed: int,
    told: FloatArray | None = None,
    sizes: tuple[int, ...] | None = None,
    val: FloatArray | None = None,
    whole: WholePeople | None = None,
) -> tuple[dict[str, Linked], str]:
    """The accuracy on sets of r test records of one person, for each r that test allows.

    One guess adds up: argmax_s log π_s + sum_i (log p(s | x_i) - log π_s). Records are taken as
    independent given the person, and the prior counts once. The others are those of `whole`:
    attackers trained on sets. The guess that is best on val counts; val has the scores log p of its
    records. Without `people`, an attribute with many classes is taken as the person.

    `told` is log P(s | preserved labels) of the test records; a guess from it alone, or by
    attackers trained on sets of preserved labels, gives the floor. The second result says why
    nothing was measured.
    """
    why = why_not_linked(truth, people)
    if why:
        return {}, why
    who = truth.codes if people is None else people
    label, _ = person_labels(truth.codes, who)
    sizes = set_sizes(people) if sizes is None else sizes
    found: dict[str, Linked] = {}
    for r in sizes:
        sets, owner = draw_sets(who, r, seed)
        codes = label[sets[:, 0]]
        named = np.bincount(codes) if len(sets) else np.zeros(1)
        if len(np.unique(owner)) < PEOPLE or named.max() == named.sum():
            continue
        guess, attacker = add_up(log_p, log_prior, sets).argmax(axis=1), ADDED_UP
        floor = float(named.max() / named.sum())
        if told is not None:
            added = add_up(told, log_prior, sets).argmax(axis=1)
            floor = max(floor, float((added == codes).mean()))
        learned = None if whole is None else whole.of.get(r)
        if learned is not None and val is not None:
            before, here = (
                add_up(said, log_prior, of) for said, of in ((val, learned.val_sets), (log_p, sets))
            )
            added_up = Outcome(ADDED_UP, before, here, None, None, 0.0)
            best = _best([added_up, *learned.outcomes], learned.truth)
            guess, attacker = best.test.argmax(axis=1), best.name
            if learned.told:
                kept = _best(learned.told, learned.truth).test.argmax(axis=1)
                floor = max(floor, float((kept == codes).mean()))
        accuracy, ci, least = share(guess == codes, owner)
        # Sets share records, so they are not independent. The mean over all sets is only as
        # certain as the mean over disjoint ones (Hoeffding), and there are few of those.
        apart = int((np.unique(who, return_counts=True)[1] // r).sum())
        ci = hull(ci, wilson(accuracy * apart, apart))
        least = min(least, wilson(accuracy * apart, apart, z=Z_995)[0])
        found[str(r)] = Linked(
            records=r,
            people=len(np.unique(owner)),
            floor=floor,
            accuracy=accuracy,
            ci=ci,
            least=least,
            attacker=attacker,
            learned=learned is not None,
        )
    few = (
        f"fewer than {PEOPLE} people have {sizes[0]} records in the test part, or all have one"
        " class"
    )
    return found, "" if found else few


def read_own(found: OwnScores | None) -> Linked | None:
    """The accuracy on records among those of their person, or on people by their number."""
    if found is None:
        return None
    codes, best = found.test.codes, _best(found.outcomes, found.val)
    floor = found.test.majority
    if found.told:
        kept = _best(found.told, found.val).test.argmax(axis=1)
        floor = max(floor, float((kept == codes).mean()))
    accuracy, ci, least = share(best.test.argmax(axis=1) == codes, found.units)
    return Linked(
        records=found.records,
        people=len(np.unique(found.units)),
        floor=floor,
        accuracy=accuracy,
        ci=ci,
        least=least,
        attacker=best.name,
        learned=True,
    )


def _best(outcomes: Iterable[Outcome], truth: Attribute) -> Reading:
    """The outcome, or the ensemble of three, that is right most often on val."""
    return choose([Reading.of(o, truth) for o in outcomes], truth)[0].best
