"""Each planted leak is as large as stated, where it is said to be, and nowhere else."""

from __future__ import annotations

from functools import cache
from math import sqrt

import numpy as np
import numpy.typing as npt
import pytest
from scipy.linalg import null_space
from scipy.stats import ks_2samp, kstest, multivariate_normal, norm
from sklearn.cluster import AgglomerativeClustering
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from withhold.core.errors import UserError
from withhold.datasets.worlds import PLANTED, World

N = 200_000
NAMES = list(PLANTED)
FLIPPED = ["product", "sine", "identity"]  # the noise is on the label, and dealt
ON_FEATURES = ["parity", "sine", "pairs"]
BLIND = ["xor", "parity", "product", "norm", "sine", "variance", "pairs"]

Floats = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]


@cache
def big(name: str) -> World:
    return PLANTED[name](N, seed=5)


def labels(world: World) -> Labels:
    return np.array(world.attributes["label"].to_pylist()).astype(np.int64)


def splits(world: World) -> npt.NDArray[np.str_]:
    return np.array(world.attributes["split"].to_pylist())


def coordinates(world: World) -> Floats:
    return world.x.astype(np.float64) @ world.axes.T


def right(world: World) -> npt.NDArray[np.bool_]:
    return np.asarray(world.guess["label"] == labels(world))


def assert_meets(world: World) -> None:
    """The Bayes rule's measured accuracy is the stated one, within four standard errors."""
    stated, hits = world.bayes["label"], right(world)
    assert abs(hits.mean() - stated) < 4 * sqrt(stated * (1 - stated) / len(hits)) + 1e-12


def assert_alike(label: Labels, values: Floats) -> None:
    """Every column is distributed alike in both classes (Kolmogorov-Smirnov)."""
    for column in values.T:
        assert ks_2samp(column[label == 0], column[label == 1]).pvalue > 1e-4


def probe(world: World) -> float:
    """Test accuracy of a linear probe fitted on train."""
    train, test = splits(world) == "train", splits(world) == "test"
    model = LogisticRegression().fit(world.x[train], labels(world)[train])
    return float(model.score(world.x[test], labels(world)[test]))


def test_the_registry_holds_the_leaks_in_order() -> None:
    leaks = "linear xor parity product norm subgroup sine variance identity pairs"
    assert " ".join(PLANTED) == leaks


@pytest.mark.parametrize("name", NAMES)
def test_as_given_a_world_is_small_and_leaves_room_to_fall_short(name: str) -> None:
    world = PLANTED[name]()
    assert 12_000 <= len(world.x) <= 20_000
    assert 8 <= world.x.shape[1] <= 16
    majority = np.bincount(labels(world)).max() / len(world.x)
    assert majority + 0.04 < world.bayes["label"]
    assert 0.75 < world.bayes["label"] < 0.96
    assert_meets(world)


@pytest.mark.parametrize("name", NAMES)
def test_the_bayes_rule_is_as_good_as_stated(name: str) -> None:
    assert_meets(big(name))


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("linear", {"d": 1, "separation": 0.4}),
        ("xor", {"d": 2, "separation": 0.8}),
        ("parity", {"d": 3, "separation": 0.9}),
        ("product", {"d": 2, "gap": 0.0, "flip": 0.0}),
        ("norm", {"d": 2, "separation": 0.2, "spread": 0.6}),
        ("norm", {"d": 1, "separation": 0.0, "spread": 0.6}),
        ("subgroup", {"d": 2, "share": 0.4, "majority": 0.9, "separation": 0.5}),
        ("sine", {"d": 1, "periods": 1, "flip": 0.3}),
        ("variance", {"d": 1, "ratio": 1.5}),
        ("variance", {"d": 3, "ratio": 40.0}),
        ("identity", {"d": 2, "people": 7, "flip": 0.25}),
        ("pairs", {"d": 2, "correlation": 0.2}),
    ],
)
def test_and_so_it_is_for_other_parameters(name: str, options: dict[str, float]) -> None:
    assert_meets(PLANTED[name](50_000, seed=3, **options))


def bayes_rule(name: str, x: Floats) -> npt.NDArray[np.bool_]:
    """Which label is likelier at coordinates (n, k), from the densities, at the defaults."""
    if name == "linear":
        return np.asarray(norm.logpdf(x[:, 0], 1.2) > norm.logpdf(x[:, 0], -1.2))
    if name in ("xor", "parity"):
        separation = {"xor": 1.8, "parity": 2.0}[name]
        odds = np.zeros(len(x))
        for signs in np.ndindex(*[2] * x.shape[1]):
            means = separation * (2 * np.array(signs) - 1)
            odds += (-1 if sum(signs) % 2 == 0 else 1) * np.prod(norm.pdf(x, means), axis=1)
        return np.asarray(odds > 0)
    if name == "norm":
        length = np.log(np.linalg.norm(x, axis=1) / sqrt(x.shape[1]))
        return np.asarray(norm.logpdf(length, 0.4, 0.3) > norm.logpdf(length, -0.4, 0.3))
    if name == "subgroup":
        inside = x[:, 0] > 3
        ones, zeros = norm.pdf(x[:, 1], 2), norm.pdf(x[:, 1], -2)
        return np.where(inside, ones > zeros, 0.8 * (ones + zeros) > 0.2 * (ones + zeros))
    if name == "sine":
        return np.asarray(np.sin(4 * np.pi * (x[:, 0] / sqrt(3) + 1) + np.pi / 2) > 0)
    if name == "variance":
        return np.asarray(
            norm.logpdf(x[:, 0], 0, 5**0.5) > norm.logpdf(x[:, 0], 0, 5**-0.5),
        )
    if name == "pairs":
        same, opposite = ([[1, rho], [rho, 1]] for rho in (0.9, -0.9))
        return np.asarray(
            multivariate_normal.logpdf(x, cov=same) > multivariate_normal.logpdf(x, cov=opposite)
        )
    assert name == "product"
    return x[:, 0] * x[:, 1] > 0


@pytest.mark.parametrize("name", [name for name in NAMES if name != "identity"])
def test_the_guess_is_the_likelier_class_given_x(name: str) -> None:
    world = big(name)
    likelier = bayes_rule(name, coordinates(world))
    # a record within rounding of the boundary may fall on either side of it
    assert (likelier != world.guess["label"]).sum() <= 5


def test_the_guess_of_an_identity_is_that_of_the_nearest_other_records() -> None:
    world = PLANTED["identity"](20_000, seed=2)
    model = KNeighborsClassifier(2).fit(world.x, world.guess["label"])
    nearest = model.kneighbors(world.x, return_distance=False)[:, 1]
    assert (world.guess["label"][nearest] == world.guess["label"]).mean() > 0.999


@pytest.mark.parametrize("name", NAMES)
def test_nothing_shows_off_the_axes(name: str) -> None:
    world = big(name)
    rest = world.x @ null_space(world.axes)
    assert rest.shape[1] == world.x.shape[1] - len(world.axes)
    assert_alike(labels(world), rest)
    for column in rest.T:
        assert kstest(column, "norm").pvalue > 1e-4


@pytest.mark.parametrize("name", NAMES)
def test_leaks_are_on_features_or_on_axes_of_their_own(name: str) -> None:
    world = big(name)
    np.testing.assert_allclose(world.axes @ world.axes.T, np.eye(len(world.axes)), atol=1e-12)
    assert np.isin(world.axes, [0.0, 1.0]).all() == (name in ON_FEATURES)


@pytest.mark.parametrize("name", BLIND)
def test_a_linear_probe_reads_nothing(name: str) -> None:
    assert abs(probe(big(name)) - 0.5) < 4 * sqrt(0.25 / (0.2 * N))


def test_a_linear_probe_reads_the_linear_one() -> None:
    world = big("linear")
    stated = world.bayes["label"]
    assert abs(probe(world) - stated) < 4 * sqrt(stated * (1 - stated) / (0.2 * N)) + 0.003


@pytest.mark.parametrize("name", ["xor", "parity", "product", "pairs"])
def test_no_coordinate_says_anything_alone(name: str) -> None:
    assert_alike(labels(big(name)), coordinates(big(name)))


def test_no_two_features_say_anything_of_a_parity() -> None:
    world = big("parity")
    label, x = labels(world), world.x.astype(np.float64)
    for first in range(x.shape[1]):
        for second in range(first):
            together = np.sign(x[:, first] * x[:, second])
            assert abs(together[label == 1].mean() - together[label == 0].mean()) < 5 / sqrt(N / 4)
            assert_alike(label, (x[:, first] + x[:, second])[:, None])


def test_only_the_length_says_anything_of_a_norm() -> None:
    world = big("norm")
    length = np.linalg.norm(world.x, axis=1, keepdims=True)
    unit = (world.x / length).astype(np.float64)
    assert_alike(labels(world), unit)
    assert np.abs(unit.mean(axis=0)).max() < 5 / sqrt(N * world.x.shape[1])
    assert np.corrcoef(unit.T) == pytest.approx(np.eye(world.x.shape[1]), abs=5 / sqrt(N))


def test_means_are_alike_where_the_variance_or_a_sine_tells() -> None:
    for name in ("variance", "sine"):
        label, at = labels(big(name)), coordinates(big(name))[:, 0]
        ones, zeros = at[label == 1], at[label == 0]
        error = sqrt(ones.var() / len(ones) + zeros.var() / len(zeros))
        assert abs(ones.mean() - zeros.mean()) < 4 * error
    label, at = labels(big("variance")), coordinates(big("variance"))[:, 0]
    assert at[label == 1].std() / at[label == 0].std() == pytest.approx(5, rel=0.02)


def test_a_sine_is_of_a_uniform_feature() -> None:
    feature = coordinates(big("sine"))[:, 0] / sqrt(3)
    assert ks_2samp(feature, np.linspace(-1, 1, N)).pvalue > 1e-4


def test_a_subgroup_is_rare_and_recognised_and_alone_shows_the_label() -> None:
    world = big("subgroup")
    label, at = labels(world), coordinates(world)
    inside = at[:, 0] > 3
    assert not ((at[:, 0] > 1.75) & (at[:, 0] < 4.25)).any()
    for part in ("train", "val", "test"):
        here = splits(world) == part
        assert inside[here].mean() == pytest.approx(0.1, abs=1e-4)
        assert label[here & inside].mean() == pytest.approx(0.5, abs=1e-4)
        assert label[here & ~inside].mean() == pytest.approx(0.8, abs=1e-4)
    assert_alike(label[~inside], at[~inside])
    assert (world.guess["label"][~inside] == 1).all()
    assert abs(right(world)[inside].mean() - norm.cdf(2)) < 4 * sqrt(0.02 * 0.98 / inside.sum())
    # the axis that shows the label looks the same in the group and outside of it
    assert ks_2samp(np.abs(at[inside, 1]), np.abs(at[~inside, 1])).pvalue > 1e-4


def people(world: World, count: int) -> Labels:
    """Who each record is, from x alone."""
    who = AgglomerativeClustering(count, linkage="average").fit_predict(world.x)
    sizes = np.bincount(who)
    assert sizes.max() - sizes.min() <= 3
    return np.asarray(who, dtype=np.int64)


def test_an_identity_has_one_bit_and_equally_many_records() -> None:
    world = PLANTED["identity"](2000, people=20, flip=0.0, seed=1)
    who, label = people(world, 20), labels(world)
    bits = [set(label[who == person]) for person in range(20)]
    assert all(len(bit) == 1 for bit in bits)
    assert sum(bit == {1} for bit in bits) == 10
    for part, count in (("train", 60), ("val", 20), ("test", 20)):
        assert (np.bincount(who[splits(world) == part]) == count).all()


def test_an_identity_is_told_by_who_it_is_and_by_nothing_else() -> None:
    world = PLANTED["identity"](3000, people=60, flip=0.0, seed=4)
    who, label = people(world, 60), labels(world)
    train, test = splits(world) == "train", splits(world) == "test"
    model = KNeighborsClassifier(5).fit(world.x[train], label[train])
    assert model.score(world.x[test], label[test]) > 0.999
    assert probe(world) < 0.8
    # people never seen: told right no more often than a coin would, person by person
    known = who < 30
    model.fit(world.x[known], label[known])
    told = [model.score(world.x[who == new], label[who == new]) for new in range(30, 60)]
    assert abs(np.mean(told) - 0.5) < 4 * 0.5 / sqrt(30)


@pytest.mark.parametrize("name", FLIPPED)
@pytest.mark.parametrize("n", [1000, 1270, 16_000])
def test_flips_are_dealt_to_the_record_in_every_split(name: str, n: int) -> None:
    world = PLANTED[name](n, flip=0.1, seed=6)
    for part in ("train", "val", "test"):
        here = splits(world) == part
        assert abs((~right(world)[here]).sum() - 0.1 * here.sum()) <= 1


@pytest.mark.parametrize("name", NAMES)
def test_every_world_keeps_the_contract(name: str) -> None:
    make = PLANTED[name]
    world, again, other = make(2000, seed=0), make(2000, seed=0), make(2000, seed=1)
    assert world.x.tobytes() == again.x.tobytes()
    assert world.attributes.equals(again.attributes)
    assert (world.guess["label"] == again.guess["label"]).all()
    assert world.x.tobytes() != other.x.tobytes()
    assert world.attributes["label"].to_pylist() != other.attributes["label"].to_pylist()
    assert any((make(2000, seed=seed).axes != world.axes).any() for seed in range(1, 5))
    assert world.bayes == other.bayes
    assert world.x.dtype == np.float32
    assert world.guess["label"].dtype == np.int64
    assert world.guess["label"].shape == (2000,)
    assert set(labels(world)) == set(world.guess["label"]) == {0, 1}
    assert world.x.shape == (2000, world.axes.shape[1])
    for part, count in (("train", 1200), ("val", 400), ("test", 400)):
        here = splits(world) == part
        assert here.sum() == count
        ones = 0.77 if name == "subgroup" else 0.5
        assert abs(labels(world)[here].sum() - ones * count) <= 1


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("n", [9, 0, -100])
def test_too_few_records_are_refused(name: str, n: int) -> None:
    with pytest.raises(UserError, match="n must be at least 10"):
        PLANTED[name](n)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("linear", {"separation": -1}, "separation"),
        ("linear", {"d": 0}, "d must be at least 1"),
        ("xor", {"d": 1}, "d must be at least 2"),
        ("parity", {"d": 2}, "d must be at least 3"),
        ("parity", {"separation": float("nan")}, "separation"),
        ("product", {"flip": 0.5}, "flip"),
        ("product", {"gap": -0.1}, "gap"),
        ("norm", {"spread": 0}, "spread"),
        ("subgroup", {"share": 0}, "share"),
        ("subgroup", {"majority": 0.5}, "majority"),
        ("sine", {"periods": 0}, "periods"),
        ("variance", {"ratio": 1}, "ratio"),
        ("identity", {"people": 1}, "people"),
        ("identity", {"people": 21}, "too few for 21 people"),
        ("pairs", {"correlation": 1}, "correlation"),
    ],
)
def test_mistakes_are_named(name: str, options: dict[str, float], message: str) -> None:
    with pytest.raises(UserError, match=message):
        PLANTED[name](100, **options)
