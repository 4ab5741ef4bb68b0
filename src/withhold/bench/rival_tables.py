"""Releases of a mixed table by several tools, each as its user would make it.

`leace` and fairlearn's `CorrelationRemover` work on numbers: they get the columns encoded (numbers
scaled, categories as indicators), without the secret and without the label of the task, which stays
beside them as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from withhold.actions.fit import fit_bundle
from withhold.bench.gaussian_copula import synthetic_table
from withhold.bench.rivals import missing
from withhold.core.errors import UserError, did_you_mean, listing
from withhold.core.progress import Progress
from withhold.records.attribute import Attribute
from withhold.records.dataset import Dataset
from withhold.records.readers import open_source
from withhold.records.roles import Roles
from withhold.records.splits import SPLIT
from withhold.records.table_features import encode_table, with_encoder
from withhold.release.released_dataset import release_dataset

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class TableCase:
    """The table to release, originals to test on, the secret, and the label of the task."""

    data: Dataset
    test: Dataset
    secret: str
    label: str
    config: dict[str, Any]
    progress: Progress


@dataclass(frozen=True, eq=False)
class TableRelease:
    """What left. `rows`: the original row of each row, None where there is none.

    secret: the secret of each row; test: the originals to test on, in the form of the release;
    alike: whether it has the columns of the original; bound: what is proved about one row.
    """

    table: pa.Table
    rows: IntArray | None
    secret: Attribute
    test: pa.Table
    alike: bool = True
    bound: float | None = None


def release_table(case: TableCase, tool: str, *, seed: int) -> TableRelease:
    """The release by one of `TOOLS`."""
    if tool not in TOOLS:
        raise UserError(
            f"there is no tool '{tool}' to release a table{did_you_mean(tool, TOOLS)} (tools:"
            f" {listing(TOOLS)})"
        )
    return TOOLS[tool](case, seed)


def _identity(case: TableCase, seed: int) -> TableRelease:
    del seed
    rows = np.arange(len(case.data))
    secret = case.data.attribute(case.secret)
    return TableRelease(case.data.table, rows, secret, case.test.table)


def _drop(case: TableCase, seed: int) -> TableRelease:
    whole = _identity(case, seed)
    return TableRelease(
        whole.table.drop_columns([case.secret]), whole.rows, whole.secret, whole.test
    )


def _exact(case: TableCase, seed: int) -> TableRelease:
    bundle = fit_bundle(
        case.data,
        Roles.of(case.secret),
        method="exact",
        config=case.config,
        seed=seed,
        key=bytes([seed]) * 32,
        progress=case.progress,
    )
    released = release_dataset(bundle, case.data)
    assert released.certificate is not None
    claim = released.certificate.attributes[case.secret].release
    assert claim is not None
    rows = released.original_rows
    secret = case.data.attribute(case.secret).rows(rows)
    return TableRelease(released.table, rows, secret, case.test.table, bound=claim.stated)


def _copula(case: TableCase, seed: int) -> TableRelease:
    """Rows that are nobody's. Their secret is made as well, and does not leave."""
    made = synthetic_table(case.data.table, len(case.data), seed=seed)
    own = Dataset.of_table(open_source(made)).attribute(case.secret)
    return TableRelease(made.drop_columns([case.secret]), None, own, case.test.table)


def _leace(case: TableCase, seed: int) -> TableRelease:
    def erase(x: FloatArray, secret: Attribute) -> FloatArray:
        labels = {secret.name: [secret.classes[c] for c in secret.codes]}
        whole = labels | {SPLIT: ["train"] * len(x)}  # all records leave, so all are fitted
        data = Dataset.from_arrays(x, whole, name=case.data.name)
        made = fit_bundle(data, Roles.of(secret.name), method="leace", seed=seed)
        return np.asarray(made.modifier.transform(x), np.float32)

    return _encoded(case, erase)


def _correlation_remover(case: TableCase, seed: int) -> TableRelease:
    del seed
    try:
        from fairlearn.preprocessing import CorrelationRemover
    except ImportError as error:
        raise missing("fairlearn", "a release by CorrelationRemover") from error

    def erase(x: FloatArray, secret: Attribute) -> FloatArray:
        dummies = np.eye(len(secret.classes))[secret.codes][:, 1:]
        ids = list(range(dummies.shape[1]))
        remover = CorrelationRemover(sensitive_feature_ids=ids, alpha=1.0)
        return np.asarray(remover.fit_transform(np.column_stack([dummies, x])), np.float32)

    return _encoded(case, erase)


def _encoded(case: TableCase, erase: Callable[[FloatArray, Attribute], FloatArray]) -> TableRelease:
    """A release of encoded columns with the label of the task beside them."""
    made = encode_table(case.data, [case.secret, case.label], progress=case.progress)
    assert made.encoder is not None
    x, secret = np.ascontiguousarray(made.x), case.data.attribute(case.secret)
    if (secret.codes < 0).any():
        raise UserError(f"'{case.secret}' has missing labels, which these tools do not take")
    test = with_encoder(case.test, made.encoder).x
    tables = [
        pa.table(
            {f"f_{i:03d}": pa.array(values[:, i]) for i in range(values.shape[1])}
            | {case.label: of.table[case.label]}
        )
        for values, of in ((erase(x, secret), case.data), (test, case.test))
    ]
    return TableRelease(tables[0], np.arange(len(x)), secret, tables[1], alike=False)


TOOLS: dict[str, Callable[[TableCase, int], TableRelease]] = {
    "identity": _identity,
    "drop": _drop,
    "leace": _leace,
    "correlation-remover": _correlation_remover,
    "gaussian-copula": _copula,
    "exact": _exact,
}
