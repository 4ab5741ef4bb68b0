"""A channel whose probabilities are a table, and bundles and data made by hand around it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from withhold.bundle.bundle import Bundle, describe
from withhold.bundle.fit_membership import FitMembership
from withhold.methods.channel import Channel
from withhold.methods.features.method_config import NoConfig
from withhold.methods.modifier import FloatArray, Labels, State
from withhold.records.dataset import Dataset
from withhold.records.roles import Roles

KEY = b"a key for tests"


class TableChannel(Channel):
    """The first feature is the type of the record: W(. | t) is a row of `table`, (T, N)."""

    method = "constant"

    def __init__(self, table: npt.ArrayLike, d: int = 2, needs: tuple[str, ...] = ()) -> None:
        self.table = np.asarray(table, np.float32)
        n = self.table.shape[1]
        self.codes = np.arange(n * d, dtype=np.float32).reshape(n, d)
        self.key, self.wanted = KEY, needs
        self.asked: list[dict[str, Any]] = []

    @property
    def needs(self) -> tuple[str, ...]:
        return self.wanted

    def _probabilities(self, x: FloatArray, labels: Labels) -> FloatArray:
        self.asked.append({name: (a.classes, a.codes) for name, a in labels.items()})
        return self.table[x[:, 0].astype(int)]

    def state(self) -> State:
        return {"codes": self.codes}

    @classmethod
    def from_state(cls, state: State, settings: dict[str, Any], key: bytes) -> TableChannel:
        raise NotImplementedError


def data(
    types: npt.ArrayLike, *, group: str | None = None, first: int = 0, **columns: Any
) -> Dataset:
    """Records of these types, told apart by their second feature, which counts from `first`."""
    t = np.asarray(types)
    x = np.column_stack([t, first + np.arange(len(t))]).astype(np.float32)
    return Dataset.from_arrays(x, columns, group=group, name="new.parquet")


def bundle(
    channel: Channel,
    *,
    suppress: str = "secret",
    preserve: str = "",
    fitted: Dataset | None = None,
) -> Bundle:
    """The bundle of a fit on all of `fitted`, by default on records that occur nowhere else."""
    if fitted is None:
        names = Roles.of(suppress, preserve).named
        fitted = data(np.zeros(8), first=-100, **{n: ["a", "b"] * 4 for n in names})
    made = describe(channel, fitted, Roles.of(suppress, preserve), NoConfig(), seed=0, history=[])
    return replace(made, membership=FitMembership.of(fitted, channel.key))


def with_split(dataset: Dataset, parts: list[str]) -> Dataset:
    return dataset.with_column("split", pa.array(parts))
