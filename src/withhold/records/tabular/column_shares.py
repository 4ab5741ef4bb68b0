"""For each code, the distribution of one column over the code's members."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from withhold.records.tabular.rank_segments import Segments, between, rank_segments

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
MOST_RANGES = 256  # ranges of the whole table


@dataclass(frozen=True)
class Members:
    """Who belongs to which code. codes: (n,) in 0..number-1; people: (n,) in 0..p-1, or None if
    every record is of another person."""

    codes: Ints
    people: Ints | None
    number: int
    least: int

    def holding(self, value: Ints, rows: Ints, *, values: int) -> Ints:
        """How many people hold each value, (values,). value: (m,), of the records rows: (m,)."""
        if self.people is not None:
            span = int(self.people.max(initial=0)) + 1
            # `np.unique` without counts hashes, which is 30 times slower than sorting.
            pair = np.sort(value * span + self.people[rows])
            value = pair[np.diff(pair, prepend=-1) != 0] // span
        return np.bincount(value, minlength=values)

    @property
    def most_segments(self) -> int:
        """Segments of one code and column, so that all codes together stay small."""
        return int(np.clip(200_000 // max(self.number, 1), 16, 256))


@dataclass(frozen=True)
class ColumnShares:
    """The distributions of one column, laid end to end: code c fills the interval [c, c + 1).

    start: (codes + 1,), the first segment of each code; end: (s,), where each segment ends; low and
    high: (s,), its values, NaN if missing. The last code is the whole table.
    """

    start: Ints
    end: Floats
    low: Floats
    high: Floats

    def draw(self, codes: Ints, uniforms: Floats) -> Floats:
        """The quantile of each code at its uniform in [0, 1); NaN is missing. Both: (m,)."""
        target = codes + uniforms
        first = self.start[codes]
        piece = np.searchsorted(self.end, target, side="right")
        piece = np.clip(piece, first, self.start[codes + 1] - 1)
        begin = np.where(piece == first, codes, self.end[np.maximum(piece - 1, 0)])
        length = self.end[piece] - begin
        share = np.divide(target - begin, length, out=np.zeros(len(codes)), where=length > 0)
        return between(self.low[piece], self.high[piece], np.clip(share, 0.0, 1.0))


def shares_of_values(
    place: Ints, members: Members, *, allowed: npt.NDArray[np.bool_]
) -> ColumnShares:
    """Shares of the allowed values. place: (n,) in 0..values-1, or negative for missing.

    The records of other values count for the allowed values of their code, in proportion; if there
    are none, they count as missing.
    """
    rows = np.flatnonzero(place >= 0)
    kept = rows[allowed[place[rows]]]
    levels = np.arange(len(allowed), dtype=np.float64)
    made = _points(members.codes[kept], place[kept], levels)
    whole = _points(np.full(len(kept), members.number), place[kept], levels)
    return _laid_out(made + whole, rows, members)


def shares_of_numbers(x: Floats, members: Members) -> ColumnShares:
    """Distributions of numbers. x: (n,), NaN for missing.

    - A number that at least `least` people of the table share is drawn as it is.
    - The other numbers of a code, if at least `least` of its people have some, are drawn from their
      quantile function (`rank_segments`).
    - If fewer have, each is drawn from the range of the table that it lies in; the ranges divide
      the numbers of all people, with at least `least` people to a range.
    """
    rows = np.flatnonzero(~np.isnan(x))
    levels, place = np.unique(x[rows], return_inverse=True)
    place = place.reshape(-1).astype(np.int64)
    shared = members.holding(place, rows, values=len(levels)) >= members.least
    is_shared = shared[place]
    whole = np.full(len(rows), members.number)
    made = _points(members.codes[rows][is_shared], place[is_shared], levels)
    made += _points(whole[is_shared], place[is_shared], levels)
    rest, place = rows[~is_shared], place[~is_shared]
    codes, whole = members.codes[rest], whole[~is_shared]
    people = None if members.people is None else members.people[rest]
    table = _one_per_person(whole, place, people, levels)
    if len(table.value) >= members.least:  # otherwise too few people have numbers of their own
        each = _one_per_person(codes, place, people, levels)
        enough = np.bincount(each.code, minlength=members.number + 1) >= members.least
        most = members.most_segments
        made += _quantiles(table, whole, members=members, most=MOST_RANGES)
        made += _quantiles(each.of(enough), codes, members=members, most=most)
        few = ~enough[codes]
        made += _in_ranges(codes[few], levels[place[few]], table.value, least=members.least)
    return _laid_out(made, rows, members)


@dataclass(frozen=True)
class _PerPerson:
    """One number of each person in each code, sorted by code and value. code, value: (m,).

    People of a code who share a number count once: between two equal numbers nothing else could be
    drawn, and a number that fewer than `least` people hold must not leave as it is.
    """

    code: Ints
    value: Floats

    def of(self, chosen: npt.NDArray[np.bool_]) -> _PerPerson:
        """Only the codes that are chosen."""
        kept = chosen[self.code]
        return _PerPerson(self.code[kept], self.value[kept])


def _points(code: Ints, place: Ints, levels: Floats) -> Segments:
    key, count = np.unique(code * len(levels) + place, return_counts=True)
    value = levels[key % max(len(levels), 1)]
    return Segments(key // max(len(levels), 1), count.astype(np.float64), value, value)


def _quantiles(each: _PerPerson, codes: Ints, *, members: Members, most: int) -> Segments:
    """Quantile functions, weighted by the records of each code. codes: (n,), of the records."""
    weight = np.bincount(codes, minlength=members.number + 1).astype(np.float64)
    return rank_segments(each.value, each.code, weight=weight, least=members.least, most=most)


def _in_ranges(codes: Ints, x: Floats, values: Floats, *, least: int) -> Segments:
    """The range of the table that each record lies in. values: one of each person, sorted."""
    one_code = np.zeros(len(values), dtype=np.int64)
    table = rank_segments(
        values, one_code, weight=np.ones(1), least=least, most=MOST_RANGES, apart=least
    )
    ranges = len(table.low)
    inside = np.searchsorted(table.high[:-1], x)
    key, count = np.unique(codes * ranges + inside, return_counts=True)
    piece = key % ranges
    return Segments(key // ranges, count.astype(np.float64), table.low[piece], table.high[piece])


def _one_per_person(code: Ints, place: Ints, people: Ints | None, levels: Floats) -> _PerPerson:
    """The middle record of each person in each code. place: (n,), of each value in `levels`."""
    # Sorting one integer key is several times faster than sorting by two or three columns.
    count = max(len(levels), 1)
    if people is not None:
        span = int(people.max(initial=0)) + 1
        groups, group = np.unique(code * span + people, return_inverse=True)
        key = np.sort(group.reshape(-1) * count + place)
        start = np.searchsorted(key, np.arange(len(groups) + 1) * count)
        middle = (start[:-1] + start[1:] - 1) // 2
        code, place = groups // span, key[middle] % count
    key = np.sort(code * count + place)
    key = key[np.diff(key, prepend=-1) != 0]
    return _PerPerson(key // count, levels[key % count])


def _laid_out(made: Segments, rows: Ints, members: Members) -> ColumnShares:
    """Normalise the segments of each code; rows: the records that have a value.

    That a value is missing is a value too: if fewer than `least` people lack one, their records
    count for the values of their code.
    """
    codes = members.number + 1
    records = np.bincount(members.codes, minlength=codes).astype(np.float64)
    known = np.bincount(members.codes[rows], minlength=codes).astype(np.float64)
    records[-1], known[-1] = len(members.codes), len(rows)
    if _few_lack_a_value(rows, members):
        known = records
    told = np.bincount(made.code, made.weight, minlength=codes)
    # A code without any value that may leave has only missing ones, an empty code as well.
    missing = np.where(told > 0, records - known, np.maximum(records, 1.0))
    scale = np.divide(known, told, out=np.zeros(codes), where=told > 0)
    empty = np.flatnonzero(missing > 0)
    none = np.full(len(empty), np.nan)
    every = Segments(made.code, made.weight * scale[made.code], made.low, made.high)
    every += Segments(empty, missing[empty], none, none)
    order = np.lexsort((every.low, every.code))  # NaN comes last
    code, weight = every.code[order], every.weight[order]
    start = np.searchsorted(code, np.arange(codes + 1))
    upto = np.append(0.0, np.cumsum(weight))
    before, total = upto[start[:-1]], upto[start[1:]] - upto[start[:-1]]
    end = code + (upto[1:] - before[code]) / total[code]
    end[start[1:] - 1] = np.arange(1, codes + 1)  # exactly, without rounding errors
    return ColumnShares(start, end, every.low[order], every.high[order])


def _few_lack_a_value(rows: Ints, members: Members) -> bool:
    gone = np.delete(np.arange(len(members.codes)), rows)
    return int(members.holding(np.zeros(len(gone), np.int64), gone, values=1)[0]) < members.least
