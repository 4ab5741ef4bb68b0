"""How much of the other columns a code still tells: what decides between two ways to make codes.

For every column that is not suppressed: the best guess from the code is fitted on 70 % of the
records and measured on the others. A label scores (accuracy - majority) / (1 - majority), a number
scores the share of its variance that is explained. The mean over the columns, never below 0.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from withhold.core.errors import UserError
from withhold.methods.channel import IntArray
from withhold.methods.modifier import FloatArray
from withhold.records.dataset import Dataset

_MOST = 20_000  # records
_FEATURES = 64


def kept_of(dataset: Dataset, drawn: IntArray, leave_out: Sequence[str], codes: int) -> float:
    """The mean score of the columns of `dataset` for codes (n,), about 0..1.

    If no column can be scored, the features themselves are.
    """
    rng = np.random.default_rng(0)
    order = rng.permutation(len(drawn))[:_MOST]
    cut = int(0.7 * len(order))
    fitted, tested = order[:cut], order[cut:]
    found = []
    for name in dataset.attribute_names:
        if name in leave_out:
            continue
        try:
            attribute = dataset.attribute(name)
            attribute.require_label(dataset.name)
        except UserError:
            continue
        if not attribute.multilabel:
            found.append(_label(attribute.codes, drawn, fitted, tested, codes))
    if not found:
        some = rng.permutation(dataset.dimension)[:_FEATURES]
        found = [_number(dataset.x[:, i], drawn, fitted, tested, codes) for i in some]
    return float(np.mean(found)) if found else 0.0


def _label(y: IntArray, drawn: IntArray, fitted: IntArray, tested: IntArray, codes: int) -> float:
    fitted, tested = fitted[y[fitted] >= 0], tested[y[tested] >= 0]
    if not len(tested) or not len(fitted):
        return 0.0
    table = np.zeros((codes, int(y.max()) + 1))
    np.add.at(table, (drawn[fitted], y[fitted]), 1.0)
    common = int(np.bincount(y[fitted]).argmax())
    guess = np.where(table.sum(axis=1) > 0, table.argmax(axis=1), common)
    right = float((guess[drawn[tested]] == y[tested]).mean())
    majority = float((y[tested] == common).mean())
    return max((right - majority) / max(1 - majority, 1e-9), 0.0)


def _number(
    y: FloatArray, drawn: IntArray, fitted: IntArray, tested: IntArray, codes: int
) -> float:
    values: npt.NDArray[np.float64] = y.astype(np.float64)
    count = np.bincount(drawn[fitted], minlength=codes)
    mean = np.bincount(drawn[fitted], values[fitted], codes) / np.maximum(count, 1)
    mean = np.where(count > 0, mean, values[fitted].mean())
    spread = max(float(values[tested].var()), 1e-30)
    return max(1 - float(((values[tested] - mean[drawn[tested]]) ** 2).mean()) / spread, 0.0)
