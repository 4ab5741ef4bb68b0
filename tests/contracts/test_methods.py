"""Every registered method keeps the contract."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from contracts.method_contract import MethodContract, weights, with_other_test
from support import TINY, mixed
from withhold.bundle.bundle import Bundle, load_bundle, save_bundle
from withhold.methods import method_names
from withhold.methods.features.codebook import CodebookModifier
from withhold.methods.features.exact import ExactModifier
from withhold.methods.modifier import FloatArray, Labels
from withhold.records.attribute import Attribute
from withhold.records.dataset import Dataset

# Settings that make a slow method quick; a method that is not here runs with its own.
BOOK = {"codes": 8, "hidden": [8], "epochs": 2, "rounds": 2, "least": 2, "smallest": 4}
QUICK: dict[str, dict[str, Any]] = {
    "codebook": BOOK,
    "latent-adapter": {"hidden": [8], "adversary": [8], "epochs": 2, "batch": 32, "draws": 1},
    "mass": TINY,
    "mass-it": {
        "hidden": [8], "critic": [8, 4], "epochs": 2, "batch": 32,
        "attribute_model": TINY["attribute_model"],
    },
    "pass": {"candidates": 20, "hidden": [8], "embedding": 6, "epochs": 2, "batch": 32},
    "random-substitute": {"candidates": 20},
}  # fmt: skip


def _contract(name: str) -> type[MethodContract]:
    body = {"method": name, "config": QUICK.get(name, {}), "__module__": __name__}
    return type(f"Test{name.title().replace('-', '')}", (MethodContract,), body)


# One class a method, so that a failure names it: TestMass::test_…
# `exact` is for given records and needs their labels: see TestExact.
GENERAL = [name for name in method_names("features") if name != "exact"]
globals().update({cls.__name__: cls for cls in map(_contract, GENERAL)})


class TestCodebookSubstitute(MethodContract):
    method = "codebook"
    config: ClassVar[dict[str, Any]] = BOOK | {"solver": "substitute"}


class TestCodebookBudget(MethodContract):
    method = "codebook"
    config: ClassVar[dict[str, Any]] = BOOK | {"budget": "secret<=97"}


class TestCodebookBarycentre(MethodContract):
    """It needs each record's label, which the contract does not hand over: it is looked up."""

    method = "codebook"
    config: ClassVar[dict[str, Any]] = BOOK | {"solver": "barycentre", "use_labels": True}

    @classmethod
    def dataset(cls) -> Dataset:
        """The mixed data, every record labelled."""
        data, rng = mixed(), np.random.default_rng(2)
        table = {name: data.table[name].to_pylist() for name in data.table.column_names}
        table["secret"] = [v or f"s{rng.integers(2)}" for v in table["secret"]]
        table["tags"] = [v or [] for v in table["tags"]]
        return Dataset.from_arrays(data.x, table, name=data.name)

    @classmethod
    def fit(cls, dataset: Dataset | None = None, *, seed: int = 0) -> Bundle:
        bundle = super().fit(dataset, seed=seed)
        return replace(bundle, modifier=Knowing(bundle.modifier, cls.dataset()))

    def test_saved_and_loaded_gives_the_same_bytes(self, tmp_path: Path) -> None:
        save_bundle(self.fitted(), tmp_path / "bundle")
        loaded = Knowing(load_bundle(tmp_path / "bundle").modifier, self.dataset())
        out = loaded.transform(self.x())
        np.testing.assert_array_equal(out, self.modifier().transform(self.x()))


class TestCodebookWithLabels(TestCodebookBarycentre):
    config: ClassVar[dict[str, Any]] = BOOK | {"use_labels": True}


class Knowing(CodebookModifier):
    """A modifier that finds the labels of a record in a dataset, by the record itself."""

    def __init__(self, inner: Any, data: Dataset) -> None:
        super().__init__(inner.book, inner.key, inner.needs, inner.classes)
        self.data = data
        self.row = {record.tobytes(): i for i, record in enumerate(data.x)}

    def transform(self, x: FloatArray, labels: Labels | None = None) -> FloatArray:
        rows = [self.row.get(record.astype(np.float32).tobytes()) for record in x]
        known = None not in rows
        found: dict[str, Attribute] = {
            name: self.data.attribute(name).rows(np.array(rows, np.int64))
            for name in (self.needs if known else ())
        }
        return super().transform(x, labels or found)


class KnowingExact(ExactModifier):
    """The same for `exact`."""

    def __init__(self, inner: ExactModifier, data: Dataset) -> None:
        super().__init__(
            inner.plan,
            inner.key,
            suppress=inner.suppress,
            preserve=inner.preserve,
            classes=inner.classes,
            values=inner.values,
        )
        self.data = data
        self.row = {record.tobytes(): i for i, record in enumerate(data.x)}

    def transform(self, records: FloatArray, labels: Labels | None = None) -> FloatArray:
        rows = [self.row.get(record.astype(np.float32).tobytes()) for record in records]
        found: dict[str, Attribute] = {
            name: self.data.attribute(name).rows(np.array(rows, np.int64))
            for name in (self.needs if None not in rows else ())
        }
        return super().transform(records, labels or found)


class TestExact(MethodContract):
    """It is fitted on all records that leave, and needs their labels."""

    method = "exact"
    config: ClassVar[dict[str, Any]] = {
        "codes": 4, "hidden": [8], "epochs": 2, "rounds": 1, "exact_rounds": 1, "least": 2,
        "smallest": 4,
    }  # fmt: skip

    @classmethod
    def fit(cls, dataset: Dataset | None = None, *, seed: int = 0) -> Bundle:
        bundle = super().fit(dataset, seed=seed)
        assert isinstance(bundle.modifier, ExactModifier)
        return replace(bundle, modifier=KnowingExact(bundle.modifier, cls.dataset()))

    def test_saved_and_loaded_gives_the_same_bytes(self, tmp_path: Path) -> None:
        save_bundle(self.fitted(), tmp_path / "bundle")
        found = load_bundle(tmp_path / "bundle").modifier
        assert isinstance(found, ExactModifier)
        out = KnowingExact(found, self.dataset()).transform(self.x())
        np.testing.assert_array_equal(out, self.modifier().transform(self.x()))

    def test_the_test_part_is_never_used(self) -> None:
        """The records that leave are those of the fit: another test part is another release."""
        other = with_other_test(self.dataset())
        assert weights(self.fit(other)) != weights(self.fitted())
        assert ExactModifier.of_given_records
