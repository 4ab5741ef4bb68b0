"""Measure what the columns of a table reveal about the suppressed attributes."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from withhold.records.attribute import Attribute
from withhold.records.columns.beside import tells_beside
from withhold.records.columns.column_encoding import EncodedColumn, encode_column
from withhold.records.columns.joint import tells_a_pair, with_joint
from withhold.records.columns.people_together import tells_of_people
from withhold.records.columns.rules import structural_reason, uncheckable
from withhold.records.columns.tells import LEVEL, Telling, how_well_it_tells, is_copy
from withhold.records.columns.together import columns_to_pair, tells_together
from withhold.records.columns.unlabelled import why_not_covered
from withhold.records.columns.within_people import PeopleSets
from withhold.records.plain import plain_column, plain_type

Codes = npt.NDArray[np.int64]
MOST = 20_000  # records used to measure columns
MANY = 256  # the values of a column with more of them are not remembered


@dataclass(frozen=True)
class Measured:
    """The verdict on one column: the rule, the reason, and what it reveals.

    `rule` names the reason: "harmless", "copy" of a suppressed attribute, "structure", "tells",
    "together", "unchecked" (too few labels) or "untried" (no way to check it).
    """

    rule: str
    reason: str
    told: Telling | None = None

    @property
    def harmless(self) -> bool:
        """Whether it was measured to reveal nothing."""
        return self.rule == "harmless"


def measure_columns(
    table: pa.Table,
    attributes: Sequence[Attribute],
    *,
    x: npt.NDArray[np.float32] | None = None,
    code: Codes | None = None,
    groups: Codes | None = None,
    people: Codes | None = None,
) -> dict[str, Measured]:
    """Judge each column of `table`: by its type, by what it reveals alone, and together.

    attributes: the suppressed ones, for the same records; x: (m, d) the features of the first m
    records; code: (m,) their released codes, to which no column may add information.
    With `groups`, a column is tested on other records and also on other groups, because an attacker
    may know other records of the same people. With `people`, whose records these are, a column is
    also tested on several records of one person, alone and in pairs and triples; labels that differ
    between them are guessed from a record beside the others. Several attributes are also tested
    jointly: a column may reveal neither of two, but whether they are equal.
    """
    joined = with_joint(attributes)
    whole = None if people is None else PeopleSets.of(joined, people)
    found: dict[str, Measured] = {}
    open_: dict[str, EncodedColumn] = {}
    for name in table.column_names:
        column = plain_column(table[name], one_missing=True)  # as it would leave
        reason = structural_reason(name, column, x)
        if reason is not None:
            found[name] = Measured("structure", reason)
            continue
        reason = uncheckable(column)
        if reason is not None:
            found[name] = Measured("untried", reason)
            continue
        encoded = encode_column(column)
        copied = next((a.name for a in attributes if is_copy(encoded, a)), None)
        if copied is not None:
            found[name] = Measured("copy", f"copy of '{copied}', which is suppressed")
            continue
        shown, labels, units, sets = encoded, joined, groups, whole
        if pa.types.is_nested(column.type) and x is not None and len(x) < len(encoded):
            first = np.arange(len(x))  # a sample has lists only for these records
            shown, labels = encoded.rows(first), [a.rows(first) for a in joined]
            units = None if groups is None else groups[first]
            sets = None if people is None else PeopleSets.of(labels, people[first])
        found[name] = _alone(shown, labels, units)
        if found[name].harmless and sets is not None and whole is not None:
            nobody = bool(whole.attributes) and not sets.attributes  # has several of these records
            found[name] = _unchecked() if nobody else _within_people(shown, sets) or found[name]
        if found[name].harmless:
            open_[name] = encoded
    if code is not None and len(code):
        first = np.arange(len(code))
        known = [a.rows(first) for a in joined]
        some = {n: e.rows(first) for n, e in open_.items()}
        most = columns_to_pair(some, known)
        for name, attribute in tells_beside(code, some, known, most=most).items():
            del open_[name]
            found[name] = Measured("together", f"reveals '{attribute}' together with the code")
    alone = {n: t.chance for n in open_ if (t := found[n].told) is not None}
    if len(open_) > 1:
        for name, told in tells_together(open_, joined, alone).items():
            if told is None:
                why = "could not be checked: too many columns to try them in pairs"
                found[name] = Measured("untried", why)
                del open_[name]
                continue
            del open_[name]
            found[name] = Measured(
                "together", f"{in_words(told)} together with other columns", told
            )
    if whole is not None and len(open_) > 1:
        for name, said in tells_of_people(open_, whole, alone).items():
            if isinstance(said, str):
                found[name] = Measured("untried", said)
                continue
            why = f"{in_words(said)} together with other columns in several records of one person"
            found[name] = Measured("together", why, said)
    return found


def describe_columns(
    table: pa.Table,
    attributes: Sequence[Attribute],
    *,
    x: npt.NDArray[np.float32] | None,
    groups: npt.NDArray[np.int64] | None,
    people: npt.NDArray[np.int64] | None = None,
    key: bytes,
) -> dict[str, Any]:
    """For the bundle: columns measured as harmless, columns that reveal something, all checked.

    For harmless columns with few values, the keyed digests of the values are kept with the kind.
    """
    found = {}
    if attributes:
        found = measure_columns(table, attributes, x=x, groups=groups, people=people)
    return {
        "harmless": {
            n: {"kind": kind_of(table[n].type), "values": value_digests(table[n], key)}
            for n, one in found.items()
            if one.harmless
        },
        "checked": [n for n, one in found.items() if one.rule not in ("unchecked", "untried")],
        "tells": revealed(found),
    }


def revealed(found: Mapping[str, Measured]) -> dict[str, dict[str, float]]:
    """What columns reveal alone or together: {attribute: {column: accuracy}}."""
    tells: dict[str, dict[str, float]] = {}
    for name, one in found.items():
        if one.told is not None and not one.harmless:
            tells.setdefault(one.told.attribute, {})[name] = round(one.told.accuracy, 6)
    return tells


def kind_of(kind: pa.DataType) -> str:
    """The type of a column, coarse enough to be equal in other file formats."""
    kind = plain_type(kind)
    for name in ("boolean", "integer", "floating", "temporal", "nested"):
        if getattr(pa.types, f"is_{name}")(kind):
            return name
    return "text" if "string" in str(kind) else str(kind)


def value_digests(column: pa.ChunkedArray, key: bytes) -> list[str] | None:
    """A keyed digest of each value that occurs, including missing; None if there are too many."""
    values: set[str] = set()
    for chunk in plain_column(column, one_missing=True).chunks:
        whole = pa.types.is_nested(chunk.type) or pa.types.is_interval(chunk.type)
        distinct = chunk if whole else chunk.unique()
        values |= {str(v) for v in distinct.to_pylist()}
        if len(values) > MANY:
            return None
    return sorted(
        hashlib.blake2b(v.encode(), key=key, digest_size=8, person=b"column value").hexdigest()
        for v in values
    )


def only_known_values(column: pa.ChunkedArray, known: Sequence[str] | None, key: bytes) -> bool:
    """Whether every value occurred in the fit; False if the fit did not remember them."""
    found = value_digests(column, key)
    return found is not None and known is not None and set(found) <= set(known)


def in_words(told: Telling) -> str:
    """What a column reveals, in words: "reveals 'gender' (79 % right, 52 % by guessing)"."""
    best, guess = 100 * told.accuracy, 100 * told.majority
    if told.accuracy > told.majority + 0.005:
        return f"reveals '{told.attribute}' ({best:.0f} % right, {guess:.0f} % by guessing)"
    return f"shifts the odds of '{told.attribute}' (by {told.bits:.2g} bits per record)"


def _alone(
    encoded: EncodedColumn, attributes: Sequence[Attribute], groups: Codes | None
) -> Measured:
    found: list[Telling] = []
    for attribute in attributes:
        for units in (None, groups) if groups is not None else (None,):
            told = how_well_it_tells(encoded, attribute, groups=units)
            if units is None and not told.checked:
                return Measured("unchecked", f"too few labels of '{attribute.name}' to check it")
            found.append(told)
    tells = [t for t in found if t.tells]
    if tells:
        worst = max(tells, key=lambda t: t.accuracy)
        return Measured("tells", in_words(worst), worst)
    pair = tells_a_pair(encoded, attributes, LEVEL)
    if pair is not None:
        return Measured("tells", f"reveals '{pair}' jointly")
    doubt = next((t.doubt for t in found if t.doubt), None)
    for attribute in attributes:
        doubt = doubt or why_not_covered(encoded, attribute)
    if doubt is not None:
        return Measured("unchecked", doubt)
    least = min(found, key=lambda t: t.chance, default=None)
    return Measured("harmless", "reveals nothing that could be measured", least)


def _within_people(encoded: EncodedColumn, whole: PeopleSets) -> Measured | None:
    """The verdict on the column in several records of one person; None if it reveals nothing."""
    found = whole.tells(encoded)
    tells = [t for t in found if t.tells]
    if tells:
        worst = max(tells, key=lambda t: t.accuracy)
        return Measured("tells", f"{in_words(worst)} from several records of one person", worst)
    return _unchecked() if any(t.doubt or not t.checked for t in found) else None


def _unchecked() -> Measured:
    why = "could not be checked on whole people; name it with --keep to release it as it is"
    return Measured("unchecked", why)
