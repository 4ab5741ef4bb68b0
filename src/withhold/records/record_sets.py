"""Sets of r records of one person: which sizes the data allow, and how sets are drawn."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from withhold.records.attribute import Attribute
from withhold.records.feasibility import contingency

Rows = npt.NDArray[np.int64]
SIZES = (5, 20, 50)
SMALL = (2, 3, 4)  # the sizes of people who have fewer records than the least of SIZES
PEOPLE = 5  # the fewest people that allow a statement about people
_SETS = 2000
AGREE = 0.98  # share of records with their person's label; one label in fifty may be a mistake
_IDENTITIES = 10  # an attribute with at least as many classes may be the identity


def why_not_linked(truth: Attribute, people: Rows | None) -> str:
    """Why sets of records of one person cannot be read together; empty if they can.

    An attribute that differs between the records of one person is read record by record, among the
    others of the person: see `differs_within`.
    """
    if truth.multilabel:
        return "an attribute of several labels per record has no linked tier"
    if people is None and len(truth.classes) < _IDENTITIES:
        return "no column says which records are of one person; name it with --group"
    if people is None:
        return ""
    if len(np.unique(people)) == len(people):
        return "nobody has several records in the test part"
    if not is_of_people(truth.codes, people):
        return "it differs between the records of one person"
    return ""


def differs_within(truth: Attribute, people: Rows | None) -> bool:
    """Whether people have records of several labels, more than single mistakes explain."""
    if truth.multilabel or people is None:
        return False
    return person_labels(truth.codes, people)[1] < AGREE


def set_sizes(people: Rows | None) -> tuple[int, ...]:
    """5, 20 and 50 records; before them the commonest number of records, if it is 2, 3 or 4.

    The commonest number is that of people with several records (people (n,), of the test part).
    """
    if people is None:
        return SIZES
    records = np.unique(people, return_counts=True)[1]
    records = records[records > 1]
    common = int(np.bincount(records).argmax()) if len(records) else 0
    return (common, *SIZES) if common in SMALL else SIZES


def draw_sets(who: Rows, r: int, seed: int) -> tuple[Rows, Rows]:
    """Sets (b, r) of records of one person, and the person of each set.

    Sets of one shuffle are disjoint; there are several shuffles. A person with more records
    gives more sets, at least one, so that classes are as common among sets as among records
    and the floor has the same meaning.
    """
    rng = np.random.default_rng([seed, 0x11, r])
    able = [np.flatnonzero(who == p) for p in np.unique(who)]
    able = [rows for rows in able if len(rows) >= r]
    sets, owner = [], []
    total = sum(len(rows) for rows in able)
    for person, rows in enumerate(able):
        fits, each = len(rows) // r, max(round(_SETS * len(rows) / total), 1)
        shuffles = [rng.permutation(rows)[: fits * r] for _ in range(-(-each // fits))]
        sets.append(np.concatenate(shuffles).reshape(-1, r)[:each])
        owner += [person] * each
    if not sets:
        return np.zeros((0, r), np.int64), np.zeros(0, np.int64)
    return np.concatenate(sets), np.asarray(owner, np.int64)


def add_up(
    log_p: npt.NDArray[np.float32], log_prior: npt.NDArray[np.float32], sets: Rows
) -> npt.NDArray[np.float32]:
    """Scores (b, k) of each set if records, with log_p (n, k), are independent given the person."""
    evidence = log_p - log_prior
    pieces = np.array_split(sets, max(len(sets) // 256, 1))
    return np.concatenate([evidence[p].sum(axis=1) + log_prior for p in pieces])


def person_labels(codes: Rows, people: Rows) -> tuple[Rows, float]:
    """The commonest label of each record's person, and the share of records that have it."""
    _, member = np.unique(people, return_inverse=True)
    label = contingency(member, codes).argmax(axis=1)[member]
    return label, float((label == codes).mean())


def is_of_people(codes: Rows, people: Rows) -> bool:
    """Whether an attribute is one of people, with mistakes, and not one of single records.

    It is if the other records of a person name the label of a record clearly better than guessing:
    a third of what guessing leaves. People with one record say nothing.
    """
    known = np.flatnonzero(codes >= 0)
    names, member = np.unique(people[known], return_inverse=True)
    own, classes = codes[known], np.int64(codes.max(initial=0) + 1)
    pairs, place, count = np.unique(
        member.reshape(-1) * classes + own, return_inverse=True, return_counts=True
    )
    whose, mine = pairs // classes, count[place.reshape(-1)]
    first, second = _two_highest(whose, count, len(names))
    others = np.where(mine == first[member], second[member], first[member])
    # Of labels that are as common among the other records, one is guessed.
    steps = np.int64(count.max(initial=0) + 1)
    values, alike = np.unique(whose * steps + count, return_counts=True)
    wanted = member.reshape(-1) * steps + mine - 1
    at = np.minimum(np.searchsorted(values, wanted), len(values) - 1)
    ties = np.where(values[at] == wanted, alike[at], 0)
    several = np.bincount(whose, count, len(names))[member] > 1
    right = np.where(mine - 1 >= others, 1 / (1 + np.where(mine - 1 == others, ties, 0)), 0.0)
    if not several.any():
        return False
    right, guess = right[several], np.bincount(own[several]).max() / int(several.sum())
    return bool(right.mean() >= guess + (1 - guess) / 3)


def _two_highest(whose: Rows, count: Rows, people: int) -> tuple[Rows, Rows]:
    """The two highest counts of each person (p,), 0 for the second if there is only one."""
    order = np.lexsort((-count, whose))
    starts = np.searchsorted(whose[order], np.arange(people))
    sizes = np.bincount(whose, minlength=people)
    first = count[order][starts]
    second = count[order][np.minimum(starts + 1, len(order) - 1)]
    return first, np.where(sizes > 1, second, 0)
