"""A certificate from end to end: worlds with an exact answer, units, labels, and refusals."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from certificate.made import TableChannel, bundle, data, with_split
from populations import best
from support import TINY, Recorder, mixed
from withhold import certify
from withhold.actions.fit import fit_bundle
from withhold.bench.population import draw_population
from withhold.certificate.bound import chernoff
from withhold.certificate.certify_bundle import ROWS
from withhold.certificate.claim_wording import at_most, headline
from withhold.certificate.claims import GroupClaim, NoGroupClaim
from withhold.core.errors import UserError
from withhold.core.signature import keyed_digest
from withhold.records.dataset import Dataset
from withhold.records.roles import Roles

HALF = [[0.9, 0.1], [0.1, 0.9]]  # type 0 mostly gets code 0, type 1 code 1


def letters(codes: np.ndarray, names: str = "abcdefgh") -> list[str]:
    return [names[c] for c in codes]


# --- known answers ----------------------------------------------------------------------------


def drawn_plug_in(channel: TableChannel, new: Dataset, secret: np.ndarray) -> float:
    """sum_j max_s of the codes that the channel gives, by hand."""
    counts = np.zeros((int(secret.max()) + 1, len(channel.codes)))
    np.add.at(counts, (secret, channel.draw(new.x)), 1)
    return float(counts.max(axis=0).sum() / len(secret))


def test_a_table_that_can_be_added_up_by_hand() -> None:
    """50 of each class; the class is the type: about 90 % of each code is one class."""
    types = np.arange(100) % 2
    new = data(types, secret=letters(types))
    found = certify(bundle(TableChannel(HALF)), new)
    a = found.attributes["secret"]
    by_hand = drawn_plug_in(TableChannel(HALF), new, types)
    assert a.plug_in == pytest.approx(by_hand)
    assert by_hand == pytest.approx(0.9, abs=0.08)
    assert a.bound == pytest.approx(chernoff(by_hand, 100, 0.95), abs=1e-6)
    assert a.slack == pytest.approx(a.bound - a.plug_in)
    assert (a.classes, a.records, a.missing, a.majority, a.floor) == (2, 100, 0, 0.5, 0.5)
    assert a.worst_lift.lift == pytest.approx(1.8, abs=0.2)
    assert a.codes_used == 2
    assert (found.codes, found.data.part, found.data.records) == (2, "all", 100)


def test_one_code_for_all_is_the_majority_and_its_slack() -> None:
    secret = ["a"] * 300 + ["b"] * 700
    found = certify(bundle(TableChannel([[1.0]])), data(np.zeros(1000), secret=secret))
    a = found.attributes["secret"]
    assert a.plug_in == a.majority == 0.7
    assert a.bound == pytest.approx(chernoff(0.7, 1000, 0.95))
    assert (a.smallest_behind_code.number, a.smallest_behind_code.of) == (1000, "records")
    assert a.linked["50"].plug_in == pytest.approx(0.7)


def test_a_code_for_each_class_is_found_out() -> None:
    types = np.arange(400) % 8
    found = certify(bundle(TableChannel(np.eye(8))), data(types, secret=letters(types)))
    a = found.attributes["secret"]
    assert (a.plug_in, a.bound) == (1.0, 1.0)
    assert a.worst_lift.lift == pytest.approx(8)


def test_the_floor_is_what_the_preserved_labels_tell() -> None:
    types = np.arange(100) % 4
    made = bundle(TableChannel(np.eye(4)[:, :1]), preserve="colour")
    new = data(np.zeros(100), secret=letters(types), colour=letters(types // 2))
    assert certify(made, new).attributes["secret"].floor == 0.5


def test_missing_labels_are_left_out_and_counted() -> None:
    types = np.arange(100) % 2
    secret = [None if i < 40 else s for i, s in enumerate(letters(types))]
    a = certify(bundle(TableChannel(HALF)), data(types, secret=secret)).attributes["secret"]
    assert (a.records, a.missing) == (60, 40)
    assert a.plug_in == pytest.approx(0.9, abs=0.1)


def test_several_batches_add_up_to_the_same() -> None:
    """More records than a batch: the sum is that of the parts."""
    rng = np.random.default_rng(0)
    n = 2 * ROWS + 5
    types, secret = rng.integers(0, 4, n), rng.integers(0, 3, n)
    table = rng.dirichlet(np.ones(16), 4)
    bar = Recorder()
    made, new = bundle(TableChannel(table)), data(types, secret=letters(secret))
    found = certify(made, new, progress=bar)
    by_hand = drawn_plug_in(TableChannel(table), new, secret)
    assert found.attributes["secret"].plug_in == pytest.approx(by_hand)
    assert bar.steps == {"certifying": n}


# --- several attributes -----------------------------------------------------------------------


def test_attributes_are_certified_alone_and_together() -> None:
    """Two bits in one code of four: each bit, and both at once, are known."""
    types = np.arange(200) % 4
    new = data(types, one=letters(types // 2), two=letters(types % 2))
    found = certify(bundle(TableChannel(np.eye(4)), suppress="one,two"), new)
    assert list(found.attributes) == ["one", "two", "one,two"]
    assert found.attributes["one,two"].classes == 4
    assert found.attributes["one,two"].plug_in == 1.0


def test_together_is_more_than_alone() -> None:
    """The code is the exclusive or of two bits: nothing of either, all of whether they differ."""
    types = np.arange(400) % 4
    table = np.eye(2)[[0, 1, 1, 0]]
    new = data(types, one=letters(types // 2), two=letters(types % 2))
    found = certify(bundle(TableChannel(table), suppress="one,two"), new)
    assert found.attributes["one"].plug_in == pytest.approx(0.5)
    assert found.attributes["one,two"].plug_in == pytest.approx(0.5)
    assert found.attributes["one,two"].majority == 0.25


def test_each_label_of_several_is_an_attribute() -> None:
    types = np.arange(80) % 2
    tags = [["x", "y"] if t else ["y"] for t in types]
    tags[0], tags[1] = [], None  # type: ignore[call-overload]
    fitted = data(np.zeros(8), first=-100, tags=[["x"], ["y"]] * 4)
    made = bundle(TableChannel(np.eye(2)), suppress="tags", fitted=fitted)
    found = certify(made, data(types, tags=tags))
    assert list(found.attributes) == ["tags.x", "tags.y", "tags.x,tags.y"]
    assert found.attributes["tags.x"].plug_in == 1.0
    assert found.attributes["tags.x"].missing == 1


def test_too_many_combinations_are_left_out_and_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[certify.__module__], "JOINT", 3)
    types = np.arange(80) % 4
    new = data(types, one=letters(types // 2), two=letters(types % 2))
    found = certify(bundle(TableChannel(np.eye(4)), suppress="one,two"), new)
    assert list(found.attributes) == ["one", "two"]
    assert found.notes == ("'one,two' together have 4 combinations, too many to certify",)


# --- labels that the channel needs ------------------------------------------------------------


def test_the_channel_gets_the_labels_it_needs() -> None:
    channel = TableChannel(HALF, needs=("secret",))
    types = np.arange(10) % 2
    found = certify(bundle(channel), data(types, secret=letters(types, "xy")))
    assert found.labels_used == ("secret",)
    for asked in channel.asked:
        classes, codes = asked["secret"]
        assert classes == ("x", "y")
        np.testing.assert_array_equal(codes, types)


def test_without_them_it_is_refused() -> None:
    channel = TableChannel(HALF, needs=("mood",))
    with pytest.raises(UserError, match="needs the column mood"):
        certify(bundle(channel), data([0, 1], secret=["a", "b"]))


# --- people -----------------------------------------------------------------------------------


def people(types: np.ndarray, who: np.ndarray, secret: list[str], seen: str = "old") -> object:
    names = {"secret": ["a", "b"] * 4, "person": [f"{seen}{i}" for i in range(8)]}
    fitted = data(np.zeros(8), first=-100, group="person", **names)
    new = data(types, group="person", secret=secret, person=[f"p{w}" for w in who])
    return certify(bundle(TableChannel(HALF), fitted=fitted), new).attributes["secret"].groups


@settings(max_examples=25)
@given(st.integers(0, 2**32), st.integers(2, 60))
def test_groups_of_one_record_are_records(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    types = rng.integers(0, 2, n)
    secret = letters(np.concatenate([[0, 0, 1, 1], rng.integers(0, 2, n)])[: max(n, 4)])
    types = np.resize(types, len(secret))
    new = data(types, group="person", secret=secret, person=[f"p{i}" for i in range(len(types))])
    names = {"secret": ["a", "b"] * 4, "person": [f"o{i}" for i in range(8)]}
    fitted = data(np.zeros(8), first=-100, group="person", **names)
    a = certify(bundle(TableChannel(HALF), fitted=fitted), new).attributes["secret"]
    assert isinstance(a.groups, GroupClaim)
    assert a.groups.groups == a.records
    assert a.groups.plug_in == pytest.approx(a.plug_in)
    assert a.groups.bound == pytest.approx(a.bound)
    assert a.groups.majority == pytest.approx(a.majority)


def test_a_group_counts_once_however_many_records_it_has() -> None:
    """Person 0 has 97 records of type 0, three others one each of type 1."""
    types, who = np.array([0] * 97 + [1] * 3), np.array([0] * 97 + [1, 2, 3])
    found = people(types, who, ["a"] * 97 + ["a", "b", "b"])
    assert isinstance(found, GroupClaim)
    drawn = TableChannel(HALF).draw(data(types).x)
    counts = np.zeros((2, 2))
    weight = np.array([1 / 97] * 97 + [1.0] * 3)
    np.add.at(counts, ([0] * 98 + [1, 1], drawn), weight)
    assert found.plug_in == pytest.approx(counts.max(axis=0).sum() / 4)
    assert (found.groups, found.column) == (4, "person")


def test_where_groups_cannot_be_counted_the_reason_is_given() -> None:
    types = np.arange(12) % 2
    alone = people(types, types, letters(types))
    assert isinstance(alone, NoGroupClaim)
    assert "every class of 'secret' is in one 'person' only" in alone.reason
    known = people(types, np.arange(12) % 5, letters(types), seen="p")
    assert isinstance(known, NoGroupClaim)
    assert "5 'person' of these records were in the fit already" in known.reason
    none = certify(bundle(TableChannel(HALF)), data(types, secret=letters(types)))
    assert "no group was named" in none.to_dict()["attributes"]["secret"]["groups"]["reason"]
    other = data(types, group="who", secret=letters(types), who=np.arange(12) % 5)
    claim = certify(bundle(TableChannel(HALF)), other).attributes["secret"].groups
    assert isinstance(claim, NoGroupClaim)
    assert "the fit was given no group and not 'who'" in claim.reason


def test_the_group_that_is_suppressed_itself_has_no_claim_about_others() -> None:
    who = np.arange(60) % 6
    names = {"person": [f"o{i % 4}" for i in range(8)]}
    fitted = data(np.zeros(8), first=-100, group="person", **names)
    made = bundle(TableChannel(HALF), suppress="person", fitted=fitted)
    new = data(who % 2, group="person", person=letters(who))
    assert isinstance(certify(made, new).attributes["person"].groups, NoGroupClaim)


def test_the_group_of_the_fit_is_the_group_unless_another_is_named() -> None:
    who, types = np.arange(60) % 6, np.arange(60) % 2
    names = {"secret": ["a", "b"] * 4, "person": [f"o{i % 4}" for i in range(8)]}
    fitted = data(np.zeros(8), first=-100, group="person", **names)
    new = data(types, secret=letters(types), person=letters(who))
    a = certify(bundle(TableChannel(HALF), fitted=fitted), new).attributes["secret"]
    assert isinstance(a.groups, GroupClaim)
    assert a.smallest_behind_code.of == "person"


# --- which records ----------------------------------------------------------------------------


def test_of_the_file_of_the_fit_the_test_part_is_taken() -> None:
    whole = mixed()
    made = fit_bundle(whole, Roles.of("secret"), method="constant")
    found = certify(made, whole)
    assert (found.data.part, found.data.records) == ("test", len(whole.part("test")))
    assert found.data.sha256 == found.fit_sha256 == keyed_digest(made.modifier.key, whole.digest())
    assert found.to_dict() == made.certificate


def test_without_a_split_it_is_drawn_as_the_fit_drew_it() -> None:
    """By the fit's group, whatever group the certificate is asked for."""
    n = 300
    rng = np.random.default_rng(0)
    columns = {"secret": letters(rng.integers(0, 2, n)), "person": letters(np.arange(n) % 8)}
    whole = data(np.zeros(n), group="person", **columns)
    made = fit_bundle(whole, Roles.of("secret"), method="constant")
    expected = whole.with_drawn_split(["secret"]).part("test")
    for asked in (whole, replace(whole, group=None), replace(whole, group="secret")):
        assert certify(made, asked).data.records == len(expected)
    assert made.membership is not None
    assert made.membership.overlap(expected.x) == 0


def test_of_another_file_with_a_split_its_test_part_is_taken() -> None:
    types = np.arange(10) % 2
    new = with_split(data(types, secret=letters(types)), ["test"] * 6 + ["train"] * 4)
    found = certify(bundle(TableChannel(HALF)), new)
    assert (found.data.part, found.data.records) == ("test", 6)


def test_records_of_the_fit_are_refused() -> None:
    whole = mixed()
    made = fit_bundle(whole, Roles.of("secret"), method="constant")
    some = whole.part("train").without(["split"])
    with pytest.raises(UserError, match=r"96 of the 96 records of mixed were used in the fit"):
        certify(made, some)
    certify(made, whole.part("test").without(["split"]))  # these were not
    with pytest.raises(UserError, match="new records cannot be told from the fitted ones"):
        certify(replace(made, membership=None), some)


# --- refusals ---------------------------------------------------------------------------------


def test_a_method_without_finitely_many_codes_has_no_certificate() -> None:
    made = fit_bundle(mixed(), Roles.of("secret"), method="mass", config=TINY)
    with pytest.raises(UserError, match="method 'mass' has no certificate: its release is not one"):
        certify(made, mixed())


@pytest.mark.parametrize("confidence", [0.0, 1.0, 95.0, -0.5, float("nan")])
def test_a_confidence_that_is_none(confidence: float) -> None:
    with pytest.raises(UserError, match="confidence must lie between 0 and 1"):
        certify(bundle(TableChannel(HALF)), data([0], secret=["a"]), confidence=confidence)


def test_what_the_data_cannot_give() -> None:
    made = bundle(TableChannel(HALF))
    with pytest.raises(UserError, match=r"has 2 features, the bundle was fitted on 3"):
        certify(bundle(TableChannel(HALF, d=3)), data([0, 1], secret=["a", "b"]))
    with pytest.raises(UserError, match=r"'secret', which the bundle suppresses, is not in new"):
        certify(made, data([0, 1], secrets=["a", "b"]))
    with pytest.raises(UserError, match="'secret' has one class only"):
        certify(made, data([0, 1], secret=["a", "a"]))
    with pytest.raises(UserError, match="'secret' has no labels"):
        certify(made, data([0, 1], secret=[None, None]))
    with pytest.raises(UserError, match="has no test records to certify on"):
        certify(made, with_split(data([0, 1], secret=["a", "b"]), ["train", "val"]))


# --- soundness, through the front door --------------------------------------------------------


@pytest.mark.slow
def test_the_truth_is_seldom_above_the_certificate() -> None:
    """Records drawn from populations, through datasets and channels; 60 % confidence."""
    wrong, n = 0, 60
    for seed in range(n):
        rng = np.random.default_rng([3, seed])
        world, m = draw_population(rng), int(rng.integers(30, 200))
        k, types = world.joint.shape
        cells = rng.choice(k * types, m, p=world.joint.reshape(-1) / world.joint.sum())
        secret = [f"s{c}" for c in cells // types]
        if len(set(secret)) < 2:
            continue
        made = bundle(TableChannel(world.channel))
        a = certify(made, data(cells % types, secret=secret), confidence=0.6).attributes["secret"]
        # Types are told apart by a second feature, so every record draws for itself.
        wrong += best(world) > a.bound + 1e-6
    assert wrong <= binom.ppf(0.999, n, 0.4)


# --- repeated records -------------------------------------------------------------------------


@pytest.mark.slow
def test_equal_records_are_certified_as_they_are_released() -> None:
    """30 distinct records, 1,000 in all: the key gives each of them one code, for good.

    Summing W(j | x) would certify 50 % and a little; the true B of the key's channel is far above
    that. Over 40 keys the certificate lies below it in at most 5 % (and its slack) of them.
    """
    rng = np.random.default_rng(0)
    joint = rng.dirichlet(np.full(60, 0.3)).reshape(2, 30)
    soft = np.full((30, 16), 1 / 16)
    wrong = 0
    for number in range(40):
        cells = rng.choice(60, 1000, p=joint.reshape(-1))
        x = np.column_stack([cells % 30, np.zeros(1000)]).astype(np.float32)
        new = Dataset.from_arrays(x, {"secret": letters(cells // 30)}, name="new.parquet")
        channel = TableChannel(soft)
        channel.key = number.to_bytes(32, "big")
        types = np.column_stack([np.arange(30), np.zeros(30)]).astype(np.float32)
        hard = np.eye(16)[channel.draw(types)]
        truth = float((joint @ hard).max(axis=0).sum())
        assert truth > joint.sum(axis=1).max() + 0.02
        wrong += truth > certify(bundle(channel), new).attributes["secret"].bound
    assert wrong <= 6  # binom.ppf(0.99, 40, 0.05)


def test_equal_records_of_different_people_draw_for_themselves() -> None:
    channel = TableChannel(np.full((1, 8), 1 / 8), needs=("person",))
    channel.person = "person"
    x = np.zeros((400, 2), np.float32)
    people = [f"p{i}" for i in range(400)]
    new = Dataset.from_arrays(x, {"person": people})
    drawn = channel.draw(new.x, {"person": new.attribute("person")})
    assert len(np.unique(drawn)) == 8
    order = np.random.default_rng(0).permutation(400)
    shuffled = new.rows(order)
    again = channel.draw(shuffled.x, {"person": shuffled.attribute("person")})
    np.testing.assert_array_equal(again, drawn[order])
    alone = TableChannel(np.full((1, 8), 1 / 8))
    assert len(np.unique(alone.draw(new.x))) == 1


# --- what is stated ---------------------------------------------------------------------------


def test_where_a_group_is_named_its_bound_is_the_one_that_is_stated() -> None:
    who, types = np.arange(600) % 12, (np.arange(600) % 12) % 2
    names = {"secret": ["a", "b"] * 4, "person": [f"o{i}" for i in range(8)]}
    fitted = data(np.zeros(8), first=-100, group="person", **names)
    new = data(types, group="person", secret=letters(types), person=[f"p{w}" for w in who])
    found = certify(bundle(TableChannel(HALF), fitted=fitted), new)
    a = found.attributes["secret"]
    assert isinstance(a.groups, GroupClaim)
    assert a.stated == a.groups.bound > a.bound
    assert "12 different 'person'" in headline(found)
    assert f"{at_most(a.groups.bound)} %" in headline(found)


def test_nothing_is_stated_where_the_people_were_fitted_already() -> None:
    types = np.arange(60) % 2
    names = {"secret": ["a", "b"] * 4, "person": [f"p{i % 5}" for i in range(8)]}
    fitted = data(np.zeros(8), first=-100, group="person", **names)
    new = data(
        types, group="person", secret=letters(types), person=[f"p{i % 5}" for i in range(60)]
    )
    found = certify(bundle(TableChannel(HALF), fitted=fitted), new)
    assert found.attributes["secret"].stated is None
    assert "nothing is proved about 'secret' of other people" in headline(found)
