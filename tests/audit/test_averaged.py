"""Predictions averaged over sources: known answers, and what an audit makes of ten windows."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit, logit, softmax

from withhold.audit.attack import Outcome
from withhold.audit.averaged import averaged, by_source, is_of_sources, mean_of_sources
from withhold.audit.split import AttackParts
from withhold.core.errors import UserError
from withhold.records.attribute import Attribute
from withhold.records.dataset import Dataset

from .audited import audit


def scores(*chances: float) -> np.ndarray:
    """Scores of two classes from the chance of the second."""
    p = np.asarray(chances)
    return np.log(np.column_stack([1 - p, p])).astype(np.float32)


def second(said: np.ndarray) -> list[float]:
    return [round(float(p), 4) for p in softmax(said, axis=1)[:, 1]]


def test_known_answers() -> None:
    """Windows of 0.9 and 0.2 make 0.55, although one of 0.4 and 0.6 make 0.5."""
    said = scores(0.9, 0.4, 0.2, 0.6, 0.3)
    found = mean_of_sources(said, np.array([7, 3, 7, 3, 0]), multilabel=False)
    assert second(found) == [0.55, 0.5, 0.55, 0.5, 0.3]
    assert found.dtype == np.float32
    # Any number may be added to the scores of a record.
    shifted = mean_of_sources(said + 50, np.array([7, 3, 7, 3, 0]), multilabel=False)
    np.testing.assert_allclose(softmax(shifted, axis=1), softmax(found, axis=1), atol=1e-5)


def test_labels_of_several() -> None:
    p = np.array([[0.9, 0.1], [0.2, 0.3], [0.5, 0.5]])
    found = mean_of_sources(logit(p).astype(np.float32), np.array([1, 1, 0]), multilabel=True)
    np.testing.assert_allclose(expit(found), [[0.55, 0.2], [0.55, 0.2], [0.5, 0.5]], atol=1e-5)


def test_who_is_sure_stays_finite() -> None:
    sure = np.float32([[1000, -1000], [1000, -1000]])
    for multilabel in (False, True):
        found = mean_of_sources(sure, np.array([0, 0]), multilabel=multilabel)
        assert np.isfinite(found).all()
        assert (found[:, 0] > found[:, 1] + 10).all()
    none = mean_of_sources(np.zeros((0, 3), np.float32), np.zeros(0, int), multilabel=False)
    assert none.shape == (0, 3)


@given(seed=st.integers(0, 500), classes=st.integers(2, 5))
def test_one_record_a_source_changes_nothing_and_order_does_not_matter(
    seed: int, classes: int
) -> None:
    rng = np.random.default_rng(seed)
    said = rng.standard_normal((12, classes)).astype(np.float32)
    alone = mean_of_sources(said, rng.permutation(12), multilabel=False)
    np.testing.assert_allclose(softmax(alone, axis=1), softmax(said, axis=1), atol=1e-5)
    sources, order = rng.integers(0, 4, 12), rng.permutation(12)
    one = mean_of_sources(said, sources, multilabel=False)
    two = mean_of_sources(said[order], sources[order], multilabel=False)
    np.testing.assert_allclose(one[order], two, atol=1e-5)


def attribute(values: list[object]) -> Attribute:
    return Dataset.from_arrays(np.zeros((len(values), 1)), {"a": values}).attribute("a")


def test_an_attribute_is_of_sources_where_none_has_two_values() -> None:
    sources = np.array([0, 0, 1, 1])
    assert is_of_sources(attribute(["x", "x", "y", "y"]), sources)
    assert is_of_sources(attribute(["x", "x", "x", "x"]), sources)
    assert is_of_sources(attribute(["x", None, "y", "y"]), sources)
    assert not is_of_sources(attribute(["x", "y", "y", "y"]), sources)
    assert is_of_sources(attribute([["p"], ["p"], ["p", "q"], ["q", "p"]]), sources)
    assert not is_of_sources(attribute([["p"], ["p", "q"], ["q"], ["q"]]), sources)


def test_each_part_has_its_own_means() -> None:
    """A source in val and in test (a split by record) must not carry answers across."""
    parts = AttackParts(np.array([0]), np.array([1, 2]), np.array([3, 4, 5]), None)
    one = Outcome("a", scores(0.9, 0.5), scores(0.1, 0.3, 0.8), scores(0.2, 0.6, 0.8), None, 1.0)
    sources = np.array([0, 0, 0, 0, 0, 1])
    [found] = averaged([one], attribute(list("xxxxxy")), parts, sources)
    assert second(found.val) == [0.7, 0.7]
    assert second(found.test) == [0.2, 0.2, 0.8]
    assert found.also is not None
    assert second(found.also) == [0.4, 0.4, 0.8]
    assert (found.name, found.seconds) == ("a", 1.0)
    [bare] = averaged([Outcome("b", one.val, one.test, None, None, 1.0)], attribute(list("xxxxxy")),
                      parts, sources)  # fmt: skip
    assert bare.also is None


def test_sources_are_the_group_unless_there_is_one() -> None:
    data = Dataset.from_arrays(np.zeros((4, 1)), {"video": list("aabb"), "who": list("xxyy")})
    assert by_source(data, "video").group == "video"
    grouped = Dataset.from_arrays(np.zeros((4, 1)), data.table, group="who")
    assert by_source(grouped, "video").group == "who"
    with pytest.raises(UserError, match=r"'vidio' is not in .*did you mean 'video'.*to average"):
        by_source(data, "vidio")


# --- an audit of windows ---

VIDEOS, WINDOWS = 240, 10
SIGNAL = 0.45


def windows(*, seed: int = 0) -> Dataset:
    """Each window tells `secret` in 67 of 100, the mean of ten in 92; `moment` is of a window."""
    rng = np.random.default_rng(seed)
    video = np.repeat(np.arange(VIDEOS), WINDOWS)
    secret = rng.integers(0, 2, VIDEOS)[video]
    moment = rng.integers(0, 2, len(video))
    x = rng.standard_normal((len(video), 3))
    x[:, 0] += SIGNAL * (2 * secret - 1)
    x[:, 1] += SIGNAL * (2 * moment - 1)
    labels = {"secret": secret, "moment": moment, "video": pa.array([f"v{v}" for v in video])}
    return Dataset.from_arrays(x.astype(np.float32), labels)


def test_ten_windows_tell_more_than_one() -> None:
    """Phi(0.45) = 0.674 of a window; Phi(0.45 sqrt(10)) = 0.923 of ten. 48 videos are tested."""
    data = windows()
    one = audit(data, None, "secret", (), hidden=("moment",))
    ten = audit(data, None, "secret", (), hidden=("moment",), average="video")
    assert one.attributes["secret"].informed.accuracy == pytest.approx(0.674, abs=0.05)
    assert ten.attributes["secret"].informed.accuracy == pytest.approx(0.923, abs=0.09)
    # What changes inside a video is left alone.
    moment = ten.attributes["moment"].informed.accuracy
    assert moment == pytest.approx(0.674, abs=0.05)
    assert "predictions are averaged over the records of one 'video'" in ten.notes
    assert not any("averaged over the records" in note for note in one.notes)


def test_intervals_count_videos_and_not_windows() -> None:
    """All windows of a video are right or wrong together: 480 of them are 48 answers."""
    ten = audit(windows(), None, "secret", (), hidden=(), average="video")
    low, high = ten.attributes["secret"].informed.ci
    p = ten.attributes["secret"].informed.accuracy
    assert (p * 48) == pytest.approx(round(p * 48), abs=1e-6)
    by_windows = 2 * 1.96 * np.sqrt(p * (1 - p) / (VIDEOS * WINDOWS / 5))
    assert high - low > 2 * by_windows


def test_a_release_is_averaged_alike() -> None:
    data = windows()
    noise = np.random.default_rng(5).standard_normal((2, *data.x.shape))
    release, again = (data.with_features((data.x + 0.1 * n).astype(np.float32)) for n in noise)
    how = {"hidden": (), "again": [again]}
    one = audit(data, release, "secret", (), **how).attributes["secret"]
    ten = audit(data, release, "secret", (), **how, average="video").attributes["secret"]
    for tier in ("original", "ignorant", "informed", "repeated"):
        assert getattr(one, tier).accuracy < 0.75, tier
        assert getattr(ten, tier).accuracy > 0.8, tier


def test_the_column_of_sources_must_be_there() -> None:
    with pytest.raises(UserError, match="nothing to average over"):
        audit(windows(), None, "secret", (), average="file")


def test_a_split_that_divides_sources_is_refused() -> None:
    """Windows of one video in train and in test: attackers would know what they are asked."""
    data = windows()
    whole = np.array(["train", "train", "train", "val", "test"])[np.arange(VIDEOS) % 5]
    by_video = pa.array(np.repeat(whole, WINDOWS).tolist())
    audit(data.with_column("split", by_video), None, "secret", (), hidden=(), average="video")
    by_window = pa.array(np.resize(whole, VIDEOS * WINDOWS).tolist())
    with pytest.raises(UserError, match="records of one 'video' into several parts"):
        audit(data.with_column("split", by_window), None, "secret", (), average="video")
