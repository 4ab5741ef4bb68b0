"""Run an audit: attack a release with models of the original and with retrained attackers."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextlib import suppress as suppress_error
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from typing import Any

import numpy as np

from withhold.audit import picture
from withhold.audit.attack_jobs import Jobs
from withhold.audit.attack_plan import Question, Seen, not_asked
from withhold.audit.attribute_evidence import AttributeEvidence
from withhold.audit.audit_case import AuditCase
from withhold.audit.averaged import average_over
from withhold.audit.certified_release import prove_release
from withhold.audit.checked_certificate import Proof, prove
from withhold.audit.evidence import Evidence
from withhold.audit.feature_views import FeatureViews
from withhold.audit.gate import Condition, check_gate, parse_gate, require_measured
from withhold.audit.measure_attribute import measure
from withhold.audit.provenance import notes, settings, source
from withhold.audit.setting_groups import (
    BY_COLUMNS,
    FULL_EFFORT,
    NO_CLAIMS,
    Claims,
    Effort,
    Pairing,
)
from withhold.audit.split import Rows
from withhold.audit.whole_release import WholeRelease
from withhold.audit.wider import WiderAttacks, WiderLook
from withhold.certificate.release_file import ReleaseCertificate
from withhold.core.errors import UserError
from withhold.core.key_file import as_key
from withhold.core.progress import Progress, Silent
from withhold.records.attribute import Attribute
from withhold.records.dataset import Dataset
from withhold.records.feasibility import feasibility
from withhold.records.roles import Roles


def evaluate(
    original: Dataset,
    release: Dataset | None,
    suppress: Iterable[str] | str = (),
    preserve: Iterable[str] | str = (),
    *,
    hidden: Iterable[str] | str | None = None,
    joint: Iterable[Sequence[str] | str] = (),
    again: Sequence[Dataset] = (),
    average: str | None = None,
    pairing: Pairing = BY_COLUMNS,
    effort: Effort = FULL_EFFORT,
    claims: Claims = NO_CLAIMS,
    fail_if: str | Iterable[str] | None = None,
    whole: WholeRelease | None = None,
    progress: Progress | None = None,
) -> Evidence:
    """Measure what attackers read of each attribute of `original` from `release`.

    Both have the same records. Without a release, measure what the original reveals. The tiers:

    - `ignorant`: a model of the originals, applied to the release;
    - `informed`: the best of a ladder of attackers retrained on the release;
    - `linked`: the informed attacker on several records of one person, added up, or an attacker
      that is trained on such sets of records;
    - `repeated`: attackers on several draws of each record, if `again` has other releases.

    Attackers fit on train, are chosen on val and measured on test.

    `hidden` names the other attributes to measure, by default all that can be measured. `joint`
    adds combinations of attributes (`gender,accent`). `average` names a column of sources (videos):
    predictions are then averaged over the records of a source. `fail_if` is a gate. `whole` has the
    labels and codes of all rows, where both datasets are a sample of them: the certificate and the
    order of the rows are then checked on all.
    """
    clock, progress, seed = Clock(), progress or Silent(), effort.seed
    roles = _roles(suppress, preserve, alone=release is None)
    case = AuditCase.of(
        original,
        release,
        again,
        roles,
        pairing,
        effort,
        average=average,
        hidden=hidden,
        joint=joint,
    )
    effort = effort.on(pixels=case.pixel_kind)
    gate = None if fail_if is None else _gate(fail_if, case)
    proof = None if claims.certificate is None else _prove(claims, case, whole)
    for name in effort.models:
        if name not in case.names:
            raise UserError(f"models has '{name}', which this audit does not measure")
    unasked = () if hidden is not None else not_asked(case.original, case.split, case.names)
    how = settings(case, effort) | ({} if whole is None else {"sampled": whole.settings})
    had = feasibility(case.original, roles)
    with clock("hashes"):
        sources = [source(d) for d in (case.original, release) if d is not None]
        if whole is not None:
            sources = [s.model_copy(update={"records": len(whole)}) for s in sources]
    with clock("rows and columns"):
        beyond = WiderAttacks.of(
            case.asks,
            case.original,
            case.matched,
            case.split,
            order_counts=pairing.order_counts,
            effort=effort,
            whole=whole,
        )
    # Drop the records that no attacker uses from here on: nine tenths of a million.
    case, shown = case.used(picture.shown(np.flatnonzero(case.split.test), seed))
    with clock("views"):
        jobs = _jobs(case, effort)
    with clock("attacks"):
        drawn = {} if effort.quick else _maps(jobs, shown, seed)
        results = jobs.run(drawn, beyond.tasks, effort, progress)
    if average is not None:
        average_over(case.original, average, case.asks, jobs)
    with clock("figures"):
        wider = beyond.look(results)
        found = _figures(case, jobs, proof, wider, seed, progress)
    averaged = f"predictions are averaged over the records of one '{average}'"
    evidence = Evidence(
        version=version("withhold"),
        made=datetime.now(UTC).isoformat(timespec="seconds"),
        original=sources[0],
        release=sources[1] if release is not None else None,
        attributes=found,
        feasibility=had,
        distortion=case.distortion(),
        map=_map(jobs.pictures, case.asks, shown),
        columns=wider.columns,
        copies=wider.copies,
        certificate=None if proof is None else proof.source,
        settings=how,
        seconds=clock.seconds,
        notes=(
            *(() if whole is None else [whole.note]),
            *notes(case, jobs.after, effort, drawn_here=original.parts is None),
            *([averaged] if average is not None else []),
            *(() if proof is None else proof.notes),
            *unasked,
        ),
    )
    if gate is None:
        return evidence
    checked = check_gate(gate, found, evidence.failing, alone=release is None)
    return evidence.model_copy(update={"gate": checked})


class Clock:
    """The seconds that each part of an audit took."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def __call__(self, part: str) -> Iterator[None]:
        """Measure the time of the `with` block."""
        started = time.perf_counter()
        yield
        self.seconds[part] = round(time.perf_counter() - started, 2)


def _gate(fail_if: str | Iterable[str], case: AuditCase) -> tuple[Condition, ...]:
    gate = parse_gate(fail_if, case.names)
    require_measured(gate, case.tiers)
    return gate


def _prove(claims: Claims, case: AuditCase, whole: WholeRelease | None) -> Proof:
    certificate, key = claims.certificate, as_key(claims.key)
    assert certificate is not None
    if case.matched is None:
        raise UserError("a certificate needs a release, and none was given; name the release too")
    if isinstance(certificate, ReleaseCertificate) and whole is not None:
        return whole.prove(certificate, case.asks, key=key)
    if isinstance(certificate, ReleaseCertificate):
        return prove_release(certificate, case.matched, case.asks, case.split, key=key)
    draws = len(case.draws) + 1
    return prove(certificate, case.matched, case.asks, case.split, draws=draws, key=key)


def _jobs(case: AuditCase, effort: Effort) -> Jobs:
    """The attacks, with the records in the views that attackers need."""

    def seen(data: Dataset) -> Seen:
        views = FeatureViews.of(data.x[case.split.train], seed=effort.seed)
        return Seen(data.x, views, data.pixels)

    before, matched = seen(case.original), case.matched
    crossed = None  # the release in the views of the original, if they have the same features
    if matched is not None and matched.same_space:
        crossed = Seen(matched.release.x, before.views, matched.release.pixels)
    mean = case.mean_of_draws()
    return Jobs(
        case.asks,
        effort.ladder,
        None if matched is None else before,
        before if matched is None else seen(matched.release),
        crossed,
        None if mean is None else seen(mean),
        effort.models,
        seed=effort.seed,
        quick=effort.quick,
    )


def _figures(
    case: AuditCase,
    jobs: Jobs,
    proof: Proof | None,
    wider: WiderLook,
    seed: int,
    progress: Progress,
) -> dict[str, AttributeEvidence]:
    """The evidence on each attribute, from the outcomes of its attackers."""
    data = case.original
    others = {q.name: q.attribute for q in case.asks if q.name in data.attribute_names}
    found = {}
    with progress.stage("figures and intervals", len(case.asks)) as bar:
        for q in case.asks:
            found[q.name] = measure(
                q,
                jobs.ladder[q.name],
                jobs.models[q.name],
                declined=jobs.declined[q.name],
                repeated=jobs.repeated[q.name],
                draws=len(case.draws) + 1,
                others=_slices(data, others, q),
                group=data.group,
                seed=seed,
                certificate=None if proof is None else proof.of.get(q.name),
                wider=wider.of.get(q.name),
                people=wider.people.get(q.name),
            )
            bar.advance()
    matched = case.matched
    doubtful = matched is not None and matched.doubtful
    # Strangers share little, so had anything been read, the pairing would be right.
    unpaired = doubtful and not any(a.readable for a in found.values())
    if unpaired or (matched is not None and matched.exchanged):
        found = {name: a.model_copy(update={"unpaired": True}) for name, a in found.items()}
    return found


def _roles(suppress: Iterable[str] | str, preserve: Iterable[str] | str, *, alone: bool) -> Roles:
    named = suppress.strip() if isinstance(suppress, str) else list(suppress)
    if alone and not named:  # no release and no names: measure all attributes of the original
        return Roles((), Roles.of("-", preserve).preserve)
    return Roles.of(named, preserve)


def _maps(jobs: Jobs, rows: Rows, seed: int) -> dict[str, Any]:
    """Tasks that draw the maps; without a release, only that of the original."""
    both = {"original": jobs.after if jobs.before is None else jobs.before}
    if jobs.before is not None:
        both["release"] = jobs.after
    return {
        name: partial(picture.flat, seen.view("reduced")[rows], seed=seed)
        for name, seen in both.items()
    }


def _map(pictures: Mapping[str, picture.Points], asks: Sequence[Question], rows: Any) -> Any:
    if "original" not in pictures:
        return None
    attributes = {q.name: q.attribute for q in asks}
    return picture.draw_map(pictures["original"], pictures.get("release"), attributes, rows)


def _slices(data: Dataset, others: Mapping[str, Attribute], q: Question) -> dict[str, Attribute]:
    """The other attributes and the group, which divide the test records into slices."""
    found = {n: a for n, a in others.items() if n != q.name}
    if data.group is not None and data.group != q.name and data.group not in found:
        with suppress_error(UserError):
            found[data.group] = data.attribute(data.group)
    return found
