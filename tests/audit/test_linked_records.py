from __future__ import annotations

from statistics import NormalDist

import numpy as np
import pytest

from withhold.audit.linked_records import linked
from withhold.records.attribute import Attribute

EVEN = np.log(np.float32([0.5, 0.5]))


def below(t: float) -> float:
    return NormalDist().cdf(t)


def binary(codes) -> Attribute:
    return Attribute("a", "categorical", ("0", "1"), np.asarray(codes, np.int64))


def people(count, records, *, m, seed=0, share=0.5):
    """Records z = ±m + N(0, 1) with log odds 2 m z (+ those of the prior): log-probabilities,
    labels, prior and persons."""
    rng = np.random.default_rng(seed)
    s = (np.arange(count) < share * count).astype(int)
    who = np.repeat(np.arange(count), records)
    z = m * (2 * s[who] - 1) + rng.standard_normal(len(who))
    odds = 2 * m * z + np.log(share / (1 - share))
    log_p = -np.stack([np.logaddexp(0, odds), np.logaddexp(0, -odds)], axis=1)
    prior = np.log(np.float32([1 - share, share]))
    return log_p.astype(np.float32), binary(s[who]), prior, who


def test_r_records_add_up_to_the_known_answer():
    """The mean of r records is ±m + N(0, 1/r), so r of them are right in Φ(m √r)."""
    m = 0.25
    log_p, truth, prior, who = people(400, 50, m=m)
    found, why = linked(log_p, truth, prior, who, seed=0)
    assert why == ""
    assert list(found) == ["5", "20", "50"]
    for r, tier in found.items():
        assert tier.records == int(r)
        assert tier.people == 400
        assert tier.accuracy == pytest.approx(below(m * np.sqrt(int(r))), abs=0.03)
        assert tier.ci[0] <= below(m * np.sqrt(int(r))) <= tier.ci[1]
        assert tier.least < tier.ci[0] <= tier.accuracy <= tier.ci[1]


def test_one_record_is_the_single_figure():
    log_p, truth, prior, who = people(250, 4, m=0.5)
    found, _ = linked(log_p, truth, prior, who, seed=0, sizes=(1,))
    single = (log_p.argmax(axis=1) == truth.codes).mean()
    assert found["1"].accuracy == pytest.approx(single)


def test_the_prior_is_counted_once():
    """No information: whoever counts the prior r times is no worse here, but with a little
    evidence against it he is: 20 records of m = 0.2 outweigh odds of 9, not of 9 to the 20th."""
    log_p, truth, prior, who = people(400, 20, m=0.0, share=0.9)
    found, _ = linked(log_p, truth, prior, who, seed=0)
    for tier in found.values():
        assert tier.accuracy == pytest.approx(truth.majority)
    log_p, truth, prior, who = people(400, 20, m=0.5, share=0.9)
    found, _ = linked(log_p, truth, prior, who, seed=0)
    # Bayes: the rule is z̄ > -log(9) / (2 m r).
    edge, root = -np.log(9) / (2 * 0.5 * 20), np.sqrt(20)
    bayes = 0.9 * below((0.5 - edge) * root) + 0.1 * below((0.5 + edge) * root)
    assert found["20"].accuracy == pytest.approx(bayes, abs=0.02)
    thrice = (log_p.reshape(400, 20, 2).sum(axis=1)).argmax(axis=1) == truth.codes[::20]
    assert thrice.mean() < found["20"].accuracy - 0.03


def test_who_has_fewer_records_gives_no_bundle():
    log_p, truth, prior, who = people(60, 19, m=0.5)
    found, why = linked(log_p, truth, prior, who, seed=0)
    assert list(found) == ["5"]
    assert why == ""
    found, why = linked(log_p[:50], truth.rows(np.arange(50)), prior, np.arange(50) // 19, seed=0)
    assert found == {}
    assert "fewer than 5 people have 5 records in the test part" in why


@pytest.mark.parametrize("records", [2, 3, 4])
def test_people_with_few_records_are_linked_by_as_many_as_they_have(records):
    log_p, truth, prior, who = people(400, records, m=0.5)
    found, why = linked(log_p, truth, prior, who, seed=0)
    assert list(found) == [str(records)]
    assert why == ""
    assert found[str(records)].accuracy == pytest.approx(below(0.5 * np.sqrt(records)), abs=0.06)


def test_a_class_is_as_common_among_bundles_as_among_records():
    """Else one that is guessed would be above the floor, or below it, for no reason. One with 400
    records that are read, forty with 5 that are not: two thirds of the records are theirs."""
    who = np.repeat(np.arange(41), [400] + [5] * 40)
    truth = binary((who > 0).astype(int))
    log_p = np.tile(np.float32([-0.01, -5.0]), (len(who), 1))
    found, _ = linked(log_p, truth, EVEN, who, seed=0, sizes=(5,))
    assert found["5"].people == 41
    assert found["5"].accuracy == pytest.approx(400 / 600, abs=0.01)


def test_a_constant_guess_is_never_above_the_majority_of_bundles():
    """Ten people of class 0 with 60 records, five of class 1 with 100: nothing is read."""
    who = np.repeat(np.arange(15), [60] * 10 + [100] * 5)
    truth = binary((who >= 10).astype(int))
    prior = np.log(np.float32([0.55, 0.45]))
    log_p = np.tile(prior, (len(who), 1))
    found, _ = linked(log_p, truth, prior, who, seed=0)
    for tier in found.values():
        assert tier.accuracy == tier.floor == pytest.approx(600 / 1100, abs=0.01)
        assert tier.least < tier.floor


def test_an_attribute_that_differs_within_a_person_is_not_linked():
    log_p, truth, prior, who = people(20, 10, m=1.0)
    mistaken = binary(np.where(np.arange(200) == 7, 1 - truth.codes, truth.codes))
    assert linked(log_p, mistaken, prior, who, seed=0)[0]["5"].accuracy > 0.9  # one in 200
    some = binary(np.where(np.arange(200) % 10 == 7, 1 - truth.codes, truth.codes))
    assert linked(log_p, some, prior, who, seed=0)[0]["5"].accuracy > 0.9  # one in ten
    found, why = linked(log_p, binary(np.arange(200) % 2), prior, who, seed=0)
    assert found == {}
    assert "differs between the records of one person" in why


def test_several_labels_are_not_linked():
    several = Attribute("a", "multilabel", ("x", "y"), np.zeros((50, 2), np.int64))
    found, why = linked(np.zeros((50, 2), np.float32), several, EVEN, np.zeros(50, int), seed=0)
    assert found == {}
    assert "several labels" in why


def test_without_people_the_attribute_itself_is_the_person():
    """Sixty speakers of whom a record gives little away, and twenty of them all."""
    rng = np.random.default_rng(0)
    who = np.repeat(np.arange(60), 20)
    log_p = rng.standard_normal((1200, 60)).astype(np.float32)
    log_p[np.arange(1200), who] += 1.5
    log_p -= np.log(np.exp(log_p).sum(axis=1, keepdims=True))
    truth = Attribute("who", "categorical", tuple(map(str, range(60))), who)
    prior = np.full(60, -np.log(60), np.float32)
    found, _ = linked(log_p, truth, prior, None, seed=0)
    assert list(found) == ["5", "20"]
    assert (log_p.argmax(axis=1) == who).mean() < 0.3
    assert found["5"].accuracy < found["20"].accuracy == 1.0
    assert found["20"].people == 60


def test_bundles_that_share_records_are_no_new_evidence():
    """Of six people with a hundred records of noise, bundles can be drawn without end: two
    thousand bundles must not be taken for two thousand findings."""
    who = np.arange(600) % 6
    alarms = missed = 0
    for seed in range(50):
        odds = 0.3 * np.random.default_rng(seed).standard_normal(600)
        log_p = -np.stack([np.logaddexp(0, odds), np.logaddexp(0, -odds)], axis=1)
        found, _ = linked(log_p.astype(np.float32), binary(who % 2), EVEN, who, seed=0)
        assert list(found) == ["5", "20", "50"]
        alarms += any(tier.least > 0.5 for tier in found.values())
        missed += not found["20"].ci[0] <= 0.5 <= found["20"].ci[1]
    assert alarms <= 2
    assert missed <= 6


def test_of_a_few_classes_nobody_knows_who_is_who_without_a_column_that_says_it():
    """A thousand women are not one person."""
    found, why = linked(
        np.zeros((200, 2), np.float32), binary(np.arange(200) % 2), EVEN, None, seed=0
    )
    assert found == {}
    assert "--group" in why


def test_the_seed_decides():
    log_p, truth, prior, who = people(50, 30, m=0.2)
    one, two = (linked(log_p, truth, prior, who, seed=3) for _ in range(2))
    assert one == two


def test_what_preserved_labels_tell_of_a_bundle_is_its_floor():
    """A release that is the preserved label and no more: nothing is read that was not given."""
    rng = np.random.default_rng(0)
    who = np.repeat(np.arange(80), 20)
    code = who % 2
    kept = np.where(rng.random(len(who)) < 0.6, code, 1 - code)  # tells it in 60 of 100 records
    log_p = np.log(np.where(np.eye(2)[kept] == 1, 0.6, 0.4)).astype(np.float32)
    alone, _ = linked(log_p, binary(code), EVEN, who, seed=0)
    given, _ = linked(log_p, binary(code), EVEN, who, told=log_p, seed=0)
    assert alone["20"].floor == pytest.approx(0.5, abs=0.01)
    assert given["20"].accuracy == alone["20"].accuracy == given["20"].floor > 0.75


def test_the_group_itself_is_linked_however_few_they_are():
    log_p, truth, prior, who = people(6, 30, m=1.0)
    found, why = linked(log_p, truth, prior, who, seed=0)
    assert list(found) == ["5", "20"]
    assert why == ""
