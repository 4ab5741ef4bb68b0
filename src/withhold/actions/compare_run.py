"""One run of a comparison: fit, release, and read what is left, with the same attackers for all."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from withhold.actions.compare_case import CompareCase
from withhold.actions.fit import fit_bundle
from withhold.audit.comparison import ComparedRun, RunLeak, RunReading
from withhold.audit.read_features import read_features
from withhold.bundle.bundle import Bundle
from withhold.certificate.certify_bundle import certify
from withhold.certificate.claims import AttributeClaim
from withhold.core.errors import UserError
from withhold.core.progress import Progress, Silent, Stage
from withhold.methods import Channel, FeatureModifier, get_method
from withhold.records.dataset import FloatArray
from withhold.records.table_features import attack_tables

CONFIDENCE = 0.95
Proved = dict[str, dict[str, Any]]  # by attribute: the fields of RunLeak about the proof


def run_once(
    case: CompareCase,
    method: str,
    config: dict[str, Any],
    *,
    seed: int,
    confidence: float = CONFIDENCE,
    progress: Progress,
) -> ComparedRun:
    """Fit a method with one seed, release the records, and attack the release.

    `confidence` is that of a certificate about later records.
    """
    progress = StagesOnly(progress)
    given = get_method(method).modifier_type.of_given_records
    started = time.perf_counter()
    bundle = fit_bundle(
        case.data if given else case.features,
        case.roles,
        method=method,
        config=config,
        seed=seed,
        key=_key(seed),
        progress=progress,
    )
    x, proved = _given(case, bundle) if given else _later(case, bundle, confidence)
    fitted = time.perf_counter()
    found = read_features(x, case.data, case.roles, case.read, seed=seed, progress=progress)
    leaks = {}
    for name in case.roles.suppress:
        one = found[name]
        leaks[name] = RunLeak(
            accuracy=one.informed.accuracy,
            ci=one.informed.ci,
            floor=one.floor,
            bits=one.leakage_bits,
            attacker=one.informed.attacker,
            **proved.get(name, {}),
        )
    read = {
        name: RunReading(
            accuracy=found[name].informed.accuracy,
            majority=found[name].majority,
            sure=found[name].informed.least > found[name].majority,
        )
        for name in case.read
    }
    return ComparedRun(
        seed=seed,
        leaks=leaks,
        read=read,
        codes=len(bundle.modifier.codes) if isinstance(bundle.modifier, Channel) else None,
        fit_seconds=round(fitted - started, 2),
        read_seconds=round(time.perf_counter() - fitted, 2),
    )


def _given(case: CompareCase, bundle: Bundle) -> tuple[FloatArray, Proved]:
    """The features of a release of the fitted records, and what is proved of these records."""
    released = bundle.release(case.data, same_order=True)
    x = released.x
    if case.data.tabular:
        x = attack_tables(case.data, released, case.roles.suppress)[1].x
    proved: Proved = {}
    claims = {} if released.certificate is None else released.certificate.attributes
    for name, claim in claims.items():
        if claim.release is not None:
            proved[name] = {
                "proved": claim.release.stated,
                "proved_floor": claim.release.floor,
                "proof": "these records",
            }
    return x, proved


def _later(case: CompareCase, bundle: Bundle, confidence: float) -> tuple[FloatArray, Proved]:
    """The features that a bundle makes of all records, and what is proved of later ones."""
    data, modifier = case.features, bundle.modifier
    assert isinstance(modifier, FeatureModifier)
    labels = {name: data.attribute(name) for name in modifier.needs}
    x = modifier.transform(data.x, labels)
    claims = (bundle.certificate or {}).get("attributes", {})
    if claims and confidence != CONFIDENCE:
        try:
            claims = certify(bundle, data, confidence=confidence).to_dict()["attributes"]
        except UserError:
            claims = {}
    proved: Proved = {}
    for name, fields in claims.items():
        claim = AttributeClaim.model_validate(fields)
        if claim.stated is not None:
            proved[name] = {
                "proved": claim.stated,
                "proved_floor": claim.floor,
                "proof": "later records",
            }
    return x, proved


def _key(seed: int) -> bytes:
    """The key of the fits. Anyone can compute it, so nothing that is made with it may leave."""
    return hashlib.blake2b(f"withhold compare {seed}".encode(), digest_size=32).digest()


class StagesOnly:
    """A progress without messages: ten fits would repeat the same warnings ten times."""

    def __init__(self, progress: Progress) -> None:
        self.progress = Silent() if isinstance(progress, StagesOnly) else progress

    @contextmanager
    def stage(self, name: str, total: int | None) -> Iterator[Stage]:
        """The stage of the progress itself."""
        with self.progress.stage(name, total) as stage:
            yield stage

    def say(self, line: str) -> None:
        """Say nothing."""
