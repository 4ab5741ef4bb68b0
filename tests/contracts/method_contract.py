"""What every method must keep, whatever it does to the data. A new method's tests inherit it."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest

from support import Recorder, key_of, mixed
from withhold.actions.fit import fit_bundle
from withhold.bundle.bundle import Bundle, load_bundle, save_bundle
from withhold.core.errors import UserError
from withhold.methods import Modifier, get_method
from withhold.records.dataset import Dataset
from withhold.records.roles import Roles


class MethodContract:
    """Subclass it, name the method, and give settings that make it quick."""

    method: ClassVar[str]
    config: ClassVar[dict[str, Any]] = {}
    roles: ClassVar[Roles] = Roles.of("secret,tags", "colour")

    @classmethod
    def dataset(cls) -> Dataset:
        """A small mixed dataset with a split."""
        return mixed()

    @classmethod
    def fit(cls, dataset: Dataset | None = None, *, seed: int = 0) -> Bundle:
        """Fit it, through the one way in."""
        return fit_bundle(
            cls.dataset() if dataset is None else dataset,
            cls.roles,
            method=cls.method,
            config=cls.config,
            seed=seed,
            key=key_of(seed),
        )

    @classmethod
    @cache
    def fitted(cls) -> Bundle:
        """One fit that the tests that only look at it share."""
        return cls.fit()

    @classmethod
    def modifier(cls) -> Modifier:
        return cls.fitted().modifier

    @classmethod
    def x(cls) -> npt.NDArray[np.float32]:
        return cls.dataset().x

    # --- what a fit gives ---------------------------------------------------------------------

    def test_it_gives_a_modifier_of_the_right_kind_and_dimension(self) -> None:
        modifier = self.modifier()
        assert isinstance(modifier, get_method(self.method).modifier_type)
        assert modifier.method == self.method
        assert modifier.dimension == self.dataset().dimension

    def test_the_output_is_finite_float32_of_the_same_shape(self) -> None:
        out = self.modifier().transform(self.x())
        assert out.shape == self.x().shape
        assert out.dtype == np.float32
        assert np.isfinite(out).all()

    def test_double_precision_in_gives_the_same(self) -> None:
        out = self.modifier().transform(self.x().astype(np.float64))  # type: ignore[arg-type]
        assert out.dtype == np.float32
        np.testing.assert_array_equal(out, self.modifier().transform(self.x()))

    def test_no_records_give_no_records(self) -> None:
        out = self.modifier().transform(self.x()[:0])
        assert out.shape == (0, self.dataset().dimension)
        assert out.dtype == np.float32

    @pytest.mark.parametrize("features", [1, 6, 9])
    def test_another_number_of_features_is_refused_with_both_numbers(self, features: int) -> None:
        with pytest.raises(UserError, match=rf"{features} features.* 7\b"):
            self.modifier().transform(np.zeros((3, features), np.float32))

    def test_a_single_vector_is_refused(self) -> None:
        with pytest.raises(UserError, match="1-d"):
            self.modifier().transform(np.zeros(7, np.float32))

    # --- purity -------------------------------------------------------------------------------

    def test_asking_twice_gives_the_same_bytes(self) -> None:
        one, two = (self.modifier().transform(self.x()).tobytes() for _ in range(2))
        assert one == two

    def test_a_record_does_not_depend_on_its_batch_or_order(self) -> None:
        modifier, x = self.modifier(), self.x()
        whole = modifier.transform(x)
        order = np.random.default_rng(0).permutation(len(x))
        np.testing.assert_array_equal(modifier.transform(x[order]), whole[order])
        for size in (1, 7, 100):
            pieces = [modifier.transform(x[i : i + size]) for i in range(0, len(x), size)]
            np.testing.assert_array_equal(np.concatenate(pieces), whole)

    def test_the_input_is_left_as_it_was(self) -> None:
        x = self.x().copy()
        before = x.copy()
        out = self.modifier().transform(x)
        np.testing.assert_array_equal(x, before)
        assert not np.shares_memory(out, x)

    def test_an_input_that_cannot_be_written_to_or_lies_askew_is_no_problem(self) -> None:
        expected = self.modifier().transform(self.x())
        frozen = self.x().copy()
        frozen.setflags(write=False)
        np.testing.assert_array_equal(self.modifier().transform(frozen), expected)
        askew = np.asfortranarray(self.x())
        np.testing.assert_array_equal(self.modifier().transform(askew), expected)
        strided = np.repeat(self.x(), 2, axis=0)[::2]
        np.testing.assert_array_equal(self.modifier().transform(strided), expected)

    # --- bundles and seeds --------------------------------------------------------------------

    def test_saved_and_loaded_gives_the_same_bytes(self, tmp_path: Path) -> None:
        save_bundle(self.fitted(), tmp_path / "bundle")
        loaded = load_bundle(tmp_path / "bundle")
        assert loaded.method == self.method
        assert loaded.roles == self.roles
        assert loaded.config == self.fitted().config
        out = loaded.modifier.transform(self.x())
        np.testing.assert_array_equal(out, self.modifier().transform(self.x()))

    def test_saving_what_was_loaded_changes_no_byte(self, tmp_path: Path) -> None:
        save_bundle(self.fitted(), tmp_path / "one")
        save_bundle(load_bundle(tmp_path / "one"), tmp_path / "two")
        assert contents(tmp_path / "one") == contents(tmp_path / "two")

    def test_the_same_seed_and_key_give_the_same_bundle(self, tmp_path: Path) -> None:
        for name in ("one", "two"):
            save_bundle(self.fit(), tmp_path / name)
        assert contents(tmp_path / "one") == contents(tmp_path / "two")

    def test_the_settings_in_the_bundle_make_the_same_bundle(self) -> None:
        again = fit_bundle(
            self.dataset(),
            self.roles,
            method=self.method,
            config=self.fitted().config,
            key=key_of(0),
        )
        assert weights(again) == weights(self.fitted())

    # --- what it may look at ------------------------------------------------------------------

    def test_the_test_part_is_never_used(self) -> None:
        """Other features and other labels in test: the same weights."""
        data = self.dataset()
        assert weights(self.fit(with_other_test(data))) == weights(self.fitted())

    def test_hidden_attributes_are_never_used(self) -> None:
        data = self.dataset()
        more = data.with_column("hidden", pa.array([f"h{i % 4}" for i in range(len(data))]))
        assert weights(self.fit(more)) == weights(self.fitted())

    def test_it_runs_without_a_split(self) -> None:
        data = self.dataset()
        bare = Dataset.from_arrays(data.x, data.table.drop_columns(["split"]))
        out = self.fit(bare).modifier.transform(data.x)
        assert np.isfinite(out).all()

    def test_progress_is_told_nothing_beyond_the_whole(self) -> None:
        """No stage goes past its total: bars end where they should."""
        totals = _Totals()
        fit_bundle(
            self.dataset(), self.roles, method=self.method, config=self.config, progress=totals
        )
        assert totals.steps == totals.totals


class _Totals(Recorder):
    def __init__(self) -> None:
        super().__init__()
        self.totals: dict[str, int] = {}

    def stage(self, name: str, total: int | None) -> Any:
        if total is not None:
            self.totals[name] = total
        return super().stage(name, total)


def with_other_test(data: Dataset) -> Dataset:
    """The same dataset with noise for the test records' features and their labels shuffled."""
    assert data.parts is not None
    test = np.flatnonzero(data.parts == "test")
    rng = np.random.default_rng(1)
    x = data.x.copy()
    x[test] = 1e3 * rng.standard_normal((len(test), data.dimension))
    order = np.arange(len(data))
    order[test] = rng.permutation(test)
    columns = {
        name: data.table[name].take(pa.array(order)) if name != "split" else data.table[name]
        for name in data.table.column_names
    }
    assert columns["secret"].to_pylist() != data.table["secret"].to_pylist()
    return Dataset.from_arrays(x, pa.table(columns), name=data.name)


def weights(bundle: Bundle) -> dict[str, bytes]:
    return {name: array.tobytes() for name, array in bundle.modifier.state().items()}


def contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in sorted(folder.iterdir())}
