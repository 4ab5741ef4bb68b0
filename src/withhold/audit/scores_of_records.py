"""What single records tell, for attackers on whole people: people of one part help no other."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from withhold.audit.attack_plan import Question, Seen, fresh_attacks
from withhold.audit.attackers import Attacker, Logistic, Trees
from withhold.audit.attackers.attacker import FloatArray
from withhold.audit.feature_views import FeatureViews
from withhold.audit.select_attacker import Reading, choose
from withhold.audit.split import AttackParts
from withhold.records.record_sets import Rows

ON_RECORDS: tuple[Attacker, ...] = (Logistic(), Trees(rounds=60, patience=5, budget=1e8))
_SCORED = 12  # classes whose one-record scores describe a set


def log_p_of_records(question: Question, x: FloatArray, seed: int) -> FloatArray:
    """What single records tell: log-probabilities (n, k).

    Each half of the people of train is scored by attackers that are trained on the other half, so
    that a set of train looks like one of test. Val and test get the mean of both.
    """
    parts, attribute = question.parts, question.attribute
    assert parts.units is not None
    train, val, test = people_apart_in(parts)
    names = np.random.default_rng([seed, 0x5E7]).permutation(np.unique(parts.units[train]))
    first = np.isin(parts.units[train], names[: len(names) // 2])
    seen = Seen(x, FeatureViews.of(x[train], seed=seed))
    log_p = np.zeros((len(x), len(attribute.classes)), np.float32)
    for half, rest in ((train[first], train[~first]), (train[~first], train[first])):
        fold = AttackParts(half, val, np.concatenate([rest, test]), parts.units)
        asked = replace(question, parts=fold)
        attacks, _ = fresh_attacks(asked, seen, ON_RECORDS, seed=seed, twice=False)
        truth = attribute.rows(val)
        surest = choose([Reading.of(a(), truth) for a in attacks], truth)[0].surest
        log_p[rest] = surest.test[: len(rest)]
        log_p[test] += surest.test[len(rest) :] / 2
        log_p[val] += surest.val / 2
    return log_p


def scores_of_records(question: Question, log_p: FloatArray) -> FloatArray:
    """What single records tell, (n, c): log odds of two classes, or centred log-probabilities."""
    if log_p.shape[1] == 2:
        return log_p[:, 1:] - log_p[:, :1]
    train = people_apart_in(question.parts)[0]
    common = np.argsort(-question.attribute.rows(train).counts, kind="stable")[:_SCORED]
    centred: FloatArray = log_p - log_p.mean(axis=1, keepdims=True)
    return centred[:, common]


def people_apart_in(parts: AttackParts) -> tuple[Rows, Rows, Rows]:
    """Train, val and test without people of a later part: nobody may be recognised."""
    assert parts.units is not None
    who = parts.units
    val = parts.val[~np.isin(who[parts.val], who[parts.test])]
    later = np.concatenate([parts.val, parts.test])
    return parts.train[~np.isin(who[parts.train], who[later])], val, parts.test
