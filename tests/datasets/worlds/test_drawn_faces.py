"""Drawn faces: the same for a seed, readable in every attribute, correlated as asked."""

from __future__ import annotations

import itertools

import numpy as np
import numpy.typing as npt
import pytest

from withhold.core.errors import UserError
from withhold.datasets.worlds import best_guess, drawn_faces
from withhold.datasets.worlds.drawn_faces import VALUES
from withhold.datasets.worlds.drawn_faces.face_attributes import Codes, draw_codes, joint
from withhold.datasets.worlds.drawn_faces.face_people import faces_of
from withhold.datasets.worlds.drawn_faces.portrait import HAIR, SKIN, Nuisance, draw_portraits
from withhold.records.dataset import Dataset
from withhold.records.samples import Picture

Pixels = npt.NDArray[np.uint8]


def pixels_of(data: Dataset) -> Pixels:
    assert data.media is not None
    contents = [item.content for item in data.media.items()]
    return np.stack([c.pixels for c in contents if isinstance(c, Picture)])


@pytest.mark.parametrize("side", [32, 64, 128])
def test_a_dataset_of_images(side: int) -> None:
    data = drawn_faces(20, side=side)
    assert pixels_of(data).shape == (20, side, side, 3)
    assert data.kind == "image"
    assert data.attribute_names == ("person", *VALUES)
    assert [len(data.part(part)) for part in ("train", "val", "test")] == [12, 4, 4]


def test_an_image_depends_on_the_seed_and_its_number_only() -> None:
    some, more = drawn_faces(70, seed=5), drawn_faces(150, seed=5)
    assert (pixels_of(some) == pixels_of(more)[:70]).all()
    assert some.table.equals(more.table.slice(0, 70))
    assert (pixels_of(drawn_faces(70, seed=6)) != pixels_of(some)).any(axis=(1, 2, 3)).all()


def clean(codes: Codes, person: npt.NDArray[np.int64]) -> Pixels:
    """The images of these values without any nuisance."""
    rng = np.random.default_rng(0)
    shape = {name: values[person] for name, values in faces_of(8, 0).items()}
    return draw_portraits(codes, shape, Nuisance.draw(len(person), 0, rng), 32, rng)


@pytest.mark.parametrize("attribute", ["person", *VALUES])
def test_the_nearest_template_is_always_the_right_one(attribute: str) -> None:
    """Given all other attributes, each value gives an image of its own, far from the others."""
    rng = np.random.default_rng(1)
    person, codes = rng.integers(0, 8, 64), draw_codes(64, {}, rng)
    true = {"person": person, **codes}[attribute]
    images = clean(codes, person).astype(int)
    distances = []
    for value in range(8 if attribute == "person" else len(VALUES[attribute])):
        changed = {"person": person, **codes} | {attribute: np.full(64, value)}
        template = clean({n: changed[n] for n in VALUES}, changed["person"]).astype(int)
        distances.append(np.abs(images - template).sum(axis=(1, 2, 3)))
    ranked = np.sort(distances, axis=0)
    assert (np.argmin(distances, axis=0) == true).all()
    assert (ranked[0] == 0).all()
    # Ten pixels, or more, change visibly (by 30 of 255 in one channel).
    assert ranked[1].min() > 300


def test_a_linear_model_reads_clean_images() -> None:
    """It sees no other attribute. Colours are read below: a linear model cannot rank five."""
    data = drawn_faces(1600, people=4, nuisance=0)
    x = pixels_of(data).reshape(len(data), -1) / np.float32(255)
    x = np.concatenate([x - x.mean(axis=0), np.ones((len(x), 1), np.float32)], axis=1)
    train, test = np.arange(1600) < 1200, np.arange(1600) >= 1200
    gram = x[train] @ x[train].T + np.eye(train.sum())
    names = [n for n in ("person", *VALUES) if n not in ("hair", "skin")]
    marks = {n: np.eye(len(data.attribute(n).classes))[data.attribute(n).codes] for n in names}
    alpha = np.linalg.solve(gram, np.concatenate([marks[n][train] for n in names], axis=1))
    scores = x[test] @ x[train].T @ alpha
    widths = np.cumsum([marks[n].shape[1] for n in names])[:-1]
    for name, found in zip(names, np.split(scores, widths, axis=1), strict=True):
        right = (found.argmax(axis=1) == data.attribute(name).codes[test]).mean()
        assert right > 0.95, (name, right)


def test_hair_and_skin_have_their_colours() -> None:
    data = drawn_faces(400, nuisance=0)
    data = data.rows(np.asarray(data.table["pose"].to_pylist()) == "front")
    pixels = pixels_of(data) / 255.0
    # Hair above the forehead, and skin between the brows.
    for name, palette, (row, column) in (("hair", HAIR, (6, 18)), ("skin", SKIN, (11, 16))):
        seen = pixels[:, row, column]
        nearest = np.linalg.norm(seen[:, None] - palette.T, axis=2).argmin(axis=1)
        true = [VALUES[name].index(v) for v in data.table[name].to_pylist()]
        assert (nearest == true).mean() > 0.98, name


@pytest.mark.parametrize(
    ("attribute", "rows"), [("lipstick", (19, 27)), ("smile", (19, 27)), ("glasses", (11, 20))]
)
def test_these_attributes_change_one_part_of_the_face(
    attribute: str, rows: tuple[int, int]
) -> None:
    rng = np.random.default_rng(2)
    person, codes = rng.integers(0, 8, 64), draw_codes(64, {}, rng)
    other = codes | {attribute: 1 - codes[attribute]}
    changed = (clean(codes, person) != clean(other, person)).any(axis=(0, 2, 3))
    assert set(np.flatnonzero(changed)) <= set(range(*rows))


@pytest.mark.parametrize("phi", [-1, -0.5, 0.0, 0.3, 0.8, 1.0])
def test_the_best_guess_from_a_correlated_attribute(phi: float) -> None:
    """Of balanced binary attributes it is right with probability (1 + |phi|) / 2."""
    correlation = {("gender", "lipstick"): phi}
    assert best_guess("gender", ["lipstick"], correlation) == pytest.approx((1 + abs(phi)) / 2)
    assert best_guess("lipstick", ["gender", "smile"], correlation) == pytest.approx(
        (1 + abs(phi)) / 2
    )
    assert best_guess("gender", ["smile"], correlation) == pytest.approx(0.5)
    assert best_guess("gender", ["gender"], correlation) == 1
    assert best_guess("hair", ["gender"], correlation) == pytest.approx(1 / 5)


def test_drawn_values_have_the_coefficient() -> None:
    n = 20_000
    asked = {("lipstick", "gender"): 0.6, ("beard", "gender"): -0.7, ("pose", "hair_length"): 0.4}
    codes = draw_codes(n, asked, np.random.default_rng(3))
    for a, b in itertools.combinations(("gender", "lipstick", "beard", "smile"), 2):
        found = np.corrcoef(codes[a], codes[b])[0, 1]
        wanted = asked.get((a, b), asked.get((b, a), 0.0))
        # Lipstick and beard are correlated through gender, and through nothing else.
        wanted = -0.42 if {a, b} == {"lipstick", "beard"} else wanted
        assert found == pytest.approx(wanted, abs=4 / np.sqrt(n)), (a, b)
    same = (codes["pose"] == codes["hair_length"]).mean()
    assert same == pytest.approx(0.4 + 0.6 / 3, abs=2 / np.sqrt(n))
    for name, values in VALUES.items():
        shares = np.bincount(codes[name], minlength=len(values)) / n
        assert shares == pytest.approx(1 / len(values), abs=2 / np.sqrt(n)), name


def test_correlations_in_a_circle_hold_together() -> None:
    asked = {("gender", "lipstick"): 0.7, ("lipstick", "beard"): -0.5, ("gender", "beard"): -0.6}
    names, table = joint(asked)
    assert table.sum() == pytest.approx(1)
    signs = np.array([-1, 1])
    for (a, b), phi in asked.items():
        axes = [names.index(a), names.index(b)]
        pair = table.sum(axis=tuple({0, 1, 2} - {*axes}))
        assert signs @ pair @ signs == pytest.approx(phi, abs=1e-8)
    two = best_guess("gender", ["lipstick", "beard"], asked)
    assert two >= best_guess("gender", ["lipstick"], asked) == pytest.approx(0.85)


@pytest.mark.parametrize(
    ("correlation", "said"),
    [
        ({("gender", "lipstick"): 1.2}, "gender and lipstick must be in -1..1, not 1.2"),
        ({("gender", "lipstick"): float("nan")}, "must be in -1..1"),
        ({("gender", "lipstik"): 0.5}, "no attribute 'lipstik'.*did you mean 'lipstick'"),
        ({("gender", "gender"): 0.5}, "two different attributes"),
        ({("gender", "hair"): 0.5}, "gender has 2 values and hair has 5"),
        (
            {("gender", "smile"): 0.9, ("smile", "beard"): 0.9, ("gender", "beard"): -0.9},
            "no faces can have these correlations together",
        ),
    ],
)
def test_impossible_correlations(correlation: dict[tuple[str, str], float], said: str) -> None:
    with pytest.raises(UserError, match=said):
        drawn_faces(10, correlation=correlation)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"n": 0}, "n must be at least 1"),
        ({"people": 0}, "people must be at least 1"),
        ({"side": 16}, "side must be in 32..128 pixels, not 16"),
        ({"nuisance": -1.0}, "nuisance must be in 0..2"),
        ({"seed": -1}, "seed must not be negative"),
    ],
)
def test_mistakes(wrong: dict[str, int], said: str) -> None:
    with pytest.raises(UserError, match=said):
        drawn_faces(**wrong)  # type: ignore[arg-type]
