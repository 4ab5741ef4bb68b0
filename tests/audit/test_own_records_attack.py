"""A record among those of its person, and the number of records, in worlds of known answers."""

from __future__ import annotations

import numpy as np
import pytest

from withhold.audit.attackers import Logistic, Prior
from withhold.audit.attribute_evidence import AttributeEvidence
from withhold.audit.coarse_figures import coarse
from withhold.audit.evaluate import evaluate
from withhold.audit.evidence import Evidence
from withhold.audit.setting_groups import Effort, Pairing
from withhold.records.dataset import Dataset

PEOPLE = 240


def audited(who, secret, columns, *, seed: int = 0, preserve=(), **options) -> Evidence:
    """The audit of a release of noise and `columns`; the original tells the secret."""
    rng = np.random.default_rng([seed, 0xA1])
    x = rng.normal(size=(2, len(who), 3)).astype(np.float32)
    x[0, :, 0] += 3 * secret
    labels = {"secret": np.where(secret, "a", "b"), "who": who} | columns
    original = Dataset.from_arrays(x[0], labels, group="who")
    release = Dataset.from_arrays(x[1], columns)
    effort = Effort(attackers=(Prior(), Logistic()), quick=True, workers=1, seed=seed)
    pairing = Pairing(same_order=True, order_counts=False)
    return evaluate(
        original,
        release,
        "secret",
        preserve,
        hidden=(),
        effort=effort,
        pairing=pairing,
        fail_if="secret@linked>floor+10",
        **options,
    )


def two_of_six(seed: int, people: int = PEOPLE):
    """Two of the six records of everybody have the label; a coin per person and the label: ward."""
    rng = np.random.default_rng([seed, 0xA2])
    secret = rng.permuted(np.tile([0, 0, 0, 0, 1, 1], (people, 1)), axis=1).reshape(-1)
    who = np.repeat(np.arange(people), 6)
    return rng, who, secret, rng.integers(0, 2, people)[who] ^ secret


def test_the_rarer_ward_of_a_person_is_read_from_the_record_among_the_others() -> None:
    _, who, secret, ward = two_of_six(0)
    seen = audited(who, secret, {"ward": [f"w{w}" for w in ward]})
    a = seen.attributes["secret"]
    assert a.informed.least <= a.floor
    assert a.linked_row is not None
    assert a.linked_row.accuracy > 0.98
    assert a.linked == {}
    assert a.status == "readable"
    assert a.worst_tier == "linked_row"
    assert a.linked_by == "who"
    assert seen.gate is not None
    assert not seen.gate.passed
    assert "one record among the others of its who" in seen.verdict
    assert coarse(a).sure["linked_row"]


def test_an_xor_of_two_columns_is_read_among_the_others_too() -> None:
    rng, who, secret, ward = two_of_six(1)
    one = rng.integers(0, 2, len(who))
    columns = {"one": [f"a{v}" for v in one], "two": [f"b{v}" for v in one ^ ward]}
    found = audited(who, secret, columns).attributes["secret"].linked_row
    assert found is not None
    assert found.least > found.floor


def test_what_preserved_labels_tell_among_the_others_is_the_floor() -> None:
    _, who, secret, ward = two_of_six(2)
    columns = {"ward": [f"w{w}" for w in ward]}
    found = audited(who, secret, columns, preserve="ward").attributes["secret"].linked_row
    assert found is not None
    assert found.floor > 0.95


def test_a_label_of_people_with_mistakes_is_read_from_sets() -> None:
    """One record in 25 is mistaken; all records of a person of class 1 have one ward."""
    rng = np.random.default_rng(3)
    who = np.repeat(np.arange(PEOPLE), 6)
    sex = rng.permutation(np.arange(PEOPLE) % 2)[who]
    own, each = rng.integers(0, 2, PEOPLE)[who], rng.integers(0, 2, len(who))
    ward = [f"w{w}" for w in np.where(sex == 1, own, each)]
    recorded = np.where(rng.random(len(who)) < 0.04, 1 - sex, sex)
    a = audited(who, recorded, {"ward": ward}).attributes["secret"]
    assert a.linked["5"].accuracy > 0.9
    assert a.sure["linked5"]
    assert a.linked_row is not None  # labels differ within people


def numbered(seed: int, *, told: bool):
    rng = np.random.default_rng([seed, 0xA4])
    sex = rng.permutation(np.arange(PEOPLE) % 2)
    rows = 6 + 2 * (sex if told else rng.integers(0, 2, PEOPLE))
    who = np.repeat(np.arange(PEOPLE), rows)
    return who, sex[who], {"note": [f"n{v}" for v in rng.integers(0, 2, len(who))]}


def test_the_number_of_records_is_read() -> None:
    seen = audited(*numbered(0, told=True))
    a = seen.attributes["secret"]
    assert a.linked_number is not None
    assert a.linked_number.accuracy == 1
    assert not a.sure["linked5"]
    assert a.status == "readable"
    assert "from how many records each who has" in seen.verdict
    assert coarse(a).sure["linked_number"]
    assert seen.gate is not None
    assert not seen.gate.passed


def test_unlabelled_records_count_too() -> None:
    """Women have two records more, and those have no label."""
    who, sex, _ = numbered(0, told=False)
    more = np.flatnonzero(sex == 1)[::4]
    rng = np.random.default_rng(0)
    who, labels = np.append(who, who[more]), [*np.where(sex, "a", "b"), *[None] * len(more)]
    x = rng.normal(size=(len(who), 3)).astype(np.float32)
    data = Dataset.from_arrays(x, {"secret": labels, "who": who}, group="who")
    effort = Effort(attackers=(Prior(), Logistic()), quick=True, workers=1)
    a = evaluate(data, None, "secret", hidden=(), effort=effort).attributes["secret"]
    assert a.linked_number is not None
    assert a.linked_number.accuracy > a.linked_number.floor + 0.1


def test_with_one_number_of_records_there_is_nothing_to_count() -> None:
    rng = np.random.default_rng(0)
    who = np.repeat(np.arange(PEOPLE), 6)
    a = audited(who, rng.integers(0, 2, PEOPLE)[who], {}).attributes["secret"]
    assert a.linked_number is None
    assert a.linked_row is None
    assert a.not_linked == ""


@pytest.mark.parametrize("seed", range(5))
def test_columns_that_have_nothing_to_do_with_the_label_are_no_leak(seed: int) -> None:
    rng, who, secret, _ = two_of_six(seed)
    columns = {"ward": [f"w{w}" for w in rng.integers(0, 2, len(who))]}
    among = audited(who, secret, columns, seed=seed).attributes["secret"].linked_row
    number = audited(*numbered(seed, told=False), seed=seed).attributes["secret"].linked_number
    for found in (among, number):
        assert found is not None
        assert found.least <= found.floor


def test_what_cannot_be_attacked_is_said_and_no_floor_is_claimed() -> None:
    _, who, secret, ward = two_of_six(0, people=14)
    seen = audited(who, secret, {"ward": [f"w{w}" for w in ward]})
    a: AttributeEvidence = seen.attributes["secret"]
    assert a.linked_row is None
    assert "too few people" in a.not_linked
    assert any("not attacked: " in note for note in a.notes)
    assert "may be readable for whoever knows which records are of one person" in seen.verdict
    assert seen.gate is not None
    assert not seen.gate.passed  # a condition that cannot be checked fails
