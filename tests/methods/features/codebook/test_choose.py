"""Sharpness and codes are chosen on calibration records; fitted records are read out of fold."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from methods.features.codebook.leaking import leaking
from support import Recorder
from withhold.actions.fit import fit_bundle
from withhold.core.errors import UserError
from withhold.methods.features.codebook.assemble import draws_of, people_behind, people_of
from withhold.methods.features.codebook.choose import Labelled, _merges, distortion
from withhold.methods.features.codebook.modifier import CodebookModifier
from withhold.methods.features.codebook.reader import FoldedReader, fold_of
from withhold.records.dataset import Dataset
from withhold.records.roles import Roles

KEY = bytes(range(32))
QUICK = {"epochs": 6, "hidden": [16], "rounds": 2, "exact_rounds": 2}


def fitted(data: Dataset, progress: Recorder | None = None, **config: object) -> CodebookModifier:
    made = fit_bundle(
        data, Roles.of("who"), config={**QUICK, **config}, key=KEY, progress=progress
    ).modifier
    assert isinstance(made, CodebookModifier)
    return made


@pytest.fixture(scope="module")
def data() -> Dataset:
    return leaking(800)


def test_codes_are_merged_and_each_has_its_people(data: Dataset) -> None:
    said = Recorder()
    made = fitted(data, said)
    assert "chosen on" in said.text
    train = data.part("train")
    behind = people_behind(draws_of(made, train), people_of(train), len(made.codes))
    assert behind.min() >= 5
    assert made.book.merge is None or made.book.merge.max() + 1 == len(made.codes)


def test_merged_probabilities_and_draws_agree_and_survive_saving(data: Dataset) -> None:
    made = fitted(data)
    w = made.probabilities(data.x)
    assert w.shape == (len(data), len(made.codes))
    np.testing.assert_allclose(w.sum(axis=1), 1, atol=1e-5)
    drawn = made.draw(data.x)
    share = np.bincount(drawn, minlength=len(made.codes)) / len(drawn)
    np.testing.assert_allclose(share, w.mean(axis=0), atol=0.08)
    again = CodebookModifier.from_state(made.state(), made.settings(), made.key)
    np.testing.assert_array_equal(again.draw(data.x), drawn)
    np.testing.assert_array_equal(again.probabilities(data.x), w)


def test_asked_for_codes_and_sharpness_are_kept(data: Dataset) -> None:
    made = fitted(data, codes=12, sharpness=2.0, least=1)
    assert made.book.merge is None
    assert made.book.reader.sharpness == pytest.approx(2.0)


def test_a_fitted_record_is_read_by_the_network_that_did_not_learn_it(data: Dataset) -> None:
    made = fitted(data, folds=2)
    reader = made.book.reader
    assert isinstance(reader, FoldedReader)
    x = torch.from_numpy(np.array(data.x[:50]))
    fold = fold_of(x, made.key)
    assert 0 < int(fold.sum()) < 50
    none = torch.zeros(50, dtype=torch.int64)
    scores = reader.scores(x, none)
    torch.testing.assert_close(scores[fold == 0], reader.one.scores(x, none)[fold == 0])
    torch.testing.assert_close(scores[fold == 1], reader.two.scores(x, none)[fold == 1])
    assert not isinstance(fitted(data, folds=1).book.reader, FoldedReader)


def test_merges_never_cross_preserved_values_and_add_distortion() -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((400, 4)).astype(np.float32)
    drawn, u = np.arange(400) % 16, (np.arange(400) % 16) // 8
    part = Labelled(Dataset.from_arrays(x, {}), np.zeros(400, np.int64), u)
    before, number = -1.0, 17
    for merged in _merges(drawn, 16, part, least=2, fewer=True):
        merged = np.arange(16) if merged is None else merged
        assert len(np.unique(merged)) < number
        number = len(np.unique(merged))
        assert not set(merged[:8]) & set(merged[8:])
        lost = distortion(merged[drawn], merged[drawn], number, part, part)
        assert lost >= before - 1e-6
        before = lost
    assert number <= 5


def test_draws_are_by_person_only_where_records_are_equal() -> None:
    rng = np.random.default_rng(1)
    n = 600
    points = rng.standard_normal((20, 3)).astype(np.float32)
    columns = {
        "who": [f"c{v}" for v in rng.integers(0, 2, n)],
        "person": [f"p{i}" for i in range(n)],
    }
    equal = Dataset.from_arrays(points[rng.integers(0, 20, n)], columns, group="person")
    made = fitted(equal, least=1)
    assert made.person == "person"
    assert made.needs == ("person",)
    with pytest.raises(UserError, match="needs the column person"):
        made.draw(equal.x)
    apart = Dataset.from_arrays(rng.standard_normal((n, 3)), columns, group="person")
    assert fitted(apart, least=1).person is None
    with pytest.raises(UserError, match="no group is named"):
        fitted(leaking(200), draw_by="person")


@pytest.mark.parametrize("n", [12, 30, 60])
def test_very_few_records_leave_nothing_to_choose_on(n: int) -> None:
    data = leaking(n, 2, 2)
    data = Dataset.from_arrays(data.x, {"who": data.table["who"], "split": ["train"] * n})
    made = fitted(data, least=1, smallest=1)
    assert np.isfinite(made.codes).all()
    assert made.draw(data.x).max() < len(made.codes)
