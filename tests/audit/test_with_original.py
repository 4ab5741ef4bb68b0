"""`with_original`: what a release adds for someone who knows whose row is whose, and the original.

Each world has an answer in closed form. The tier counts in verdict and gate only if rows can be
linked.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from audit.audited import audit
from report.pieces import evidence, found, with_original
from withhold.actions.fit import fit_bundle
from withhold.audit.attackers import Prior
from withhold.audit.coarse_figures import with_original as coarse_with_original
from withhold.audit.findings import WithOriginal
from withhold.audit.gate import check_gate, parse_gate
from withhold.core.coarse_grid import Grid
from withhold.core.errors import UserError
from withhold.records.dataset import Dataset
from withhold.records.readers import open_source
from withhold.records.roles import Roles
from withhold.records.table_features import attack_tables

N = 2000
NOISE = 0.1


def xor(rng: np.random.Generator):
    """s = sign of x_0, XOR a bit of the release, wrong in 10 %: 50 % from x, 90 % from both."""
    x, release = rng.normal(size=(2, N, 3))
    bit = rng.random(N) < 0.5
    release[:, 0] = np.where(bit, 1, -1) * np.abs(release[:, 0])
    return x, release, (x[:, 0] > 0) ^ bit ^ (rng.random(N) < NOISE)


def function_of_x(rng: np.random.Generator):
    """The release is one of 12 codes, the nearest to x: nothing that x does not say."""
    x = rng.normal(size=(N, 3))
    codes = rng.normal(size=(12, 3))
    near = np.square(x[:, None] - codes).sum(axis=2).argmin(axis=1)
    return x, codes[near], x[:, 0] + rng.normal(size=N) > 0


def independent(rng: np.random.Generator):
    x, release = rng.normal(size=(2, N, 3))
    return x, release, x[:, 0] + rng.normal(size=N) > 0


def measured(world, *, seed: int = 0, quick: bool = True, **more) -> WithOriginal:
    x, release, secret = world(np.random.default_rng([seed, 0x0B]))
    data = Dataset.from_arrays(x.astype(np.float32), {"secret": np.where(secret, "a", "b")})
    given = Dataset.from_arrays(release.astype(np.float32), {})
    seen = audit(
        data, given, preserve=(), attackers=(Prior(),), quick=quick, hidden=(), seed=seed, **more
    )
    return seen.attributes["secret"].with_original


def test_an_xor_of_original_and_release_is_read_from_both_only():
    seen = measured(xor)
    assert seen.accuracy == pytest.approx(1 - NOISE, abs=0.05)
    assert seen.alone == pytest.approx(0.5, abs=0.07)
    assert seen.sure
    assert seen.gain_ci[0] < 0.4 < seen.gain_ci[1]
    assert seen.floor >= seen.alone


@pytest.mark.parametrize("world", [function_of_x, independent])
@pytest.mark.parametrize("seed", [0, 1])
def test_a_release_that_adds_nothing_has_no_gain(world, seed):
    seen = measured(world, seed=seed)
    assert not seen.sure
    assert seen.gain_ci[0] <= 0
    assert seen.alone > 0.68  # 75 % at best: the attackers do read the original


@pytest.mark.slow
@pytest.mark.parametrize("world", [xor, function_of_x, independent])
def test_the_full_ladder_agrees(world):
    assert measured(world, quick=False).sure is (world is xor)


def heights(n: int = 2000) -> Dataset:
    """Height, weight and income tell the sex in 66 of 100 people."""
    rng = np.random.default_rng(0)
    sex = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    height = rng.normal(size=n) + 0.4 * sex
    weight = 0.6 * height + 0.8 * rng.normal(size=n) + 0.1 * sex
    income = rng.normal(size=n) + 0.1 * sex
    table = pa.table(
        {
            "height": np.round(170 + 8 * height),
            "weight": np.round(70 + 9 * weight),
            "income": np.round(np.exp(10 + income / 2), -2),
            "sex": np.where(sex > 0, "m", "f"),
        }
    )
    return Dataset.read(open_source(table), kind="table")


@pytest.mark.slow
def test_exact_has_a_gain_that_its_certificate_does_not_cover():
    """A tall woman gets the code of tall men: height and released height together tell the sex."""
    data = heights()
    bundle = fit_bundle(data, Roles.of("sex"), method="exact", config={}, key=bytes(32))
    before, after = attack_tables(data, bundle.release(data), ("sex",))
    listed = {"same_order": False, "attackers": (Prior(),), "hidden": ()}  # the rows are listed
    a = audit(before, after, "sex", (), **listed).attributes["sex"]
    assert a.informed.least <= a.floor
    assert a.with_original.sure
    assert a.with_original.gain > 0.1
    assert a.with_original.linked_by is None
    assert not a.readable  # rows leave in a random order


@pytest.mark.slow
@pytest.mark.parametrize("method", ["codebook", "mass"])
def test_methods_that_draw_from_the_original_alone_have_no_gain(method):
    rng = np.random.default_rng(3)
    secret = rng.random(N) < 0.5
    x = rng.normal(size=(N, 4)) + np.where(secret, 0.5, -0.5)[:, None]
    useful = np.where(x[:, 1] + rng.normal(size=N) > 0, "u", "v")
    data = Dataset.from_arrays(
        x.astype(np.float32), {"secret": np.where(secret, "a", "b"), "useful": useful}
    )
    config = {"epochs": 3} if method == "mass" else {"codes": 16}
    bundle = fit_bundle(data, Roles.of("secret", "useful"), method=method, config=config)
    release = bundle.release(data)
    listed = {"same_order": False, "attackers": (Prior(),), "hidden": ()}
    seen = audit(data, release, **listed).attributes["secret"].with_original
    assert not seen.sure
    assert abs(seen.gain) < 0.05


def test_rows_are_linked_by_their_order_by_a_kept_column_and_by_likeness():
    rng = np.random.default_rng(5)
    x, release, secret = xor(rng)
    ids = [f"p{i * 7919 % N}" for i in range(N)]
    labels = {"secret": np.where(secret, "a", "b")}
    data = Dataset.from_arrays(x.astype(np.float32), labels | {"person": ids})
    order = rng.permutation(N)

    def linked(features, columns, rows, **options):
        made = Dataset.from_arrays(
            features[rows].astype(np.float32), {k: np.array(v)[rows] for k, v in columns.items()}
        )
        quick = {"attackers": (Prior(),), "hidden": (), "preserve": ()} | options
        return audit(data, made, **quick).attributes["secret"]

    by_id = linked(release, {"person": ids}, order)
    assert by_id.with_original.linked_by == "column 'person'"
    assert by_id.readable
    assert by_id.worst_tier == "with_original"
    in_order = linked(release, {}, np.arange(N), same_order=True, order_counts=True)
    assert in_order.with_original.linked_by == "the order of the rows"
    assert in_order.readable
    unlinked = linked(release, {}, np.arange(N), same_order=True)  # the order does not leave
    assert unlinked.with_original.linked_by is None
    assert unlinked.with_original.sure
    assert not unlinked.readable
    alike = linked(x + 0.001 * release, {}, np.arange(N), same_order=True)
    assert alike.with_original.linked_by.startswith("likeness")


def test_a_released_column_that_names_people_links_rows_under_any_name():
    """Six rows each: no row is told from all others, and yet everybody sees whose it is."""
    rng = np.random.default_rng(5)
    x, release, secret = xor(rng)
    people = [f"p{i // 6}" for i in range(N)]
    labels = {"secret": np.where(secret, "a", "b"), "person": people}
    data = Dataset.from_arrays(x.astype(np.float32), labels, group="person")
    for name, column, linked in (
        ("person", people, "column 'person'"),
        ("who", people, "column 'who'"),
        ("other", [f"q{i % 50}" for i in range(N)], None),
    ):
        made = Dataset.from_arrays(release.astype(np.float32), {name: column})
        seen = audit(data, made, attackers=(Prior(),), hidden=(), preserve=(), same_order=True)
        assert seen.attributes["secret"].with_original.linked_by == linked


def attribute(*, linked_by: str | None, gain: float = 0.16):
    return found(
        "suppress",
        informed=0.5,
        classes=2,
        ignorant=None,
        n=600,
        with_original=with_original(0.66, gain, linked_by=linked_by),
    )


def test_it_counts_in_the_verdict_only_if_rows_can_be_linked():
    assert not attribute(linked_by=None).readable
    linked = evidence({"sex": attribute(linked_by="the order of the rows")})
    assert linked.alarming
    assert "sex: 82.0 % (floor 66.0 %; for someone who can tell whose row is whose" in (
        linked.verdict
    )
    small = attribute(linked_by="the order of the rows", gain=0.01)
    assert not small.readable


@pytest.mark.parametrize("linked_by", [None, "the order of the rows"])
def test_a_gate_can_name_it_whether_or_not_rows_are_linked(linked_by):
    a = attribute(linked_by=linked_by)
    for text, failed in (
        ("sex@with_original>80", True),
        ("sex@with_original>83", False),
        ("sex@with_original>floor+10", True),  # the floor is what the original tells alone
        ("sex@with_original>floor+20", False),
        ("sex>60", linked_by is not None),
    ):
        gate = check_gate(parse_gate(text, ["sex"]), {"sex": a})
        assert gate.passed is not failed, text


def test_without_a_release_there_is_nothing_to_gate():
    data = Dataset.from_arrays(
        np.random.default_rng(0).normal(size=(200, 2)).astype(np.float32),
        {"secret": np.arange(200) % 2},
    )
    with pytest.raises(UserError, match="tier 'with_original' will not be measured"):
        audit(data, None, preserve=(), fail_if="secret@with_original>60")


@pytest.mark.parametrize("gain", [0.16, 0.045, 0.0399, 0.03, 0.0, -0.02])
def test_whole_percents_leave_and_the_conclusion_stays(gain):
    whole = with_original(0.6631, gain, linked_by=None)
    left = coarse_with_original(whole, Grid(0.01))
    assert left.sure is whole.sure
    for value in (left.accuracy, left.alone, left.gain, left.floor, *left.ci):
        assert 100 * value == pytest.approx(round(100 * value), abs=1e-9)
    assert left.least <= left.accuracy + 0.011
