"""Linked, repeated, joint, by group, and the original alone: with known answers."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
import pyarrow as pa
import pytest

from audit.audited import LINEAR, QUICK, Spy, audit, world
from support import of_world
from withhold.audit.attackers import Prior, Trees
from withhold.core.errors import UserError
from withhold.datasets.worlds import gaussian
from withhold.records.attribute import Attribute, combine
from withhold.records.dataset import Dataset


def below(t: float) -> float:
    return NormalDist().cdf(t)


# --- linked ---


def test_records_of_one_person_add_up():
    """s in ±m with unit noise: one record is right in Φ(m), r of one person in Φ(m √r)."""
    m, rng = 0.3, np.random.default_rng(0)
    person = np.repeat(np.arange(400), 20)
    s = (person % 2) * 2 - 1
    x = rng.standard_normal((8000, 3))
    x[:, 0] += m * s
    columns = {"person": [f"p{i}" for i in person], "s": person % 2}
    data = Dataset.from_arrays(x, columns, group="person")
    found = audit(data, data, "s", (), hidden=()).attributes["s"]
    assert found.informed.accuracy == pytest.approx(below(m), abs=0.03)
    assert set(found.linked) == {"5", "20"}
    for r, tier in found.linked.items():
        assert tier.accuracy == pytest.approx(below(m * np.sqrt(int(r))), abs=0.06)
        assert tier.ci[0] <= below(m * np.sqrt(int(r))) <= tier.ci[1]
    assert found.worst_tier == "linked20"
    assert found.units == found.linked_by == "person"


def test_why_nothing_is_linked_is_said():
    data = of_world(world(500))
    secret = audit(data, data).attributes["secret"]
    assert secret.linked == {}
    assert any("not attacked" in n and "--group" in n for n in secret.notes)
    person = np.repeat(np.arange(50), 10)
    mixed = Dataset.from_arrays(data.x, data.table.append_column("p", [person]), group="p")
    notes = audit(mixed, mixed).attributes["secret"].notes
    assert any("differs between the records of one person" in n for n in notes)


# --- repeated ---


def test_several_draws_of_a_record_say_more_than_one():
    """Noise of σ on ±1: one draw is right in Φ(1/σ), the mean of k in Φ(√k/σ)."""
    rng = np.random.default_rng(0)
    s = np.tile([0, 1], 2500)
    x = np.zeros((5000, 4), np.float32)
    x[:, 0] = 2 * s - 1
    data = Dataset.from_arrays(x, {"s": s})
    draws = [data.with_features(x + 2 * rng.standard_normal(x.shape)) for _ in range(4)]
    found = audit(data, draws[0], "s", (), again=draws[1:]).attributes["s"]
    assert found.draws == 4
    assert found.informed.accuracy == pytest.approx(below(0.5), abs=0.03)
    assert found.repeated.accuracy == pytest.approx(below(1.0), abs=0.03)
    assert found.worst_tier == "repeated"
    alone = audit(data, draws[0], "s", ()).attributes["s"]
    assert alone.repeated is None
    assert alone.draws == 1


def test_draws_that_are_all_alike_are_noted():
    data = of_world(world(500))
    found = audit(data, data, again=[data, data])
    assert "every draw gave the same records: further draws reveal nothing more" in found.notes
    secret = found.attributes["secret"]
    assert secret.repeated.accuracy == secret.informed.accuracy
    assert not any("every draw" in n for n in audit(data, data).notes)


def test_draws_of_another_kind_are_refused():
    data = of_world(world(500))
    with pytest.raises(UserError, match=r"9 features and .* has 12; draws must have"):
        audit(data, data, again=[data.with_features(data.x[:, :9])])


# --- joint ---


@pytest.fixture(scope="module")
def crossed():
    """Only whether gender and accent agree is in the features: of each alone, nothing is."""
    rng = np.random.default_rng(0)
    gender, accent, kept = rng.integers(0, 2, (3, 3000))
    x = rng.standard_normal((3000, 3))
    x[:, 0] += 8 * (gender ^ accent)
    columns = {"gender": gender, "accent": np.array(["a", "b"])[accent], "kept": kept}
    return Dataset.from_arrays(x, columns)


def test_what_neither_gives_away_may_be_read_of_both_together(crossed):
    # With the column 'accent' in the release, gender alone could be read too.
    release = crossed.without(["accent"])
    found = audit(crossed, release, "gender", "kept", joint=["gender,accent", ["accent", "kept"]])
    attributes = found.attributes
    for name in ("gender", "accent"):
        assert attributes[name].status == "blind"
    both = attributes["gender,accent"]
    assert both.classes == 4
    assert both.majority == pytest.approx(0.25, abs=0.04)
    assert both.informed.accuracy == pytest.approx(0.5, abs=0.05)
    assert both.leakage_bits == pytest.approx(1, abs=0.05)
    assert both.status == "readable"
    # Suppressed where a member is; hidden where not all are preserved.
    assert {n: a.role for n, a in attributes.items()} == {
        "gender": "suppress",
        "accent": "hidden",
        "kept": "preserve",
        "gender,accent": "suppress",
        "accent,kept": "hidden",
    }
    assert "still readable by an attacker: gender,accent: " in found.verdict


def test_a_joint_attribute_of_preserved_ones_is_preserved_and_can_be_gated(crossed):
    found = audit(
        crossed,
        crossed.without(["accent"]),
        "gender",
        "kept, accent",
        joint=["kept , accent"],
        fail_if="kept,accent<101; gender>90",
    )
    assert found.attributes["kept,accent"].role == "preserve"
    both, gender = [c for c in found.gate.conditions if c.condition != "always"]
    assert both.failed
    # Below 90 %, but a straight line does not read it from the original either.
    assert found.attributes["gender"].status == "blind"
    assert gender.failed
    assert gender.found < gender.limit
    assert "do not read 'gender' from the original either" in gender.said


def test_combine_has_a_class_for_each_combination_that_there_is():
    one = Attribute("g", "categorical", ("f", "m"), np.array([0, 1, 1, -1, 0]))
    two = Attribute("a", "categorical", ("x", "y", "z"), np.array([2, 0, 2, 1, 2]))
    both = combine([one, two])
    assert both.name == "g,a"
    assert both.classes == ("f · z", "m · x", "m · z")
    assert both.codes.tolist() == [0, 1, 2, -1, 0]
    several = Attribute("t", "multilabel", ("x",), np.zeros((5, 1), np.int64))
    with pytest.raises(UserError, match="attribute 't' is multi-label and cannot be joined"):
        combine([one, several])


# --- groups ---


def test_the_village_where_a_secret_is_read_is_named_and_where_a_use_is_lost():
    rng = np.random.default_rng(0)
    n = 4000
    village = rng.integers(0, 8, n)
    secret, useful = rng.integers(0, 2, (2, n))
    x = rng.standard_normal((n, 4))
    x[:, 0] += 8 * np.where(village == 3, secret, 0.5)
    x[:, 1] += 8 * np.where(village == 5, 0.5, useful)
    columns = {"village": [f"v{v}" for v in village], "secret": secret, "useful": useful}
    data = Dataset.from_arrays(x, columns)
    found = audit(data, data)
    best, lost = (found.attributes[a].worst_group for a in ("secret", "useful"))
    assert (best.by, best.value) == ("village", "v3")
    assert best.accuracy > 0.95 > 0.7 > found.attributes["secret"].informed.accuracy
    assert (lost.by, lost.value) == ("village", "v5")
    assert lost.accuracy < 0.7 < found.attributes["useful"].informed.accuracy
    assert {s.value for s in found.attributes["secret"].by_class} == {"0", "1"}


# --- the original alone ---


def test_without_a_release_the_original_is_what_is_attacked():
    data = of_world(world(1000))
    spy = Spy()
    audit(data, None, attackers=(spy,))
    assert len(spy.seen) == 2  # once each
    found = audit(data, None)
    assert found.release is None
    assert found.distortion is None
    secret = found.attributes["secret"]
    assert secret.original == secret.informed
    assert secret.ignorant is None
    assert secret.models == ()
    assert secret.nag == pytest.approx(1)
    assert "an attacker can read from the data: secret: 9" in found.verdict


def test_without_a_release_and_roles_all_attributes_are_hidden():
    data = of_world(world(1000))
    found = audit(data, None, "", "")
    assert {a.role for a in found.attributes.values()} == {"hidden"}
    assert set(found.attributes) == {"secret", "useful"}
    assert found.attributes["secret"].informed.accuracy > 0.95
    found = audit(data, None, (), "useful")
    assert {n: a.role for n, a in found.attributes.items()} == {
        "secret": "hidden",
        "useful": "preserve",
    }
    with pytest.raises(UserError, match="no attribute to suppress"):
        audit(data, data, "", "")


# --- several labels, and attackers that decline ---


def test_an_attribute_of_several_labels_is_measured():
    rng = np.random.default_rng(0)
    on = rng.integers(0, 2, (1500, 3))
    x = rng.standard_normal((1500, 5))
    x[:, :2] += 6 * on[:, :2]
    data = Dataset.from_arrays(x, {"secret": pa.array(on.tolist()), "useful": on[:, 0]})
    found = audit(data, data)
    tags = found.attributes["secret"]
    assert tags.kind == "multilabel"
    assert tags.informed.accuracy == pytest.approx((1 + 1 + 0.5) / 3, abs=0.03)
    assert tags.informed.cmap > 0.8
    assert tags.by_class == ()
    assert any("several labels" in note for note in tags.notes)


def test_who_declines_is_on_the_ladder_with_a_reason():
    data = of_world(gaussian.full_leak(600, 12, 12))
    found = audit(data, data, "label", (), attackers=(*LINEAR, Trees(budget=1e4)))
    skipped = [r for r in found.attributes["label"].ladder if r.skipped]
    assert [r.attacker for r in skipped] == ["trees"]
    assert "12 classes of 360 records are too many" in skipped[0].skipped
    assert skipped[0].accuracy is None
    assert found.attributes["label"].informed.accuracy == 1.0


def test_a_ladder_of_the_blind_reads_the_majority():
    data = of_world(world(500))
    secret = audit(data, data, attackers=(Prior(),)).attributes["secret"]
    assert secret.informed.accuracy == secret.majority
    assert secret.informed.bits == pytest.approx(0, abs=1e-3)
    assert audit(data, data, attackers=QUICK).attributes["secret"].informed.accuracy > 0.9
