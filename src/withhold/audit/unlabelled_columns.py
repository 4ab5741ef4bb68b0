"""Columns of a release that an attack on the labelled records does not fully cover."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from withhold.audit.attack_plan import Question
from withhold.audit.split import Rows
from withhold.records.columns.column_encoding import EncodedColumn
from withhold.records.columns.unlabelled import why_not_covered


def not_covered(
    encoded: Mapping[str, EncodedColumn], rows: Rows, questions: Sequence[Question], *, seed: int
) -> dict[str, str]:
    """Why an attack on the labelled records says nothing about the others: {column: reason}.

    encoded: the columns for `rows` of the paired records.
    """
    found: dict[str, str] = {}
    for question in questions:
        attribute = question.attribute.rows(rows)
        for name, one in encoded.items():
            why = None if name in found else why_not_covered(one, attribute, seed=seed)
            if why is not None:
                fact = why.removeprefix("could not be checked: ")
                found[name] = f"attacked on labelled rows only; {fact}"
    return found
