"""What every extractor must keep. The tests of a new one inherit this and say how it is made."""

from __future__ import annotations

import copy
import json
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from pydantic import ValidationError

from withhold.media.extractors.extractor import Extractor
from withhold.records.samples import KINDS, Clip, Picture, Sample, Sound

FloatArray = npt.NDArray[np.float32]


class ExtractorContract:
    """Subclass it, and give `make` and `samples`; both are called once a class and seed.

    `make` gives an extractor that is ready (with statistics, where it needs them).
    """

    tolerance = 1e-5

    @classmethod
    def make(cls) -> Extractor:
        """The extractor under test."""
        raise NotImplementedError

    @classmethod
    def samples(cls, n: int, seed: int) -> list[Sample]:
        """`n` samples that can be used, no two alike, of more than one size where it takes such."""
        raise NotImplementedError

    @classmethod
    @cache
    def extractor(cls) -> Extractor:
        return cls.make()

    @classmethod
    def features(
        cls, samples: list[Sample], extractor: Extractor | None = None, *, batch: int | None = None
    ) -> FloatArray:
        """Features as a run makes them."""
        extractor = extractor or cls.extractor()
        prepared = [extractor.prepare(sample) for sample in samples]
        step = batch or len(prepared)
        raw = [extractor.forward(prepared[i : i + step]) for i in range(0, len(prepared), step)]
        return extractor.finish(np.concatenate(raw))

    @classmethod
    @cache
    def known(cls) -> tuple[list[Sample], FloatArray]:
        samples = cls.samples(5, 1)
        return samples, cls.features(samples)

    # --- what comes out -----------------------------------------------------------------------

    def test_it_says_what_it_is(self) -> None:
        extractor = self.extractor()
        assert extractor.kind in KINDS
        for word in (extractor.name, extractor.takes, extractor.source, extractor.licence):
            assert word.strip()
        assert extractor.batch >= 1

    def test_features_are_finite_float32_of_the_dimension(self) -> None:
        samples, x = self.known()
        assert x.shape == (len(samples), self.extractor().dimension)
        assert x.dtype == np.float32
        assert np.isfinite(x).all()

    def test_different_samples_give_different_features(self) -> None:
        _, x = self.known()
        for i in range(len(x)):
            for j in range(i):
                assert np.abs(x[i] - x[j]).max() > 10 * self.tolerance

    # --- on what it may not depend ------------------------------------------------------------

    def test_the_same_sample_gives_the_same_features(self) -> None:
        samples, x = self.known()
        np.testing.assert_array_equal(self.features(samples), x)

    def test_features_do_not_depend_on_the_rest_of_the_batch(self) -> None:
        samples, x = self.known()
        np.testing.assert_allclose(self.features(samples, batch=1), x, atol=self.tolerance)
        others = self.features([*self.samples(2, 2), *samples])
        np.testing.assert_allclose(others[2:], x, atol=self.tolerance)

    def test_features_do_not_depend_on_the_order(self) -> None:
        samples, x = self.known()
        np.testing.assert_allclose(self.features(samples[::-1])[::-1], x, atol=self.tolerance)

    def test_preparing_in_threads_changes_nothing(self) -> None:
        samples, _ = self.known()
        extractor = self.make()
        with ThreadPoolExecutor(4) as pool:
            several = list(pool.map(extractor.prepare, samples * 4))
        serial = [self.extractor().prepare(sample) for sample in samples]
        for i, prepared in enumerate(several):
            np.testing.assert_array_equal(prepared, serial[i % len(serial)])

    def test_preparing_leaves_the_sample_as_it_was(self) -> None:
        for sample in self.samples(2, 3):
            before = copy.deepcopy(sample)
            self.features([sample])
            np.testing.assert_array_equal(_values(sample), _values(before))

    def test_forward_leaves_its_input_as_it_was(self) -> None:
        prepared = [self.extractor().prepare(sample) for sample in self.samples(2, 3)]
        before = [p.copy() for p in prepared]
        self.extractor().forward(prepared)
        for now, then in zip(prepared, before, strict=True):
            np.testing.assert_array_equal(now, then)

    # --- saving -------------------------------------------------------------------------------

    def test_its_state_is_json_and_makes_it_again(self) -> None:
        samples, x = self.known()
        state = self.extractor().state()
        again = type(self.extractor()).from_state(json.loads(json.dumps(state)))
        assert again.state() == state
        assert again.dimension == self.extractor().dimension
        np.testing.assert_array_equal(self.features(samples, again), x)

    def test_the_fingerprint_is_stable(self) -> None:
        assert self.make().fingerprint == self.extractor().fingerprint

    def test_a_setting_that_it_does_not_have_is_refused(self) -> None:
        with pytest.raises(ValidationError):
            type(self.extractor()).config_type.model_validate({"no_such_setting": 1})


def _values(sample: Sample) -> Any:
    if isinstance(sample, Picture):
        return sample.pixels
    if isinstance(sample, Sound):
        return sample.samples
    return sample.frames if isinstance(sample, Clip) else sample
