"""The audit: what models of the original read from a release, and what retrained ones do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress as suppress_error
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from withhold.audit import picture
from withhold.audit.attack import Limits
from withhold.audit.attackers.attacker import Attacker, FloatArray, Prediction
from withhold.audit.averaged import average_over, by_source
from withhold.audit.certified import Proof, prove
from withhold.audit.certified_release import prove_release
from withhold.audit.clock import Clock
from withhold.audit.evidence import Evidence
from withhold.audit.gate import check_gate, parse_gate, require_measured
from withhold.audit.jobs import Jobs
from withhold.audit.linked import SIZES
from withhold.audit.measure import measure
from withhold.audit.pairing import Pair, pair
from withhold.audit.plan import Question, Seen, ladder, not_asked, questions, used_rows
from withhold.audit.provenance import notes, settings, source
from withhold.audit.split import Split
from withhold.audit.views import Views
from withhold.audit.wider import look_wider
from withhold.certificate import Certificate
from withhold.certificate.release_file import ReleaseCertificate
from withhold.core.errors import UserError
from withhold.core.key_file import as_key
from withhold.core.progress import Progress, Silent
from withhold.records.attribute import Attribute
from withhold.records.dataset import Dataset
from withhold.records.feasibility import feasibility
from withhold.records.roles import Roles

_QUICK = Limits(train=6_000, val=2_000, test=10_000)


def evaluate(
    original: Dataset,
    release: Dataset | None,
    suppress: Iterable[str] | str = (),
    preserve: Iterable[str] | str = (),
    *,
    hidden: Iterable[str] | str | None = None,
    joint: Iterable[Sequence[str] | str] = (),
    id: str | None = None,
    same_order: bool = False,
    order_counts: bool = True,
    average: str | None = None,
    again: Sequence[Dataset] = (),
    models: Mapping[str, Prediction] | None = None,
    attackers: Sequence[Attacker] | None = None,
    quick: bool = False,
    certificate: Certificate | ReleaseCertificate | None = None,
    key: bytes | str | Path | None = None,
    fail_if: str | Iterable[str] | None = None,
    seed: int = 0,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Evidence:
    """Every attribute of `original`, measured on `release`, whose records are the same ones.

    Without a release: what the original gives away today. For each attribute: models of the
    originals on the originals and on the release (`ignorant`), the best of a ladder of attackers
    retrained on the release (`informed`), the same over several records of one person (`linked`),
    and on several draws of each record where `again` has other releases of them (`repeated`).
    Attackers fit on train, are chosen on val and measured on test.

    `average` names a column of sources (videos): what an attacker says of a record is then the
    mean over the records of its source. `same_order` vouches for the order of records where
    nothing else tells which is which. `order_counts` says that rows leave in the order that they
    have in `release`, so that an attacker sees each one's place.
    `joint` adds attributes made of several (`gender,accent`); `hidden` names the other attributes
    to measure; `id` names the column that tells records; `models` gives models of the originals
    that exist already (the frozen ones of a method); `attackers` another ladder; `certificate` the
    bound on every attacker, or the certificate of this very release, checked against its rows and
    (with `key`) for its signature; `fail_if` a gate; `quick` a
    smaller audit, which is a weaker one.
    """
    clock = Clock()
    progress = progress or Silent()
    roles = _roles(suppress, preserve, alone=release is None)
    # Who somebody is can be measured on a split by record only; people are kept apart later.
    named = roles.suppress or ((original.group,) if original.group else ())
    drawn_here = original.parts is None
    if average is not None:
        original = by_source(original, average)
    original = original.with_drawn_split(named)
    roles.check(original)
    if release is None and again:
        raise UserError("other draws (again) need a release that they are draws of")
    match = partial(pair, original, by=id, same_order=same_order)
    matched = None if release is None else match(release)
    draws = [match(other) for other in again]
    split = Split.of(original, seed)
    limits = _QUICK if quick else Limits()
    asks = questions(original, roles, split, hidden=hidden, joint=joint, limits=limits, seed=seed)
    unasked = () if hidden is not None else not_asked(original, split, [q.name for q in asks])
    gate = None if fail_if is None else parse_gate(fail_if, [q.name for q in asks])
    if gate is not None:
        require_measured(gate, _tiers(matched, draws))
    proof = None
    if certificate is not None:
        proof = _prove(certificate, matched, asks, split, draws=len(draws) + 1, key=as_key(key))
    rungs = tuple(attackers) if attackers is not None else ladder(quick)
    for name in models or {}:
        if name not in {q.name for q in asks}:
            raise UserError(f"there is a model of '{name}', which is not measured")
    how = settings(asks, split, rungs, limits, seed, quick=quick)
    had = feasibility(original, roles)
    with clock("hashes"):
        sources = [source(d) for d in (original, release) if d is not None]
    with clock("all rows and columns"):
        wider = look_wider(
            asks,
            original,
            matched,
            split,
            order_counts=order_counts,
            quick=quick,
            seed=seed,
            workers=workers,
            progress=progress,
        )
    # From here on only the records that somebody will look at: of a million, a tenth.
    shown = picture.shown(np.flatnonzero(split.test), seed)
    kept = used_rows(asks, shown)
    if len(kept) < len(original):
        asks, shown = [q.on(kept) for q in asks], np.searchsorted(kept, shown)
        original, split = original.rows(kept), split.on(kept)
        matched = None if matched is None else matched.on(kept, original)
        draws = [draw.on(kept, original) for draw in draws]
    with clock("views"):
        before = Seen(original.x, Views.of(original.x[split.train], seed=seed))
        after = before if matched is None else _seen(matched.release.x, split, seed)
        crossed = _crossed(matched, before)
        mean = _mean_of(matched, draws)
        several = None if mean is None else _seen(mean, split, seed)
    with clock("attacks"):
        jobs = Jobs(
            asks,
            rungs,
            None if matched is None else before,
            after,
            crossed,
            several,
            models or {},
            seed=seed,
            quick=quick,
        )
        drawn = {} if quick else _maps(before, None if matched is None else after, shown, seed)
        jobs.run(drawn, workers, progress)
    if average is not None:
        average_over(original, average, asks, jobs)
    with clock("figures"):
        others = {q.name: q.attribute for q in asks if q.name in original.attribute_names}
        found = {}
        with progress.stage("figures and intervals", len(asks)) as bar:
            for q in asks:
                found[q.name] = measure(
                    q,
                    jobs.ladder[q.name],
                    jobs.models[q.name],
                    declined=jobs.declined[q.name],
                    repeated=jobs.repeated[q.name],
                    draws=len(draws) + 1,
                    others=_slices(original, others, q),
                    group=original.group,
                    seed=seed,
                    certificate=None if proof is None else proof.of.get(q.name),
                    wider=wider.of.get(q.name),
                )
                bar.advance()
    test = split.test
    moved = None
    if matched is not None and matched.same_space:
        moved = picture.distortion(original.x[test], matched.release.x[test])
    evidence = Evidence(
        version=version("withhold"),
        made=datetime.now(UTC).isoformat(timespec="seconds"),
        original=sources[0],
        release=sources[1] if release is not None else None,
        attributes=found,
        feasibility=had,
        distortion=moved,
        map=_map(jobs.pictures, asks, shown),
        columns=wider.columns,
        copies=wider.copies,
        certificate=None if proof is None else proof.source,
        settings=how,
        seconds=clock.seconds,
        notes=notes(
            matched, after, split, original, quick=quick, draws=draws, drawn_here=drawn_here
        )
        + (
            ()
            if average is None
            else (f"predictions are means over the records of one '{average}'",)
        )
        + (() if proof is None else proof.notes)
        + unasked,
    )
    if gate is None:
        return evidence
    checked = check_gate(gate, found, evidence.always, alone=release is None)
    return evidence.model_copy(update={"gate": checked})


def _prove(
    certificate: Certificate | ReleaseCertificate,
    matched: Pair | None,
    asks: Sequence[Question],
    split: Split,
    *,
    draws: int,
    key: bytes | None,
) -> Proof:
    if isinstance(certificate, ReleaseCertificate):
        return prove_release(certificate, matched, asks, split, key=key)
    return prove(certificate, matched, asks, split, draws=draws, key=key)


def _tiers(matched: Pair | None, draws: Sequence[Pair]) -> list[str]:
    """The tiers that an audit can have."""
    found = ["informed", "linked", *(f"linked{r}" for r in SIZES), "all_rows", "subgroup"]
    found += [] if matched is None else ["columns", "column"]
    if matched is not None and matched.same_space:
        found.append("ignorant")
    return found + (["repeated"] if draws else [])


def _roles(suppress: Iterable[str] | str, preserve: Iterable[str] | str, *, alone: bool) -> Roles:
    named = suppress.strip() if isinstance(suppress, str) else list(suppress)
    if alone and not named:  # what does my data give away? All that can be measured.
        return Roles((), Roles.of("-", preserve).preserve)
    return Roles.of(named, preserve)


def _seen(x: FloatArray, split: Split, seed: int) -> Seen:
    return Seen(x, Views.of(x[split.train], seed=seed))


def _crossed(matched: Pair | None, before: Seen) -> Seen | None:
    """The release as a model of the originals sees it."""
    if matched is None or not matched.same_space:
        return None
    return Seen(matched.release.x, before.views)


def _mean_of(matched: Pair | None, draws: Sequence[Pair]) -> FloatArray | None:
    """The mean of several draws of every record."""
    if matched is None or not draws:
        return None
    for other in draws:
        if other.release.dimension != matched.release.dimension:
            raise UserError(
                f"{other.release.name} has {other.release.dimension:,} features and"
                f" {matched.release.name} {matched.release.dimension:,}; draws are of one kind"
            )
    total = matched.release.x.astype(np.float64)
    for other in draws:
        total += other.release.x
    mean: FloatArray = (total / (len(draws) + 1)).astype(np.float32)
    return mean


def _maps(before: Seen, after: Seen | None, rows: Any, seed: int) -> dict[str, Any]:
    out = {"original": partial(picture.flat, before.view("reduced")[rows], seed=seed)}
    if after is not None:
        out["release"] = partial(picture.flat, after.view("reduced")[rows], seed=seed)
    return out


def _map(pictures: Mapping[str, picture.Points], asks: Sequence[Question], rows: Any) -> Any:
    if "original" not in pictures:
        return None
    attributes = {q.name: q.attribute for q in asks}
    return picture.draw_map(pictures["original"], pictures.get("release"), attributes, rows)


def _slices(data: Dataset, others: Mapping[str, Attribute], q: Question) -> dict[str, Attribute]:
    """Other attributes and the group, to look at parts of the test records."""
    found = {n: a for n, a in others.items() if n != q.name}
    if data.group is not None and data.group != q.name and data.group not in found:
        with suppress_error(UserError):
            found[data.group] = data.attribute(data.group)
    return found
