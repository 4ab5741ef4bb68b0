"""Turn the outcomes of the attackers on one attribute into its evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from withhold.audit.attack import Outcome
from withhold.audit.attack_plan import Question
from withhold.audit.attackers.attacker import FloatArray, Prediction, log_shares
from withhold.audit.attribute_evidence import AttributeEvidence
from withhold.audit.checked_certificate import Certified, CertifiedRows
from withhold.audit.cross import guess_without
from withhold.audit.findings import Rung, Tier
from withhold.audit.linked_records import linked, read_own
from withhold.audit.metrics import entropy_bits, score
from withhold.audit.select_attacker import Chosen, Reading, choose
from withhold.audit.slices import by_class, by_group, worst
from withhold.audit.split import AttackParts
from withhold.audit.whole_people import IS_PERSON, WholePeople
from withhold.records.attribute import Attribute
from withhold.records.feasibility import joint


def measure(
    question: Question,
    outcomes: Sequence[Outcome],
    models: Sequence[Outcome],
    *,
    declined: Mapping[str, str],
    repeated: Sequence[Outcome] = (),
    draws: int = 1,
    others: Mapping[str, Attribute],
    group: str | None,
    seed: int,
    certificate: Certified | CertifiedRows | None = None,
    wider: Mapping[str, Any] | None = None,
    people: WholePeople | None = None,
) -> AttributeEvidence:
    """For each tier, choose an attacker on val and measure it on test.

    outcomes: attackers on the release. models: models of the originals, on the originals and
    (`also`) on the release; empty if the audit has only the original. repeated: attackers on
    several draws. certificate: what is proved. wider: findings in other columns and other records
    than the features of the test part. people: attackers trained on whole people.
    """
    attribute, parts = question.attribute, question.parts
    val, test = attribute.rows(parts.val), attribute.rows(parts.test)
    units = None if parts.units is None else parts.units[parts.test]

    seen = None if attribute.multilabel else np.unique(attribute.codes[parts.train])

    def tier(log_p: FloatArray, chosen: Chosen, sure: FloatArray) -> Tier:
        found = score(log_p, test, surest=sure, seen=seen, units=units, seed=seed)
        return Tier(**found.model_dump(), attacker=chosen.best.name)

    readings = [Reading.of(o, val) for o in outcomes]
    chosen, together = choose(readings, val)
    informed = tier(chosen.best.test, chosen, chosen.surest.test)
    rungs = [r.rung(val, test) for r in (*readings, *([together] if together else []))]
    rungs += [Rung(attacker=name, skipped=why) for name, why in declined.items()]
    original, ignorant, model_rungs = informed, None, []
    if models:
        known = [Reading.of(o, val) for o in models]
        # An ignorant attacker has no labels of the release, so it is chosen on the originals.
        raw = max(known, key=lambda r: (r.val_accuracy, -r.val_spent))
        choice = Chosen(raw, raw)
        original = tier(raw.test, choice, raw.test)
        ignorant = None if raw.also is None else tier(raw.also, choice, raw.also)
        model_rungs = [r.rung(val, test) for r in known]
    again = None
    if repeated:
        best, _ = choose([Reading.of(o, val) for o in repeated], val)
        again = tier(best.best.test, best, best.surest.test)
    prior = log_shares(attribute.rows(np.concatenate([parts.train, parts.val])))
    told = guesses(attribute, question.given, parts)
    surest = chosen.surest
    sets, why = linked(
        surest.test, test, prior, units, told=told, val=surest.val, whole=people, seed=seed
    )
    right = _right(chosen.best.test, test)
    groups = by_group({n: a.rows(parts.test) for n, a in others.items()}, right, test)
    among = read_own(None if people is None else people.among)
    number = read_own(None if people is None else people.number)
    unlinked = "" if sets or among or number else _not_linked(why, people, parts)
    notes = [*question.notes]
    if unlinked and question.role == "suppress":
        notes.append(f"records of one person, read together: not attacked: {unlinked}")
    elif why:
        notes.append(f"not linked: {why}")
    if sets and people is not None and people.why_not:
        notes.append(f"the scores of records of one person are only added up: {people.why_not}")
    return AttributeEvidence(
        role=question.role,
        kind=attribute.kind,
        classes=len(attribute.classes),
        records=int(test.known.sum()),
        majority=test.majority,
        floor=floor(attribute, question.given, parts),
        entropy_bits=entropy_bits(test),
        original=original,
        ignorant=ignorant,
        informed=informed,
        linked=sets,
        linked_row=among,
        linked_number=number,
        linked_by=(question.name if units is None else group) if sets or among or number else None,
        not_linked=unlinked,
        repeated=again,
        draws=draws,
        ladder=tuple(rungs),
        models=tuple(model_rungs),
        by_class=by_class(question.name, test, right),
        by_group=groups,
        worst_group=worst(groups, suppressed=question.role == "suppress"),
        units="record" if units is None else str(group),
        seconds=round(sum(o.seconds for o in (*outcomes, *models, *repeated)), 2),
        notes=tuple(notes),
        certificate=certificate,
        **(wider or {}),
    )


def asked(
    name: str, model: Prediction, x: FloatArray, new: FloatArray | None, parts: AttackParts
) -> Outcome:
    """The outcome of a given model of the originals."""
    also = None if new is None else model.logits(new[parts.test])
    return Outcome(name, model.logits(x[parts.val]), model.logits(x[parts.test]), also, None, 0.0)


def guesses(
    attribute: Attribute, given: Sequence[Attribute], parts: AttackParts
) -> FloatArray | None:
    """log P(s | preserved labels) for every test record, from a smoothed table of train and val."""
    if attribute.multilabel or not given:
        return None
    code = joint(given) + 1  # 0 where a label is missing
    fitted = np.concatenate([parts.train, parts.val])
    shares = np.exp(log_shares(attribute.rows(fitted)))
    table = np.zeros((int(code.max()) + 1, len(shares)))
    np.add.at(table, (code[fitted], attribute.codes[fitted]), 1.0)
    smooth = table + shares
    log_p: FloatArray = np.log(smooth / smooth.sum(axis=1, keepdims=True)).astype(np.float32)
    return log_p[code[parts.test]]


def floor(attribute: Attribute, given: Sequence[Attribute], parts: AttackParts) -> float:
    """The best guess from the preserved labels alone: a table fitted on train, tested on test."""
    test = attribute.rows(parts.test)
    if attribute.multilabel or not given:
        return test.majority
    _, right = guess_without(attribute, given, [parts])
    # A sparse table can do worse than the majority; an attacker would then ignore it.
    return max(float(right[test.codes >= 0].mean()), test.majority)


def _not_linked(why: str, people: WholePeople | None, parts: AttackParts) -> str:
    """Why records of one person were not read together; empty if nobody has several."""
    if parts.units is None:
        return why
    if len(np.unique(parts.units)) == len(parts.units):
        return ""
    if people is None or people.why_not in ("", IS_PERSON):
        return why
    return people.why_not


def _right(log_p: FloatArray, truth: Attribute) -> npt.NDArray[np.bool_]:
    """Whether each record is predicted correctly; for multi-label, whether all its labels are."""
    if truth.multilabel:
        wrong = ((log_p > 0) != (truth.codes == 1)) & (truth.codes >= 0)
        return np.asarray(~wrong.any(axis=1))
    return np.asarray(log_p.argmax(axis=1) == truth.codes)
