"""What the methods that train one network against terms must keep. Their tests inherit it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import torch

from support import Interrupted, Recorder, key_of, mixed
from withhold.actions.fit import fit_bundle
from withhold.bundle.bundle import Bundle
from withhold.methods import Channel, Journal, Modifier
from withhold.methods.modifier import FloatArray
from withhold.records.dataset import Dataset
from withhold.records.roles import Roles


class QuickFit:
    """A method with settings that make it quick, and roles; call it to fit."""

    def __init__(
        self,
        method: str,
        config: dict[str, Any],
        suppress: str = "secret",
        preserve: str = "colour",
    ) -> None:
        self.method, self.config, self.suppress, self.preserve = method, config, suppress, preserve

    def __call__(
        self,
        dataset: Dataset | None = None,
        suppress: str | None = None,
        preserve: str | None = None,
        *,
        seed: int = 0,
        progress: Recorder | None = None,
        folder: Path | None = None,
        **config: Any,
    ) -> Bundle:
        return fit_bundle(
            mixed() if dataset is None else dataset,
            Roles.of(
                self.suppress if suppress is None else suppress,
                self.preserve if preserve is None else preserve,
            ),
            method=self.method,
            config=self.config | config,
            seed=seed,
            key=key_of(seed),
            progress=progress,
            journal=Journal(folder),
        )


def weights(bundle: Bundle) -> bytes:
    return b"".join(array.tobytes() for _, array in sorted(bundle.modifier.state().items()))


def terms(bundle: Bundle) -> set[str]:
    """The terms that the last stage was trained with; none, where no epoch of it was run."""
    return set(bundle.history[-1]) - {"stage", "epoch"}


def random_records(d: int, *, sphere: bool = False) -> FloatArray:
    """700 records (700, d) of normal features, or of unit length."""
    x = np.random.default_rng(d).standard_normal((700, d)).astype(np.float32)
    return x / np.linalg.norm(x, axis=1, keepdims=True) if sphere else x


def assert_each_record_by_itself(modifier: Modifier, x: FloatArray) -> None:
    """How records are cut into batches, and in which order they come, does not change a bit."""
    ask = [modifier.transform]
    if isinstance(modifier, Channel):
        ask += [modifier.probabilities, modifier.draw]  # type: ignore[list-item]
    order = np.random.default_rng(0).permutation(len(x))
    for of in ask:
        whole = of(x)
        np.testing.assert_array_equal(of(x[order]), whole[order])
        for size in (1, 7, 100, 513):
            some = x[: min(len(x), 40 * size)]
            pieces = [of(some[i : i + size]) for i in range(0, len(some), size)]
            np.testing.assert_array_equal(np.concatenate(pieces), whole[: len(some)])


class TrainedMethodContract:
    """Subclass it, and name the fit, its stages and what is left with every term off."""

    fit: ClassVar[QuickFit]
    stages: ClassVar[tuple[str, ...]]
    without_terms: ClassVar[set[str]] = set()

    def test_the_same_seed_gives_the_same_bytes_and_another_others(self) -> None:
        one = self.fit()
        torch.rand(3)  # the global generator has no part in it
        assert weights(self.fit()) == weights(one)
        assert weights(self.fit(seed=1)) != weights(one)

    @pytest.mark.parametrize("after", [1, 2])
    def test_interrupted_and_resumed_equals_unbroken(self, tmp_path: Path, after: int) -> None:
        whole = self.fit()
        for stage in self.stages:
            folder = tmp_path / stage
            with pytest.raises(Interrupted):
                self.fit(folder=folder, progress=Recorder(stop_in=stage, after=after))
            resumed = self.fit(folder=folder)
            assert weights(resumed) == weights(whole)
            assert resumed.history == whole.history

    def test_several_attributes_one_of_them_multilabel_in_either_role(self) -> None:
        every = {"agnostic", "secret", "tags", "colour"}
        assert terms(self.fit(suppress="secret,tags")) == every
        assert terms(self.fit(preserve="colour,tags")) == every
        assert terms(self.fit(preserve="")) == {"agnostic", "secret"}

    @pytest.mark.parametrize(
        ("off", "left"),
        [
            ({}, {"agnostic", "secret", "colour"}),
            ({"agnostic": 0}, {"secret", "colour"}),
            ({"preservation": 0}, {"agnostic", "secret"}),
            ({"suppression": 0}, {"agnostic", "colour"}),
            ({"suppression": 0, "preservation": 0, "agnostic": 0}, None),
        ],
        ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
    )
    def test_each_term_can_be_switched_off(
        self, off: dict[str, float], left: set[str] | None
    ) -> None:
        """And an attribute model that only served that term is not trained."""
        bundle = self.fit(**off)
        assert terms(bundle) == (self.without_terms if left is None else left)
        trained = {e["stage"].removeprefix("attribute ") for e in bundle.history[:-1]}
        trained.discard(bundle.history[-1]["stage"])
        if len(self.stages) > 1:
            assert trained == (left or set()) - {"agnostic"}
        else:
            assert not trained
