"""A budget is kept on records that the channel was not learned from, or refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from methods.features.codebook.leaking import changed, fit, leaking, made
from support import Recorder
from withhold.core.errors import UserError
from withhold.methods.features.codebook import CodebookModifier
from withhold.methods.features.codebook.budget import read_budget
from withhold.methods.features.codebook.calibrate import Calibration, distortion
from withhold.records.dataset import Dataset
from withhold.records.roles import Roles

# Free use of the codes leaks, in this world, and there is something to tighten and to loosen.
LEAKY = {"relax": 0.02, "solver": "barycentre", "use_labels": True, "codes": 8}


@pytest.fixture(scope="module")
def data() -> Dataset:
    """Words are not equally frequent among people: a free channel tells who it is."""
    base = leaking(2000)
    rng = np.random.default_rng(0)
    who = base.attribute("who").codes
    word = base.attribute("word").codes
    keep = rng.random(2000) < np.where(word == who % 4, 1.0, 0.25)
    return base.rows(keep)


def calibration(data: Dataset, budget: str) -> Calibration:
    limits = read_budget(budget, ("who",))
    held, fitted = data.part("val"), data.part("train")
    return Calibration.of(held, fitted, Roles.of("who"), limits, labelled=True, dataset=data.name)


def leak(modifier: CodebookModifier, data: Dataset) -> float:
    return calibration(data, "who<=99").leaks(modifier)["who"].accuracy


def test_a_tight_budget_is_kept_by_chance_codes_and_that_is_said(data: Dataset) -> None:
    free = made(data, **LEAKY)
    floor = calibration(data, "who<=99").floors["who"]
    assert leak(free, data) > floor + 0.1
    said = Recorder()
    tight = made(data, **LEAKY, budget="who<=floor+4", progress=said)
    assert 0 < tight.book.mix < 1
    assert leak(tight, data) <= floor + 0.04 + 1e-6
    line = next(s for s in said.lines if s.startswith("warning: the budget is kept only if"))
    assert f"{100 * tight.book.mix:.0f} % of the records get a random code" in line
    assert "with: who" in line
    assert np.allclose(tight.probabilities(data.x[:9], {"who": data.attribute("who").rows(
        np.arange(9))}).sum(axis=1), 1, atol=1e-5)  # fmt: skip


def test_the_tighter_the_budget_the_more_is_left_to_chance(data: Dataset) -> None:
    mix = [made(data, **LEAKY, budget=f"who<=floor+{points}").book.mix for points in (15, 8, 4)]
    assert mix == sorted(mix)
    assert mix[0] < mix[-1]


def test_a_budget_in_bits(data: Dataset) -> None:
    told = calibration(data, "who<=1 bits").leaks(made(data, **LEAKY))["who"].bits
    assert told > 0.1
    tight = made(data, **LEAKY, budget="who<=0.05 bits")
    assert tight.book.mix > 0
    assert calibration(data, "who<=1 bits").leaks(tight)["who"].bits <= 0.05 + 1e-6


def test_a_loose_budget_buys_a_release_no_worse_than_the_exact_one(data: Dataset) -> None:
    said = Recorder()
    settings = {"solver": "barycentre", "use_labels": True, "least": 1, "codes": 8}
    exact = made(data, **settings)
    loose = made(data, **settings, budget="who<=90", progress=said)
    assert loose.book.mix == 0
    assert distortion(loose, data.part("val")) <= distortion(exact, data.part("val")) + 1e-6
    assert "budget kept on" in said.text
    assert leak(loose, data) <= 0.9


def test_a_budget_is_kept_after_codes_without_people_are_left_out() -> None:
    """Leaving codes out changes the channel, so it comes before the last measurement."""
    base = leaking(1500, noise=1.0)
    who, word = base.attribute("who").codes, base.attribute("word").codes
    uneven = base.rows(np.random.default_rng(0).random(1500) < np.where(word == who % 4, 1, 0.35))
    floor = calibration(uneven, "who<=99").floors["who"]
    for points in (3, 6):
        settings = LEAKY | {"codes": 60, "least": 12, "budget": f"who<=floor+{points}"}
        assert leak(made(uneven, **settings), uneven) <= floor + points / 100 + 1e-6


def test_below_the_floor_is_refused_with_the_nearest(data: Dataset) -> None:
    with pytest.raises(UserError, match=r"cannot be met: .*'who'.* the lowest .* who<=floor$"):
        fit(data, budget="who<=5")


def test_what_even_a_constant_reads_is_refused_with_the_figure(data: Dataset) -> None:
    """By luck the calibration records hold more of one class than the fitted ones."""
    held = data.attribute("who").codes
    rare = data.rows((np.asarray(data.parts) != "val") | (held == 0))
    with pytest.raises(UserError, match=r"'who<=60' cannot be met: .* right in 100.00 %"):
        fit(rare, **LEAKY, budget="who<=60")
    assert calibration(rare, "who<=floor").floors["who"] == 1


def test_a_constant_keeps_every_budget_from_the_floor_on(data: Dataset) -> None:
    """Also where calibration records hold more of one class: what tells nothing is enough."""
    held = data.attribute("who").codes
    luck = data.rows(
        (np.asarray(data.parts) != "val") | (held == 0) | (np.arange(len(data)) % 3 == 0)
    )
    one = calibration(luck, "who<=floor; who<=0 bits")
    modifier = made(luck, **LEAKY)
    assert one.met(one.leaks(modifier, mix=1.0))
    assert not one.met(one.leaks(modifier))


def test_no_bits_at_all_can_be_had(data: Dataset) -> None:
    """A release that tells nothing tells 0 bits, whatever rounding says."""
    assert made(data, **LEAKY, budget="who<=0 bits").book.mix == pytest.approx(1, abs=0.05)


def test_without_a_val_part_some_of_train_is_held_out(data: Dataset) -> None:
    split = ["train" if p == "val" else p for p in data.table["split"].to_pylist()]
    train_only, said = changed(data, split=split), Recorder()
    fit(train_only, budget="who<=90", relax=1.0, progress=said)
    count = len(train_only.part("train"))
    kept = int(next(s for s in said.lines if "budget kept" in s).split()[3].replace(",", ""))
    assert count / 4 - 1 <= kept <= count / 4 + 1


def test_a_class_that_is_held_out_whole_can_still_be_transformed() -> None:
    base = leaking(601)
    who = ["zz" if i == 3 else w for i, w in enumerate(base.table["who"].to_pylist())]
    data = changed(base, who=who, split=["train"] * 601)
    settings = {"solver": "barycentre", "use_labels": True, "smallest": 1, "budget": "who<=90"}
    modifier = made(data, **settings)
    assert np.isfinite(modifier.transform(data.x, {"who": data.attribute("who")})).all()


def test_calibration_records_without_a_label_are_left_out(data: Dataset) -> None:
    who = data.table["who"].to_pylist()
    first = data.table["split"].to_pylist().index("val")
    who[first] = None
    fit(changed(data, who=who), budget="who<=90", relax=1.0)
    fit(changed(data, who=who), budget="who<=90", solver="barycentre", use_labels=True)


def test_calibration_records_without_any_label_keep_no_budget(data: Dataset) -> None:
    pairs = zip(data.table["who"].to_pylist(), data.table["split"].to_pylist(), strict=True)
    blank = changed(data, who=pa.array([None if part == "val" else w for w, part in pairs]))
    with pytest.raises(
        UserError, match=r"leaking has 0 records with a label of 'who' to calibrate"
    ):
        fit(blank, budget="who<=floor+1", relax=1.0)


@pytest.mark.parametrize(("number", "enough"), [(19, False), (20, True)])
def test_twenty_labelled_calibration_records_are_enough(
    data: Dataset, number: int, enough: bool
) -> None:
    who, held = data.table["who"].to_pylist(), np.flatnonzero(np.asarray(data.parts) == "val")
    for row in held[number:]:
        who[row] = None
    few, settings = changed(data, who=who), LEAKY | {"budget": "who<=100"}
    if enough:
        assert made(few, **settings).book.mix == 0
        return
    with pytest.raises(UserError, match=r"has 19 records with a label of 'who' .*but needs 20"):
        fit(few, **settings)


def test_an_attribute_of_several_labels_has_no_budget() -> None:
    data = leaking(300)
    tags = [["a"] if i % 3 else ["a", "b"] if i % 2 else [] for i in range(300)]
    with pytest.raises(UserError, match="'tags' has several labels"):
        fit(changed(data, tags=tags), "who,tags", budget="tags<=60")


def test_distortion_is_0_of_the_records_themselves_and_1_of_their_mean() -> None:
    data = leaking(400)
    modifier = made(data, codes=4)
    train = data.part("train")
    assert 0.1 < distortion(modifier, train) < 1
    mean = np.repeat(train.x.mean(axis=0)[None], len(modifier.codes), axis=0)
    constant = CodebookModifier(replace(modifier.book, codes=mean), b"k" * 32, (), ())
    assert distortion(constant, train) == pytest.approx(1, abs=1e-4)
