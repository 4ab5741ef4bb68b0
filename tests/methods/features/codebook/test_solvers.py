"""Three ways to learn a channel: what is hidden is hidden, what is not told stays readable."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression

from methods.features.codebook.leaking import (
    changed,
    far_apart,
    fit,
    leaking,
    made,
    probabilities,
    reads,
    same,
    use_of_codes,
)
from support import Interrupted, Recorder
from withhold.bundle.bundle import Bundle
from withhold.core.errors import UserError
from withhold.records.dataset import Dataset

WAYS: dict[str, dict[str, Any]] = {
    "self-label": {},
    "self-label, label": {"use_labels": True},
    "barycentre": {"solver": "barycentre", "use_labels": True},
    "substitute": {"solver": "substitute"},
    "substitute, label": {"solver": "substitute", "use_labels": True},
}
every_way = pytest.mark.parametrize("way", WAYS)
CHANCE = 0.2  # of five people
LUCK = 0.1  # more than three deviations of a guesser's share of 200 test records


@pytest.fixture(scope="module")
def data() -> Dataset:
    return leaking(1000)


def test_the_world_leaks_before(data: Dataset) -> None:
    train, test = data.part("train"), data.part("test")
    for name in ("who", "word"):
        attacker = LogisticRegression(max_iter=500).fit(train.x, train.attribute(name).codes)
        assert attacker.score(test.x, test.attribute(name).codes) > 0.99


@every_way
def test_who_is_at_chance_and_the_word_that_nobody_told_stays(data: Dataset, way: str) -> None:
    modifier = made(data, **WAYS[way])
    assert reads(modifier, data, "who") < CHANCE + LUCK
    assert reads(modifier, data, "word") > 0.85


@every_way
def test_content_is_kept_where_there_is_nothing_to_hide(way: str) -> None:
    """x does not depend on who, so hiding who costs nothing."""
    data = leaking(800, shift=0.0)
    modifier = made(data, **WAYS[way], epochs=25)
    assert reads(modifier, data, "who") < CHANCE + LUCK
    assert reads(modifier, data, "word") > 0.9


@every_way
def test_a_preserved_label_is_kept(data: Dataset, way: str) -> None:
    modifier = made(data, preserve="word", **WAYS[way])
    assert reads(modifier, data, "word") > 0.95
    assert reads(modifier, data, "who") < CHANCE + LUCK


@pytest.mark.parametrize("way", ["self-label, label", "barycentre", "substitute, label"])
def test_on_the_fitted_records_every_class_uses_the_codes_alike(data: Dataset, way: str) -> None:
    """J is independent of S: exact shares are the default, and the label is there to keep them."""
    train = data.part("train")
    modifier = made(data, codes=12, least=1, **WAYS[way])
    use = use_of_codes(probabilities(modifier, train), train.attribute("who").codes)
    assert far_apart(use) < 0.01


def test_classes_that_hold_words_in_unequal_shares_use_the_codes_alike_too() -> None:
    base = leaking(2000)
    who, word = base.attribute("who").codes, base.attribute("word").codes
    kept = np.random.default_rng(0).random(2000) < np.where(word == who % 4, 1.0, 0.6)
    data = base.rows(kept)
    train = data.part("train")
    modifier = made(data, codes=12, least=1, **WAYS["barycentre"])
    use = use_of_codes(probabilities(modifier, train), train.attribute("who").codes)
    assert far_apart(use) < 0.01


def test_given_the_preserved_value_the_code_tells_nothing_of_the_class() -> None:
    """Words are preserved and unequal among people: apart for each word, all use codes alike."""
    base = leaking(3000)
    who, word = base.attribute("who").codes, base.attribute("word").codes
    kept = np.random.default_rng(0).random(3000) < np.where(word == who % 4, 1.0, 0.4)
    data = base.rows(kept)
    # One network: records that it did not learn from, as with two, are not balanced exactly.
    for settings in ({"folds": 1}, {"solver": "substitute"}):
        modifier = made(data, preserve="word", **settings)
        train = data.part("train")
        w, s = probabilities(modifier, train), train.attribute("who").codes
        u = train.attribute("word").codes
        for value in range(4):
            assert far_apart(use_of_codes(w[u == value], s[u == value])) < 0.12


def test_relaxed_keeps_more_and_hides_less() -> None:
    base = leaking(2000)
    who, word = base.attribute("who").codes, base.attribute("word").codes
    data = base.rows(np.random.default_rng(0).random(2000) < np.where(word == who % 4, 1.0, 0.3))
    exact, relaxed = (
        made(data, codes=8, relax=relax, **WAYS["barycentre"]) for relax in (None, 0.05)
    )
    assert reads(relaxed, data, "word") > reads(exact, data, "word") + 0.02
    assert reads(relaxed, data, "who") > reads(exact, data, "who") + 0.05


@every_way
def test_names_of_classes_do_not_matter(data: Dataset, way: str) -> None:
    """Told by other names, in another order: the same probabilities, up to rounding."""
    turned = {"p0": "z", "p1": "b", "p2": "k", "p3": "a", "p4": "c"}
    some = data.rows(np.arange(500))
    other = changed(some, who=[turned[w] for w in some.table["who"].to_pylist()])
    settings = WAYS[way] | {"epochs": 2, "rounds": 2, "least": 1, "codes": 6}
    one, two = (probabilities(made(d, **settings), d) for d in (some, other))
    np.testing.assert_allclose(one, two, atol=0.02)


def test_the_barycentre_needs_labels() -> None:
    with pytest.raises(UserError, match="use_labels: true, or use solver: self-label"):
        fit(leaking(300), solver="barycentre")


def test_more_preserved_values_than_codes_are_said() -> None:
    data, said = leaking(600, words=7), Recorder()
    modifier = made(data, preserve="word", codes=3, progress=said, epochs=3)
    assert "7 codes are used instead of 3: there are 7 preserved values" in said.text
    assert len(modifier.codes) <= 7


def test_records_without_the_preserved_label_take_part() -> None:
    data = leaking(600)
    word = [None if i % 6 == 0 else w for i, w in enumerate(data.table["word"].to_pylist())]
    modifier = made(changed(data, word=word), preserve="word", epochs=5)
    assert np.isfinite(modifier.transform(data.x)).all()


@pytest.mark.parametrize("way", ["self-label", "barycentre", "substitute"])
@pytest.mark.parametrize("kind", ["one feature", "constant columns", "twins"])
def test_odd_features(way: str, kind: str) -> None:
    data = leaking(300, 3, 2)
    x = {
        "one feature": data.x[:, 3:4],
        "constant columns": np.column_stack([data.x, np.full(300, 1e7), np.zeros(300)]),
        "twins": np.repeat(data.x[::10], 10, axis=0),
    }[kind].astype(np.float32)
    table = {"who": data.table["who"], "split": data.table["split"]}
    odd = Dataset.from_arrays(x, table)
    modifier = made(odd, **WAYS[way] | {"epochs": 2, "least": 1, "codes": 6})
    assert np.isfinite(modifier.codes).all()
    assert np.isfinite(probabilities(modifier, odd)).all()


def test_records_that_are_all_equal_are_refused() -> None:
    """Equal records get equal codes, and one code is no codebook."""
    data = leaking(300)
    equal = Dataset.from_arrays(
        np.full((300, 4), 3.3), {n: data.table[n] for n in ("who", "split")}
    )
    with pytest.raises(UserError, match="fewer than two codes"):
        fit(equal, least=1, epochs=2)


def test_features_beyond_the_root_of_float_range() -> None:
    data = leaking(300)
    large = Dataset.from_arrays(1e25 * data.x, data.table)
    modifier = made(large, epochs=2)
    assert np.isfinite(modifier.codes).all()


# --- seeds, bytes and interruptions -------------------------------------------------------------


@every_way
def test_the_same_seed_gives_the_same_bytes_and_another_others(way: str) -> None:
    data = leaking(300)
    settings = WAYS[way] | {"epochs": 3, "codes": 6}
    one = fit(data, **settings)
    torch.rand(3)  # the global generator has no part in it
    assert same(fit(data, **settings), one)
    assert not same(fit(data, **settings, seed=1), one)


@pytest.fixture(scope="module")
def unbroken() -> dict[str, Bundle]:
    ways = ("self-label", "substitute", "substitute, label")
    return {way: fit(leaking(300), **WAYS[way], epochs=4) for way in ways}


@pytest.mark.parametrize("after", [1, 3])
@pytest.mark.parametrize(
    ("way", "stage"),
    [
        ("self-label", "barycentre"),
        ("self-label", "codebook round 1"),
        ("self-label", "codebook round 3"),
        ("substitute", "codebook round 1"),
        ("substitute", "codebook substitute 1"),
        ("substitute", "codebook substitute 2"),
        ("substitute, label", "codebook substitute 2"),
    ],
)
def test_interrupted_and_resumed_equals_unbroken(
    unbroken: dict[str, Bundle], tmp_path: Path, way: str, stage: str, after: int
) -> None:
    settings = WAYS[way] | {"epochs": 4}
    with pytest.raises(Interrupted):
        fit(
            leaking(300), **settings, folder=tmp_path, progress=Recorder(stop_in=stage, after=after)
        )
    again = Recorder()
    assert same(fit(leaking(300), **settings, folder=tmp_path, progress=again), unbroken[way])
    bars = {name: steps for name, steps in again.steps.items() if name.startswith("codebook")}
    assert set(bars.values()) == {4}


def test_with_a_budget_too(tmp_path: Path) -> None:
    settings: dict[str, Any] = {"epochs": 3, "rounds": 2, "budget": "who<=90"}
    whole = fit(leaking(300), **settings)
    with pytest.raises(Interrupted):
        fit(
            leaking(300), **settings, folder=tmp_path,
            progress=Recorder(stop_in="codebook (relax 0.3) round 2", after=2),
        )  # fmt: skip
    assert same(fit(leaking(300), **settings, folder=tmp_path), whole)


def test_another_seed_or_setting_does_not_use_old_work(tmp_path: Path) -> None:
    fit(leaking(300), epochs=3, folder=tmp_path)
    for change in ({"seed": 1}, {"softness": 0.3}, {"codes": 5}, {"relax": 1.0}):
        settings = {"epochs": 3} | change
        assert same(fit(leaking(300), **settings, folder=tmp_path), fit(leaking(300), **settings))
