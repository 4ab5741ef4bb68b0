"""Moving figures: the same for a seed, correlated as asked, told by what should tell them."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import ExtraTreesClassifier

from withhold.core.errors import UserError
from withhold.datasets.worlds import moving_figures
from withhold.datasets.worlds.attribute_set import Codes
from withhold.datasets.worlds.drawn_world import draw_people
from withhold.datasets.worlds.moving_figures import VALUES, best_guess
from withhold.datasets.worlds.moving_figures.figure import (
    CLOTHES,
    SKIN,
    ClipNuisance,
    draw_figures,
)
from withhold.datasets.worlds.moving_figures.figure_attributes import FIGURES
from withhold.datasets.worlds.moving_figures.motion import CYCLES, draw_phases
from withhold.datasets.worlds.moving_figures.skeleton import (
    PROPORTIONS,
    Limb,
    Skeleton,
    make_skeleton,
)
from withhold.records.dataset import Dataset
from withhold.records.samples import Clip

Array = npt.NDArray[Any]
ACTIONS = VALUES["action"]


def frames_of(data: Dataset) -> Array:
    assert data.media is not None
    contents = [item.content for item in data.media.items()]
    return np.stack([c.frames for c in contents if isinstance(c, Clip)])


@pytest.mark.parametrize(("side", "frames"), [(32, 8), (48, 32), (112, 9)])
def test_a_dataset_of_clips(side: int, frames: int) -> None:
    data = moving_figures(5, side=side, frames=frames)
    assert frames_of(data).shape == (5, frames, side, side, 3)
    assert data.kind == "clip"
    assert data.attribute_names == ("person", *VALUES)
    assert [len(data.part(part)) for part in ("train", "val", "test")] == [3, 1, 1]


def test_a_clip_depends_on_the_seed_and_its_number_only(monkeypatch: pytest.MonkeyPatch) -> None:
    some, more = moving_figures(70, seed=5), moving_figures(100, seed=5)
    assert (frames_of(some) == frames_of(more)[:70]).all()
    assert some.table.equals(more.table.slice(0, 70))
    # Not on how many are drawn together either: here one, and then all.
    module = sys.modules["withhold.datasets.worlds.moving_figures"]
    for together in (1, 10**9):
        monkeypatch.setattr(module, "CACHED", together)
        assert (frames_of(moving_figures(70, seed=5)) == frames_of(some)).all()
    other = frames_of(moving_figures(70, seed=6))
    assert (other != frames_of(some)).any(axis=(1, 2, 3, 4)).all()


def test_more_frames_show_the_same_motion() -> None:
    few, many = (frames_of(moving_figures(10, frames=f, nuisance=0)) for f in (8, 16))
    assert (few == many[:, ::2]).all()


def test_no_person_is_in_two_parts() -> None:
    table = moving_figures(100, people=7, split_by="person").table
    pairs = {*zip(table["person"].to_pylist(), table["split"].to_pylist(), strict=True)}
    assert len(pairs) == 7
    assert {part for _, part in pairs} == {"train", "val", "test"}


def test_clips_have_the_shares_and_correlations() -> None:
    correlation = {("build", "hat"): -1.0, ("action", "background"): 1.0}
    table = moving_figures(80, correlation=correlation, shares={"pace": {"fast": 1.0}}).table
    codes = {n: [v.index(x) for x in table[n].to_pylist()] for n, v in VALUES.items()}
    assert codes["action"] == codes["background"]
    assert [1 - code for code in codes["build"]] == codes["hat"]
    assert {*codes["pace"]} == {1}
    n = 20_000
    drawn = FIGURES.distribution({("build", "hat"): 0.6, ("action", "clothes"): 0.4}).draw(
        n, np.random.default_rng(0)
    )
    assert np.corrcoef(drawn["build"], drawn["hat"])[0, 1] == pytest.approx(0.6, abs=0.02)
    same = (drawn["action"] == drawn["clothes"]).mean()
    assert same == pytest.approx(0.4 + 0.6 / 8, abs=2 / np.sqrt(n))
    for name, values in VALUES.items():
        shares = np.bincount(drawn[name], minlength=len(values)) / n
        assert shares == pytest.approx(1 / len(values), abs=2 / np.sqrt(n)), name


def test_the_best_guess() -> None:
    correlation = {("build", "hat"): -0.6, ("action", "background"): 0.5}
    assert best_guess("build", ["hat"], correlation) == pytest.approx(0.8)
    assert best_guess("build", ["action", "hat"], correlation) == pytest.approx(0.8)
    assert best_guess("action", ["background"], correlation) == pytest.approx(0.5 + 0.5 / 8)
    assert best_guess("action", ["hat"], correlation) == pytest.approx(1 / 8)
    assert best_guess("hat", ["skin"], {}, {"hat": {"yes": 0.1}}) == pytest.approx(0.9)


def some_codes(n: int, seed: int) -> Codes:
    rng = np.random.default_rng(seed)
    return {"person": rng.integers(0, 8, n), **FIGURES.distribution().draw(n, rng)}


def skeletons(codes: Codes, frames: int = 8) -> tuple[dict[str, Array], Skeleton]:
    """Proportions and joints, without any nuisance; the same starts for the same number."""
    people = draw_people(PROPORTIONS, 8, 0)
    body = {name: values[codes["person"]] for name, values in people.items()}
    return body, make_skeleton(body, draw_phases(codes, frames, 0, np.random.default_rng(0)))


def clean(codes: Codes) -> Array:
    """Clips of these values without any nuisance, in levels of 255."""
    body, skeleton = skeletons(codes)
    nuisance = ClipNuisance.draw(len(codes["person"]), 0, np.random.default_rng(0))
    return 255 * draw_figures(codes, body["head"], skeleton, nuisance, 32)


@pytest.mark.parametrize("attribute", ["person", *VALUES])
def test_the_nearest_template_is_always_the_right_one(attribute: str) -> None:
    """Given all else, each value gives clips of its own."""
    codes = some_codes(24, 1)
    true = clean(codes)
    distances = []
    for value in range(8 if attribute == "person" else len(VALUES[attribute])):
        changed = clean(codes | {attribute: np.full(24, value)})
        distances.append(np.abs(changed - true).sum(axis=(0, 2, 3, 4)))
    ranked = np.sort(distances, axis=0)
    assert (np.argmin(distances, axis=0) == codes[attribute]).all()
    assert (ranked[0] == 0).all()
    # A pixel or more of every frame changes visibly (by 30 of 255 in three channels).
    assert ranked[1].min() > 8 * 90


def joints(skeleton: Skeleton) -> dict[str, Array]:
    """Joints as (b, frames, 2)."""
    found = {}
    for name, value in vars(skeleton).items():
        if isinstance(value, Limb):
            found |= {f"{name} {end}": np.stack(p, axis=2) for end, p in vars(value).items()}
        elif isinstance(value, tuple):
            found[name] = np.stack(value, axis=2)
    return found


def test_the_lengths_of_bones_are_those_of_the_person() -> None:
    codes = some_codes(50, 2)
    body, _ = skeletons(codes)
    phases = draw_phases(codes, 8, 0, np.random.default_rng(0))
    phases[:, ACTIONS.index("turn")] = (
        -np.pi / 2
    )  # to the front: a body that is turned looks narrower
    found = joints(make_skeleton(body, phases))

    def length(one: str, other: str) -> Array:
        return np.linalg.norm(found[one] - found[other], axis=2)

    for side in ("left", "right"):
        arm, leg = f"{side}_arm", f"{side}_leg"
        for start, end, name, share in (
            (f"{arm} start", f"{arm} middle", "upper_arm", 1),
            (f"{arm} middle", f"{arm} end", "forearm", 1),
            (f"{leg} start", f"{leg} middle", "leg", 0.5),
            (f"{leg} middle", f"{leg} end", "leg", 0.5),
            ("hips", "shoulders", "torso", 1),
            ("shoulders", f"{arm} start", "shoulder", 1),
            ("hips", f"{leg} start", "hip", 1),
        ):
            wanted = np.repeat(share * body[name][:, None], 8, axis=1)
            assert length(start, end) == pytest.approx(wanted, rel=1e-5), (start, end)


@pytest.mark.parametrize(
    ("action", "moves", "still"),
    [
        ("wave_left", "left_arm end", ["right_arm end", "left_arm start", "head", "hips"]),
        ("wave_right", "right_arm end", ["left_arm end", "right_arm start", "head", "hips"]),
        ("clap", "left_arm end", ["left_arm middle", "right_arm middle", "head", "hips"]),
        ("jump", "left_leg end", ["left_leg end x", "right_arm end x", "head x"]),
        ("squat", "hips", ["left_leg end", "right_leg end", "head x"]),
        ("walk", "left_leg end", ["left_leg end y", "right_leg end y"]),
        ("turn", "left_arm start", ["hips x", "head x", "left_leg end y"]),
        ("lean", "head", ["hips", "left_leg middle", "right_leg end"]),
    ],
)
def test_every_action_moves_its_own_part(action: str, moves: str, still: list[str]) -> None:
    codes = some_codes(40, 3) | {"action": np.full(40, ACTIONS.index(action))}
    way = {}  # from one end to the other, (b,)
    for name, places in joints(skeletons(codes)[1]).items():
        x, y = np.ptp(places, axis=1).T
        way |= {f"{name} x": x, f"{name} y": y, name: np.hypot(x, y)}
    assert way[moves].min() > 0.04
    for name in still:
        assert way[name].max() < 1e-9, name


def test_the_pace_is_the_number_of_cycles() -> None:
    codes = some_codes(40, 4)
    phases = draw_phases(codes, 16, 0, np.random.default_rng(0))
    turns = np.abs(phases[:, :, -1] - phases[:, :, 0]) / (2 * np.pi) * 16 / 15
    cycles = np.array([CYCLES[pace] for pace in VALUES["pace"]])[codes["pace"]]
    own = np.eye(len(ACTIONS))[codes["action"]]
    assert turns == pytest.approx(own * cycles[:, None], abs=1e-12)


def accuracy(features: Array, data: Dataset, attribute: str) -> float:
    """Of trees that are fitted on the first 800 clips, on the others."""
    codes = data.attribute(attribute).codes
    trees = ExtraTreesClassifier(100, random_state=0).fit(features[:800], codes[:800])
    return float(trees.score(features[800:], codes[800:]))


def pooled(values: Array) -> Array:
    """(n, 32, 32, ...) summed over squares of 4 x 4 pixels, flat."""
    n, _, _, *rest = values.shape
    return values.reshape(n, 8, 4, 8, 4, *rest).sum(axis=(2, 4)).reshape(n, -1)


def motion_energy(clips: Array) -> Array:
    """Where pixels change, and how much along x and y, for each clip."""
    grey = clips.astype(np.float32).mean(axis=4) / 255
    change = np.diff(grey, axis=1)
    slopes = np.gradient((grey[:, 1:] + grey[:, :-1]) / 2, axis=(2, 3))
    energies = [change**2, *(np.abs(change * slope) for slope in slopes)]
    maps = [pooled(energy.sum(axis=1)) for energy in energies]
    whole = np.stack([m.sum(axis=1) for m in maps], axis=1)
    shares = [m / m.sum(axis=1, keepdims=True) for m in maps]
    return np.concatenate([*shares, np.log(whole[:, 1:] / whole[:, :1])], axis=1)


@pytest.mark.slow
def test_motion_tells_the_action_and_a_frame_does_not() -> None:
    """Chance is 1/8. Four deviations of the accuracy of a guess on 200 clips are 9 points."""
    data = moving_figures(1000, seed=1)
    clips = frames_of(data)
    frame = pooled(clips[:, 4])
    assert accuracy(frame, data, "action") < 1 / 8 + 0.09
    assert accuracy(frame, data, "build") > 0.6  # the same trees read what a frame does show
    told = accuracy(motion_energy(clips), data, "action")
    assert told > 0.55
    # The mean over time is blurred where the figure moves, so it tells something, but less.
    assert accuracy(pooled(clips.mean(axis=1)), data, "action") < told - 0.2


def test_a_pose_tells_nothing_about_the_action() -> None:
    """Not even the exact joints of a frame do, while those of two frames do."""
    codes = some_codes(1000, 5)
    data = Dataset.of_labels({"action": codes["action"].tolist()}, 1000)
    found = np.concatenate([*joints(skeletons(codes)[1]).values()], axis=2)
    assert accuracy(found[:, 3], data, "action") < 1 / 8 + 0.09
    assert accuracy(np.abs(found[:, 4] - found[:, 3]), data, "action") > 0.8


def test_the_mean_colour_tells_the_clothes() -> None:
    data = moving_figures(400, shares={"background": {"plain": 1.0}})
    clips = frames_of(data).astype(float)
    wall = np.median(clips[:, :, :4].reshape(400, -1, 3), axis=1)
    colour = clips.mean(axis=(1, 2, 3)) - wall
    codes = data.attribute("clothes").codes
    found = LinearDiscriminantAnalysis().fit(colour[:300], codes[:300])
    assert found.score(colour[300:], codes[300:]) > 0.5


def test_clothes_and_skin_have_their_colours() -> None:
    data = moving_figures(60, nuisance=0, side=48)
    pixels = frames_of(data)[:, 0].reshape(60, -1, 3) / np.float32(255)
    for name, palette in (("clothes", CLOTHES), ("skin", SKIN)):
        near = np.abs(pixels[:, :, None] - palette.T).max(axis=3) < 0.01
        true = [VALUES[name].index(v) for v in data.table[name].to_pylist()]
        assert (near.sum(axis=1).argmax(axis=1) == true).all(), name


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"clips": 0}, "clips must be at least 1, not 0"),
        ({"people": 0}, "people must be at least 1"),
        ({"side": 16}, "side must be in 32..112 pixels, not 16"),
        ({"side": 128}, "side must be in 32..112 pixels, not 128"),
        ({"frames": 4}, "frames must be in 8..32, not 4"),
        ({"nuisance": float("nan")}, "nuisance must be in 0..2"),
        ({"seed": -1}, "seed must not be negative"),
        ({"split_by": "clip"}, "split_by must be 'record' or 'person', not 'clip'"),
        ({"split_by": "person", "people": 4}, "needs at least 5 people, not 4"),
        ({"correlation": {("build", "hatt"): 0.5}}, "moving figures have no attribute 'hatt'"),
        ({"correlation": {("action", "hat"): 0.5}}, "action has 8 values and hat has 2"),
        ({"shares": {"action": {"dance": 0.5}}}, "action has no value 'dance'"),
    ],
)
def test_mistakes(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError, match=said):
        moving_figures(**wrong)
