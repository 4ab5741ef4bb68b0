"""The frozen channel: its labels, its draws, its members made up near a code."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier

from methods.features.codebook.leaking import (
    changed,
    draw,
    fit,
    labels,
    leaking,
    made,
    probabilities,
    reads,
)
from withhold import Suppressor
from withhold.core.errors import UserError
from withhold.methods.features.codebook import CodebookModifier
from withhold.records.attribute import Attribute
from withhold.records.dataset import Dataset


@pytest.fixture(scope="module")
def data() -> Dataset:
    return leaking(800)


@pytest.fixture(scope="module")
def plain(data: Dataset) -> CodebookModifier:
    return made(data)


@pytest.fixture(scope="module")
def labelled(data: Dataset) -> CodebookModifier:
    return made(data, solver="barycentre", use_labels=True)


def with_key(modifier: CodebookModifier, key: bytes) -> CodebookModifier:
    return CodebookModifier(modifier.book, key, modifier.needs, modifier.classes)


# --- probabilities and draws --------------------------------------------------------------------


def test_probabilities_are_probabilities(
    data: Dataset, plain: CodebookModifier, labelled: CodebookModifier
) -> None:
    for modifier in (plain, labelled):
        w = probabilities(modifier, data)
        assert w.shape == (800, len(modifier.codes))
        assert w.min() >= 0
        np.testing.assert_allclose(w.sum(axis=1), 1, atol=1e-5)


def test_a_record_has_one_code_and_the_release_is_its_vector(
    data: Dataset, plain: CodebookModifier
) -> None:
    code = draw(plain, data)
    np.testing.assert_array_equal(plain.transform(data.x), plain.codes[code])
    np.testing.assert_array_equal(draw(plain, data), code)
    np.testing.assert_array_equal(plain.draw(data.x[::-1])[::-1], code)


@pytest.mark.parametrize("cut", [1, 3, 300, 511, 799])
def test_probabilities_do_not_depend_on_how_the_records_are_cut(
    data: Dataset, plain: CodebookModifier, labelled: CodebookModifier, cut: int
) -> None:
    """To the last bit, or a draw could change with the size of a batch."""
    for modifier in (plain, labelled):
        own = {n: a.rows(np.arange(cut, 800)) for n, a in labels(modifier, data).items()}
        whole = modifier.probabilities(data.x, labels(modifier, data))
        np.testing.assert_array_equal(modifier.probabilities(data.x[cut:], own), whole[cut:])


def test_another_key_draws_others_from_the_same_probabilities(
    data: Dataset, plain: CodebookModifier
) -> None:
    other = with_key(plain, b"another key" * 2)
    np.testing.assert_array_equal(probabilities(other, data), probabilities(plain, data))
    w = probabilities(plain, data)
    agree = (draw(other, data) == draw(plain, data)).mean()
    expected = (w**2).sum(axis=1)
    assert abs(agree - expected.mean()) < 4.5 * np.sqrt((expected * (1 - expected)).mean() / 800)


def test_draws_over_many_keys_are_as_often_as_their_probabilities(
    data: Dataset, plain: CodebookModifier
) -> None:
    from scipy.stats import chisquare

    x = data.x[:1]
    w = plain.probabilities(x)[0].astype(np.float64)
    drawn = [int(with_key(plain, b"key %d" % i).draw(x)[0]) for i in range(800)]
    found, expected = np.bincount(drawn, minlength=len(w)), 800 * w / w.sum()
    rare = expected < 5
    found = np.append(found[~rare], found[rare].sum())
    expected = np.append(expected[~rare], expected[rare].sum())
    assert chisquare(found[expected > 0], expected[expected > 0]).pvalue > 1e-4


def test_mix_gives_a_share_by_the_weights_alone(data: Dataset, plain: CodebookModifier) -> None:
    book = replace(plain.book, mix=0.3)
    mixed = CodebookModifier(book, plain.key, plain.needs, plain.classes)
    expected = 0.7 * probabilities(plain, data) + 0.3 * plain.book.weights
    np.testing.assert_allclose(probabilities(mixed, data), expected, atol=1e-6)
    again = CodebookModifier.from_state(mixed.state(), mixed.settings(), mixed.key)
    np.testing.assert_array_equal(probabilities(again, data), probabilities(mixed, data))


def test_codes_are_means_of_the_records_that_are_given_them(data: Dataset) -> None:
    modifier = made(data, codes=4, least=1)
    train = data.part("train")
    code = draw(modifier, train)
    expected = np.stack([train.x[code == j].mean(axis=0) for j in range(len(modifier.codes))])
    # A thousandth: one record at either end is clipped to its neighbour.
    np.testing.assert_allclose(modifier.codes, expected, atol=2e-2)
    share = np.bincount(code, minlength=len(modifier.codes)) / len(code)
    np.testing.assert_allclose(modifier.book.weights, share, atol=1e-6)


@pytest.mark.parametrize("size", [1e20, 3e38])
def test_a_record_out_of_all_proportion_has_probabilities_or_is_refused(
    data: Dataset, labelled: CodebookModifier, size: float
) -> None:
    x = data.x[:3].copy()
    x[1] = size
    own = {"who": data.attribute("who").rows(np.arange(3))}
    for ask in (labelled.probabilities, labelled.draw, labelled.sample):
        try:
            found = ask(x, own)
        except UserError as told:
            assert "record 1 (the first is 0) is too large" in str(told)  # noqa: PT017
        else:
            assert np.isfinite(found).all()


# --- labels -------------------------------------------------------------------------------------


def test_without_labels_none_are_needed(plain: CodebookModifier) -> None:
    assert plain.needs == ()


def test_no_name_of_a_suppressed_class_is_kept_that_is_not_needed(plain: CodebookModifier) -> None:
    """A bundle that needs no labels has no use for the names of people."""
    assert "p0" not in str(plain.settings())
    assert plain.classes == ()


def test_labels_that_are_needed_are_asked_for_by_name(
    data: Dataset, labelled: CodebookModifier
) -> None:
    assert labelled.needs == ("who",)
    for ask in (labelled.transform, labelled.draw, labelled.probabilities, labelled.sample):
        with pytest.raises(UserError, match=r"needs the column who .*use_labels: false"):
            ask(data.x)


def test_a_dataset_brings_its_labels_and_loses_them(data: Dataset) -> None:
    bundle = fit(data, solver="barycentre", use_labels=True)
    released = bundle.release(data)
    assert "who" not in released.table.column_names
    modifier = bundle.modifier
    assert isinstance(modifier, CodebookModifier)
    expected = modifier.codes[draw(modifier, data)]
    np.testing.assert_array_equal(released.x, expected[released.original_rows])
    with pytest.raises(UserError, match="needs the column who"):
        bundle.release(data.without(["who"]))


def test_the_names_of_classes_and_not_their_numbers_count(
    data: Dataset, labelled: CodebookModifier
) -> None:
    """A file with fewer classes numbers them in another way."""
    some = np.flatnonzero(np.isin(data.attribute("who").codes, [2, 4]))
    fresh = Dataset.from_arrays(data.x[some], {"who": data.table["who"].take(some)})
    assert fresh.attribute("who").classes == ("p2", "p4")
    np.testing.assert_array_equal(draw(labelled, fresh), draw(labelled, data)[some])


@pytest.mark.parametrize(
    ("value", "what"),
    [(None, "has no label"), ("stranger", "has a class that the fit did not see")],
)
def test_a_record_of_no_class_or_an_unknown_one_is_refused_by_its_row(
    data: Dataset, labelled: CodebookModifier, value: str | None, what: str
) -> None:
    who = data.table["who"].to_pylist()
    who[17] = value
    with pytest.raises(UserError, match=f"record 17 .*{what} of who"):
        draw(labelled, changed(data, who=who))


def test_a_stranger_is_one_of_the_rest_where_there_is_a_rest(data: Dataset) -> None:
    who = ["rare" if i % 60 == 0 else w for i, w in enumerate(data.table["who"].to_pylist())]
    modifier = made(changed(data, who=who), solver="barycentre", use_labels=True, smallest=20)
    rare, new = (
        {"who": Attribute("who", "categorical", (name,), np.zeros(9, np.int64))}
        for name in ("rare", "stranger")
    )
    np.testing.assert_array_equal(
        modifier.probabilities(data.x[:9], rare), modifier.probabilities(data.x[:9], new)
    )


# --- members made up near a code ----------------------------------------------------------------


def test_a_sample_is_finite_and_varies_within_a_code(
    data: Dataset, plain: CodebookModifier
) -> None:
    out, code = plain.sample(data.x), draw(plain, data)
    assert out.dtype == np.float32
    assert np.isfinite(out).all()
    np.testing.assert_array_equal(plain.sample(data.x), out)
    inside = [out[code == j].std(axis=0).mean() for j in np.flatnonzero(np.bincount(code) > 20)]
    assert min(inside) > 0.05
    assert plain.sample(data.x[:0]).shape == (0, data.dimension)


def test_a_sample_lies_around_its_code_and_spreads_as_records_do(
    data: Dataset, plain: CodebookModifier
) -> None:
    around = plain.sample(data.x) - plain.transform(data.x)
    spread = plain.book.spread.astype(np.float64)
    deviation = np.sqrt((spread**2).sum(axis=0))
    np.testing.assert_allclose(around.std(axis=0), deviation, rtol=0.15)
    assert (np.abs(around.mean(axis=0)) < 4.5 * deviation / np.sqrt(len(data))).all()


def test_a_sample_tells_no_more_of_the_record_than_its_code(
    data: Dataset, plain: CodebookModifier
) -> None:
    """What is added to the code has nothing to do with x, with who, or with the draw."""
    around = (plain.sample(data.x) - plain.transform(data.x)).astype(np.float64)
    axis = plain.book.spread[0] / np.linalg.norm(plain.book.spread[0])
    along = around @ axis
    limit = 4.5 / np.sqrt(len(data))
    for column in (*data.x.T, data.attribute("who").codes == 0, draw(plain, data)):
        assert abs(np.corrcoef(along, column)[0, 1]) < limit


def test_equal_records_get_different_samples(data: Dataset, plain: CodebookModifier) -> None:
    x = np.repeat(data.x[:1], 50, axis=0)
    assert len(np.unique(plain.draw(x))) == 1
    assert len(np.unique(plain.sample(x), axis=0)) == 50


@pytest.mark.parametrize("cut", [1, 300, 799])
def test_a_sample_belongs_to_its_row_and_not_to_its_place(
    data: Dataset, plain: CodebookModifier, cut: int
) -> None:
    """In pieces, at once or shuffled is the same; another nonce gives another member."""
    rng = np.random.default_rng(0)
    nonces = rng.integers(0, 2**64, (len(data), 2), dtype=np.uint64)
    whole = plain.sample(data.x, nonces=nonces)
    rest = plain.sample(data.x[cut:], nonces=nonces[cut:])
    np.testing.assert_array_equal(whole[cut:], rest)
    order = rng.permutation(len(data))
    np.testing.assert_array_equal(whole[order], plain.sample(data.x[order], nonces=nonces[order]))
    far = [np.uint64([[0, 0]]), np.uint64([[0, 1]]), np.uint64([[1, 0]]), np.uint64([[0, 2**63]])]
    members = [plain.sample(data.x[:1], nonces=nonce) for nonce in far]
    assert len(np.unique(np.concatenate(members), axis=0)) == 4


def test_equal_records_are_no_easier_to_read_from_a_sample_than_from_codes() -> None:
    """Tables repeat their rows. Whoever has labelled ones must not know their twins by sight."""
    base = leaking(300)
    x = np.repeat(base.x, 4, axis=0)
    who = np.repeat(base.table["who"].to_pylist(), 4)
    known = np.tile([True, True, False, False], 300)
    table = {"who": who.tolist(), "split": np.where(known, "train", "test").tolist()}
    modifier = made(Dataset.from_arrays(x, table))
    seen = modifier.sample(x)
    attacker = KNeighborsClassifier(1).fit(seen[known], who[known])
    assert attacker.score(seen[~known], who[~known]) < 0.4


def test_a_sample_is_read_as_badly_as_a_code(data: Dataset, plain: CodebookModifier) -> None:
    train, test = data.part("train"), data.part("test")
    attacker = KNeighborsClassifier(15).fit(plain.sample(train.x), train.attribute("who").codes)
    assert attacker.score(plain.sample(test.x), test.attribute("who").codes) < 0.35
    reader = KNeighborsClassifier(15).fit(plain.sample(train.x), train.attribute("word").codes)
    word = reader.score(plain.sample(test.x), test.attribute("word").codes)
    assert word > 0.8 * reads(plain, data, "word")


# --- as a transformer ---------------------------------------------------------------------------


def test_the_estimator_on_arrays() -> None:
    data = leaking(400)
    config = {"codes": 8, "hidden": [16], "epochs": 5, "rounds": 2}
    made_of = Suppressor(method="codebook", config=config, key=bytes(32))
    out = made_of.fit_transform(data.x.astype(np.float64), np.array(data.table["who"].to_pylist()))
    assert out.shape == data.x.shape
    assert out.dtype == np.float64
    assert len(np.unique(out, axis=0)) <= 8
    np.testing.assert_array_equal(made_of.transform(data.x[::-1])[::-1], out.astype(np.float32))
    assert made_of.get_feature_names_out().tolist() == [f"x{i}" for i in range(9)]
    from sklearn.base import clone

    again = clone(made_of).fit(data.x, np.array(data.table["who"].to_pylist()))
    np.testing.assert_array_equal(again.transform(data.x), out.astype(np.float32))


def test_the_estimator_that_needs_labels_says_so_of_arrays() -> None:
    data = leaking(400)
    config = {"codes": 8, "solver": "barycentre", "use_labels": True}
    suppressor = Suppressor("who", method="codebook", config=config).fit(data)
    assert suppressor.transform(data).x.shape == data.x.shape
    with pytest.raises(UserError, match="needs the column who"):
        suppressor.transform(data.x)


def test_labels_of_the_sample_are_those_of_the_draw(
    data: Dataset, labelled: CodebookModifier
) -> None:
    own = labels(labelled, data)
    near = labelled.sample(data.x, own) - labelled.transform(data.x, own)
    assert np.abs(near).max() < 12 * np.linalg.norm(labelled.book.spread)
