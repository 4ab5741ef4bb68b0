"""The best guesses of an attribute from other labels, counted on the rows at hand."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from withhold.audit.recount import Codes
from withhold.records.attribute import Attribute
from withhold.records.combined import combined
from withhold.records.feasibility import contingency


def floor_of(attribute: Attribute, given: Sequence[Attribute]) -> float:
    """The best guess for all labelled rows from the preserved labels alone, without the codes."""
    known = attribute.codes >= 0
    n = max(int(known.sum()), 1)
    s = attribute.codes[known]
    majority = float(np.bincount(s, minlength=1).max() / n)
    if not given:
        return majority
    told = np.column_stack([a.codes[known] for a in given])  # multi-label: several columns
    table = contingency(combined(told), s)
    return max(majority, float(table.max(axis=1).sum() / n))


def with_preserved(attribute: Attribute, codes: Codes, given: Sequence[Attribute]) -> float:
    """The best guess from one row and its preserved labels: sum_ju max_s c_sju / n."""
    code = Attribute("code", "categorical", tuple(map(str, range(int(codes.max()) + 1))), codes)
    return floor_of(attribute, [code, *given])
