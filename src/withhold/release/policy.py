"""The release policy: which columns leave, and why the others do not.

Every way to make a release calls `decide`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from withhold.core.errors import UserError, did_you_mean
from withhold.records.attribute import Attribute
from withhold.records.columns.measure_columns import (
    Measured,
    kind_of,
    measure_columns,
    only_known_values,
    revealed,
)
from withhold.records.columns.told_apart import told_apart
from withhold.records.splits import SPLIT
from withhold.records.tables import RECORD, encode_any
from withhold.release.sample_labels import labels_of
from withhold.release.wishes import Wishes

FloatArray = npt.NDArray[np.float32]
LINKING = 0.1  # share of rows told apart by the columns kept by name, from which they are a warning


@dataclass(frozen=True)
class ColumnDecision:
    """Whether a column leaves, and why in plain words. `rule` is the reason in one word."""

    column: str
    leaves: bool
    rule: str
    reason: str


@dataclass(frozen=True)
class Decision:
    """What leaves: a decision for every column of the source, in its order."""

    columns: tuple[ColumnDecision, ...]
    tells: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    apart: float = 0.0  # share of the rows that the columns kept by name tell from all others
    people: bool = False  # whether a group is named, and people of it have several rows

    @property
    def leaving(self) -> list[str]:
        """The columns of the source that are in the release."""
        return [c.column for c in self.columns if c.leaves]

    @property
    def left_out(self) -> dict[str, str]:
        """The other columns, each with the reason."""
        return {c.column: c.reason for c in self.columns if not c.leaves}

    @property
    def kept_by_name(self) -> list[str]:
        """Columns that leave because the user asked for them. No certificate covers them."""
        return [c.column for c in self.columns if c.leaves and c.rule == "kept"]

    @property
    def linking(self) -> list[str]:
        """Columns kept by name that tell rows apart, so that they may show whose a row is."""
        return self.kept_by_name if self.apart > LINKING else []

    def whose_row(self, *, same_order: bool) -> str | None:
        """A warning if receivers may see whose a row is: then no certificate holds for them."""
        if not (self.linking or same_order):
            return None
        how = "the order of the rows" if same_order else ", ".join(self.linking)
        return (
            f"{how} may show whose a row is; for anyone who knows that, and other columns of that"
            " person, the figures of the certificate do not hold"
        )

    @property
    def unchecked_here(self) -> list[str]:
        """Columns that were only checked in the fit: these records have no labels to check them."""
        return [c.column for c in self.columns if c.leaves and c.rule == "fitted"]

    @property
    def unchecked(self) -> list[str]:
        """Columns that were left out because they could not be checked."""
        return [c.column for c in self.columns if c.rule == "unchecked"]


@dataclass(frozen=True, eq=False)
class Subject:
    """What a decision is about: a sample of the records, and what the bundle knows about them.

    schema: all columns of the source; made: those that the method makes (features or media);
    table: a sample of the other columns; x: (m, d) the original features of the first m records
    of the sample; code: (m,) their released codes, if the method has codes; harmless: columns that
    revealed nothing in the fit, with their kinds and digests of their values under `key`; tells:
    columns that revealed an attribute in the fit, with the accuracy; only_made: whether no other
    column may leave unless it is named in `keep`, as for a mixed table: what has no features there
    is an id or a person's own words.
    """

    name: str
    schema: pa.Schema
    made: tuple[str, ...]
    table: pa.Table
    suppress: tuple[str, ...]
    preserve: tuple[str, ...] = ()
    label_columns: tuple[str, ...] = ()
    group: str | None = None
    multilabel: Mapping[str, Sequence[str]] = field(default_factory=dict)
    x: FloatArray | None = None
    code: npt.NDArray[np.int64] | None = None
    harmless: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    tells: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    key: bytes = b""
    only_made: bool = False


def decide(subject: Subject, wishes: Wishes) -> Decision:
    """Decide for every column.

    - Columns that the method made leave.
    - Suppressed columns and copies of them leave only with `keep_labels`.
    - Any other column leaves if it is named in `keep`, or if a measurement on these records finds
      that it reveals nothing about any suppressed attribute, alone or together with others: neither
      in one record nor, if a group is named, in several records of one person.
    - If these records lack the labels to measure that, a column leaves if it revealed nothing in
      the fit and has only values that it had there.
    """
    names = [n for n in subject.schema.names if n != RECORD]
    for asked in (*wishes.keep, *wishes.drop):
        if asked not in {*names, RECORD}:
            raise UserError(
                f"column '{asked}' is not in {subject.name}{did_you_mean(asked, names)}"
            )
    labels = {*subject.suppress, *subject.label_columns}
    labels |= {c for s in subject.suppress for c in subject.multilabel.get(s, ())}
    found: dict[str, ColumnDecision] = {}
    for name in names:
        known = _by_name(name, name in labels, subject, wishes)
        if known is not None:
            found[name] = known
    rest = [n for n in names if n not in found or found[n].rule == "kept"]
    measured, absent, lone = _measured(subject, rest)
    for name in rest:
        said = _by_measure(name, measured.get(name), absent, subject, wishes)
        if lone and said.leaves and said.rule in ("harmless", "fitted"):
            why = f"could not be checked: no class of '{lone[0]}' has two records here"
            said = ColumnDecision(name, False, "unchecked", why)
        if subject.only_made and said.leaves and said.rule in ("harmless", "fitted"):
            why = "an id, free text, or values that cannot be made for a row; --keep overrides"
            said = ColumnDecision(name, False, "structure", why)
        if name in found and said.rule != "copy":
            continue  # kept by name
        found[name] = said
    columns = tuple(found[n] for n in names)
    kept = [c.column for c in columns if c.leaves and c.rule == "kept"]
    apart = told_apart(subject.table, kept)
    return Decision(columns, revealed(measured), apart, people=_have_several(_people(subject)))


def _by_name(name: str, is_label: bool, subject: Subject, wishes: Wishes) -> ColumnDecision | None:
    """The decision that needs no values, or None."""
    if name in subject.made:
        return ColumnDecision(name, True, "made", "made by the method")
    if name in wishes.drop:
        return ColumnDecision(name, False, "dropped", "left out on request")
    if is_label:
        if wishes.keep_labels:
            return ColumnDecision(name, True, "kept", "suppressed, kept with --keep-labels")
        if name in wishes.keep:
            raise UserError(
                f"column '{name}' is suppressed; to keep it for private work, use"
                " --keep-labels instead of --keep, with withhold transform"
            )
        return ColumnDecision(name, False, "suppressed", "suppressed")
    if name in wishes.keep:
        return ColumnDecision(name, True, "kept", "kept by name; not covered by the certificate")
    if name == subject.group:
        return ColumnDecision(name, False, "group", "group column: it names people or sources")
    if name == SPLIT:
        why = "parts of the fit: it reveals which records were fitted"
        return ColumnDecision(name, False, "split", why)
    return None


def _measured(
    subject: Subject, names: Sequence[str]
) -> tuple[dict[str, Measured], list[str], list[str]]:
    """What the sample says of the columns, and which suppressed attributes have no labels in it."""
    table = subject.table
    attributes = labels_of(subject.suppress, table, subject.multilabel, subject.name)
    usable = {n: a for n, a in attributes.items() if a.known.any()}
    absent = [n for n in subject.suppress if n not in usable]
    there = [n for n in names if n in table.column_names]
    people = _people(subject)
    found = measure_columns(
        table.select(there),
        list(usable.values()),
        x=subject.x,
        code=subject.code,
        groups=None if subject.group in subject.suppress else people,
        people=people,
    )
    lone = [n for n, a in usable.items() if not a.multilabel and _all_differ(a)]
    return found, absent, lone


def _people(subject: Subject) -> npt.NDArray[np.int64] | None:
    """Whose each record of the sample is; None if no column says so."""
    if subject.group not in subject.table.column_names:
        return None
    return encode_any(subject.table[subject.group])


def _have_several(people: npt.NDArray[np.int64] | None) -> bool:
    """Whether anybody has several records."""
    return people is not None and len(np.unique(people)) < len(people)


def _all_differ(attribute: Attribute) -> bool:
    """Whether every record has a class of its own: then no column can be measured against it."""
    codes = attribute.codes[attribute.known]
    return len(np.unique(codes)) == len(codes)


def _by_measure(
    name: str,
    measured: Measured | None,
    absent: Sequence[str],
    subject: Subject,
    wishes: Wishes,
) -> ColumnDecision:
    """The decision that depends on the values."""
    if measured is None:  # columns of bytes are not in the sample
        return ColumnDecision(name, False, "structure", "binary payload")
    if measured.rule == "copy":
        if wishes.keep_labels:
            return ColumnDecision(name, True, "kept", f"{measured.reason}; --keep-labels")
        if name in wishes.keep:
            raise UserError(
                f"column '{name}' is a {measured.reason}; to keep it for private work,"
                " use --keep-labels instead of --keep, with withhold transform"
            )
    told = next(((a, c[name]) for a, c in subject.tells.items() if name in c), None)
    if told is not None and (measured.harmless or measured.rule in ("unchecked", "untried")):
        why = f"revealed '{told[0]}' in the data of the fit ({100 * told[1]:.0f} % right)"
        return ColumnDecision(name, False, "tells", why)
    if measured.rule in ("unchecked", "untried"):
        # These records have labels, so what the fit measured does not count: the column may differ.
        return ColumnDecision(name, False, "unchecked", measured.reason)
    if not measured.harmless:
        wanted = "; it is preserved: add --keep if receivers need its labels"
        more = wanted if name in subject.preserve and measured.rule == "tells" else ""
        return ColumnDecision(name, False, measured.rule, measured.reason + more)
    if not absent:
        return ColumnDecision(name, True, "harmless", measured.reason)
    missing = ", ".join(absent)
    unlike = _unlike_the_fit(name, subject)
    if unlike is None:
        return ColumnDecision(name, True, "fitted", "revealed nothing in the data of the fit")
    why = f"could not be checked: no labels of {missing} here, and {unlike}"
    return ColumnDecision(name, False, "unchecked", why)


def _unlike_the_fit(name: str, subject: Subject) -> str | None:
    """Why the measurement of the fit does not apply to this column; None if it does."""
    fitted = subject.harmless.get(name)
    if fitted is None or fitted["kind"] != kind_of(subject.schema.field(name).type):
        return "it was not measured in the fit"
    if fitted["values"] is None:
        return "it has too many values to compare them with those of the fit"
    if not only_known_values(subject.table[name], fitted["values"], subject.key):
        return "it has values that it did not have in the fit"
    return None
