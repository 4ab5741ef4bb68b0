"""Compare what a certificate says of the plan of an exact release with the codes that were drawn.

The plan is not in the release, so its figures cannot be counted again. But every row drew its code
by itself, so the counts c_suj of class s, preserved value u and code j lie near their means M_suj.
Figures that the drawn counts contradict are refused: each test below refuses an honest certificate
with a probability of about one in a million. Where people drew one code for several rows, these
tests are made on one row for each draw.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log, sqrt

import numpy as np
import numpy.typing as npt
from scipy.special import chdtrc, chdtri, gammaln

from withhold.audit.person_check import check_people
from withhold.audit.recount import Codes
from withhold.certificate.claims import PersonClaim, PlanClaim
from withhold.certificate.linked_bound import SIZES
from withhold.core.errors import UserError
from withhold.records.attribute import Attribute

Counts = npt.NDArray[np.int64]

_CHANCE = 1e-6  # of refusing an honest certificate
_SUMS = 1e-5  # the plan is summed in single precision
_EXPECTED = 10  # rows expected in a pooled cell, for the chi-square distribution to hold
_CLASS = 40  # rows of a class; smaller ones are pooled
_AGAIN = "; it was changed, or belongs to another release: make the release again"


def check_plan(
    plan: PlanClaim,
    attribute: Attribute,
    codes: Codes | None,
    *,
    floor: float,
    of: int,
    told: Sequence[Attribute] | None,
    people: Codes | None = None,
    alone: bool = True,
) -> None:
    """Raise `UserError` if the labels or the drawn codes contradict the figures of the plan.

    codes: (n,), or None where the rows are not codes. floor: the best guess from `told`, the labels
    that the certificate counts as known; None if they are not all here. of: the number of codes.
    people: (n,), the person of each row, if it is known. alone: whether no other attribute is
    suppressed.
    """
    name = attribute.name
    if plan.one < floor - _SUMS:
        raise UserError(
            f"the certificate of this release says {100 * plan.one:.2f} % of '{name}' for its plan,"
            f" but the labels given here are guessed in {100 * floor:.2f} % without it{_AGAIN}"
        )
    before = plan.one
    for size in map(str, SIZES):
        if plan.linked.get(size, 0.0) < before:
            raise UserError(
                f"the certificate of this release says less of '{name}' for {size} rows of its plan"
                f" than for fewer, or nothing{_AGAIN}"
            )
        before = plan.linked[size]
    if plan.person is not None:
        _not_below_floors(plan, plan.person, attribute.name)
        if people is not None and told is not None:
            if alone:
                check_people(plan.person, attribute, people, told)
            _check_draws(plan, plan.person, attribute, codes, of=of, told=told, people=people)
        return
    if codes is None:
        return
    whole = _tables(attribute, codes, (), of)[0]
    tables = [whole] if told is None else _tables(attribute, codes, told, of)
    wrong = _above(whole, plan.one)
    if told is not None:
        wrong = wrong or _above_floor(tables, plan.one) or _unequal(tables, plan.unequal)
    if wrong:
        raise _contradicted(plan, name)


def _not_below_floors(plan: PlanClaim, person: PersonClaim, name: str) -> None:
    """More rows never tell less, and no rows tell less than their numbers alone."""
    figures = (plan.one, person.unit, person.all_rows or 1.0, person.beside or 1.0)
    floors = (0.0, person.unit_floor, person.floor or 0.0, 0.0)
    less = any(f < b - _SUMS for f, b in zip(figures, floors, strict=True))
    if less or list(figures) != sorted(figures):
        raise UserError(
            f"the certificate of this release says less of '{name}' for all rows of a"
            f" person than for fewer, or than for none{_AGAIN}"
        )


def _check_draws(
    plan: PlanClaim,
    person: PersonClaim,
    attribute: Attribute,
    codes: Codes | None,
    *,
    of: int,
    told: Sequence[Attribute],
    people: Codes,
) -> None:
    """Where people drew: more draws than stated, or draws that differ between classes.

    Rows of one person, class and value share a draw. If several attributes are suppressed, a person
    may draw several codes for rows of one class of one of them; then draws are not compared.
    """
    if codes is None:
        return
    known = np.flatnonzero(attribute.codes >= 0)
    unit = np.column_stack([people, attribute.codes, *(a.codes for a in told)])[known]
    first = np.unique(unit, axis=0, return_index=True)[1]
    drawn = len(np.unique(np.column_stack([unit, codes[known]]), axis=0))
    if drawn > person.draws:
        raise UserError(
            f"the certificate of this release says that people drew {person.draws:,} codes, but"
            f" rows of one person have different codes: there are {drawn:,} draws{_AGAIN}"
        )
    if drawn > len(first):
        return
    some = known[first]
    tables = _tables(attribute.rows(some), codes[some], [a.rows(some) for a in told], of)
    if _unequal(tables, plan.unequal):
        raise _contradicted(plan, attribute.name)


def _contradicted(plan: PlanClaim, name: str) -> UserError:
    return UserError(
        f"the certificate of this release says {100 * plan.one:.2f} % of '{name}' for its plan,"
        f" but the rows contradict it: their codes differ more between classes than by"
        f" chance{_AGAIN}"
    )


def _tables(attribute: Attribute, codes: Codes, told: Sequence[Attribute], of: int) -> list[Counts]:
    """Rows by class and code, (K, N), one table for each value of `told`."""
    known = np.flatnonzero(attribute.codes >= 0)
    value = np.zeros(len(known), np.int64)
    if told:
        values = np.column_stack([a.codes[known] for a in told])
        value = np.unique(values, axis=0, return_inverse=True)[1].reshape(-1)
    k = len(attribute.classes)
    found = []
    for u in range(int(value.max(initial=0)) + 1):
        rows = known[value == u]
        place = attribute.codes[rows] * of + codes[rows]
        found.append(np.bincount(place, minlength=k * of).reshape(k, of))
    return found


def _unequal(tables: Sequence[Counts], unequal: float) -> bool:
    """Whether classes use the codes in shares that differ by more than `unequal` and chance.

    X^2 = sum (c_sj - n_s c_j / n)^2 / (n_s c_j / n). With equal shares it is at most chi-square
    distributed: rows that draw by themselves vary no more than a multinomial. A difference of
    `unequal` adds at most sqrt(sum_sj n_s unequal^2 / b_j) to X.
    """
    square, freedom, apart = 0.0, 0, 0.0
    for counts in tables:
        table = _pooled(counts[counts.sum(axis=1) > 0], _CLASS)[0]
        size = table.sum(axis=1)
        if len(table) < 2:
            continue
        table, codes = (part.T for part in _pooled(table.T, _EXPECTED * size.sum() / size.min()))
        if table.shape[1] < 2:
            continue
        share = table.sum(axis=0) / size.sum()
        expected = size[:, None] * share
        square += float(((table - expected) ** 2 / expected).sum())
        freedom += (table.shape[0] - 1) * (table.shape[1] - 1)
        apart += float((size[:, None] * (codes * unequal) ** 2 / share).sum())
    return freedom > 0 and sqrt(square) > sqrt(float(chdtri(freedom, _CHANCE))) + sqrt(apart)


def _above_floor(tables: Sequence[Counts], one: float) -> bool:
    """Whether a class surely exceeds the commonest one in more codes than `one` allows.

    If s* is the commonest class of a value, sum_j (M_sj - M_s*j)_+ is at most what `one` is above
    the floor, in rows. So T = sum_j (c_sj - c_s*j)_+^2 / (c_sj + c_s*j) is, but for that excess,
    at most the sum of squares of the positive ones of N standard normals.
    """
    n = sum(int(t.sum()) for t in tables)
    excess = max(one * n - sum(int(t.sum(axis=1).max()) for t in tables), 0.0)
    pairs = []
    for table in tables:
        most = int(table.sum(axis=1).argmax())
        pairs += [table[[s, most]] for s in range(len(table)) if s != most and table[s].any()]
    for pair in pairs:
        both = _pooled(pair.T, 2 * _EXPECTED)[0].T
        total = both.sum(axis=0)
        if total.min(initial=0) < 2 * _EXPECTED:  # too few rows, even together
            continue
        beyond = np.clip(both[0] - both[1], 0, None)
        found = sqrt(float((beyond**2 / total).sum())) - excess / sqrt(total.min())
        if found > 0 and _positive_squares(len(total), found**2) < _CHANCE / len(pairs):
            return True
    return False


def _positive_squares(number: int, most: float) -> float:
    """P(sum of Z^2 over the positive ones of `number` standard normals Z > most)."""
    k = np.arange(1, number + 1)  # how many are positive: binomial with probability 1/2
    log_share = gammaln(number + 1) - gammaln(k + 1) - gammaln(number - k + 1) - number * log(2)
    return float((np.exp(log_share) * chdtrc(k, most)).sum())


def _above(table: Counts, one: float) -> bool:
    """Whether the best guess from the drawn codes, Z = sum_j max_s c_sj, is surely above `one`.

    E Z <= n one + sqrt((K - 1) / K N n), since the variance of a count is at most its mean (Aven
    1985, and Cauchy-Schwarz over the codes). A row moves Z by at most 1 (McDiarmid). It holds
    whatever the shares are, but finds only large differences.
    """
    n, k = int(table.sum()), int((table.sum(axis=1) > 0).sum())
    noise = sqrt((k - 1) / max(k, 1) * table.shape[1] * n) + sqrt(n * log(1 / _CHANCE) / 2)
    return float(table.max(axis=0).sum()) > n * (one + _SUMS) + noise


def _pooled(table: Counts, least: float) -> tuple[Counts, Counts]:
    """Rows of a table, smallest first, added up until each has `least`; and how many were."""
    order = np.argsort(table.sum(axis=1), kind="stable")
    sums: list[Counts] = []
    numbers: list[int] = []
    enough = True
    for row in table[order]:
        if enough:
            sums.append(row.copy())
            numbers.append(1)
        else:
            sums[-1] += row
            numbers[-1] += 1
        enough = bool(sums[-1].sum() >= least)
    if not enough and len(sums) > 1:
        last, number = sums.pop(), numbers.pop()
        sums[-1] += last
        numbers[-1] += number
    return np.stack(sums), np.array(numbers, np.int64)
