"""The audit: what models of the original read from a release, and what retrained ones do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress as suppress_error
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from typing import Any

import numpy as np

from withhold.audit import picture
from withhold.audit.attack_jobs import Jobs
from withhold.audit.attack_plan import Question, Seen, not_asked, questions, used_rows
from withhold.audit.attackers.attacker import FloatArray
from withhold.audit.attribute_evidence import AttributeEvidence
from withhold.audit.averaged import average_over, by_source
from withhold.audit.certified_release import prove_release
from withhold.audit.checked_certificate import Proof, prove
from withhold.audit.clock import Clock
from withhold.audit.evidence import Evidence
from withhold.audit.feature_views import FeatureViews
from withhold.audit.findings import Distortion
from withhold.audit.gate import Condition, check_gate, parse_gate, require_measured
from withhold.audit.linked_records import SIZES
from withhold.audit.measure_attribute import measure
from withhold.audit.pairing import PairedRelease, pair
from withhold.audit.provenance import notes, settings, source
from withhold.audit.setting_groups import (
    BY_COLUMNS,
    FULL_EFFORT,
    NO_CLAIMS,
    Claims,
    Effort,
    Pairing,
)
from withhold.audit.split import Rows, Split
from withhold.audit.wider import WiderLook, look_wider
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
    progress: Progress | None = None,
) -> Evidence:
    """Every attribute of `original`, measured on `release`, whose records are the same ones.

    Without a release: what the original gives away today. For each attribute: models of the
    originals on the originals and on the release (`ignorant`), the best of a ladder of attackers
    retrained on the release (`informed`), the same over several records of one person (`linked`),
    and on several draws of each record where `again` has other releases of them (`repeated`).
    Attackers fit on train, are chosen on val and measured on test.

    `hidden` names the other attributes to measure, by default all that can be; `joint` adds
    attributes made of several (`gender,accent`). `average` names a column of sources (videos): a
    prediction is then the mean over the records of its source. `fail_if` is a gate.
    """
    clock, progress, seed = Clock(), progress or Silent(), effort.seed
    roles = _roles(suppress, preserve, alone=release is None)
    case = _prepare(original, release, again, roles, pairing, seed, average=average)
    case = case.asking(roles, effort, hidden=hidden, joint=joint)
    gate = None if fail_if is None else _gate(fail_if, case)
    proof = None if claims.certificate is None else _prove(claims, case)
    _check_models(effort, case)
    unasked = () if hidden is not None else not_asked(case.original, case.split, case.names)
    how = settings(case.asks, case.split, effort.ladder, effort.limits, seed, quick=effort.quick)
    had = feasibility(case.original, roles)
    with clock("hashes"):
        sources = [source(d) for d in (case.original, release) if d is not None]
    with clock("all rows and columns"):
        wider = _wider(case, pairing, effort, progress)
    # From here on only the records that somebody will look at: of a million, a tenth.
    case, shown = case.used(picture.shown(np.flatnonzero(case.split.test), seed))
    with clock("views"):
        jobs = _jobs(case, effort)
    with clock("attacks"):
        drawn = {} if effort.quick else _maps(jobs, shown, seed)
        jobs.run(drawn, effort.workers, progress)
    if average is not None:
        average_over(case.original, average, case.asks, jobs)
    with clock("figures"):
        found = _figures(case, jobs, proof, wider, seed, progress)
    evidence = Evidence(
        version=version("withhold"),
        made=datetime.now(UTC).isoformat(timespec="seconds"),
        original=sources[0],
        release=sources[1] if release is not None else None,
        attributes=found,
        feasibility=had,
        distortion=_distortion(case),
        map=_map(jobs.pictures, case.asks, shown),
        columns=wider.columns,
        copies=wider.copies,
        certificate=None if proof is None else proof.source,
        settings=how,
        seconds=clock.seconds,
        notes=_notes(case, jobs, proof, average, drawn_here=original.parts is None, effort=effort)
        + unasked,
    )
    if gate is None:
        return evidence
    checked = check_gate(gate, found, evidence.always, alone=release is None)
    return evidence.model_copy(update={"gate": checked})


@dataclass(frozen=True, eq=False)
class _Case:
    """The records of an audit, paired and split, and the questions asked of them.

    Without a release `matched` is None; `draws` are other releases of the same records.
    """

    original: Dataset
    matched: PairedRelease | None
    draws: tuple[PairedRelease, ...]
    split: Split
    asks: tuple[Question, ...] = ()

    @property
    def names(self) -> list[str]:
        """The attributes that are measured."""
        return [q.name for q in self.asks]

    def asking(
        self,
        roles: Roles,
        effort: Effort,
        *,
        hidden: Iterable[str] | str | None,
        joint: Iterable[Sequence[str] | str],
    ) -> _Case:
        """The same records with their questions."""
        asks = questions(
            self.original,
            roles,
            self.split,
            hidden=hidden,
            joint=joint,
            limits=effort.limits,
            seed=effort.seed,
        )
        return replace(self, asks=tuple(asks))

    def used(self, shown: Rows) -> tuple[_Case, Rows]:
        """Only the records that an attacker or the map looks at, and where those shown now are."""
        kept = used_rows(self.asks, shown)
        if len(kept) == len(self.original):
            return self, shown
        original = self.original.rows(kept)
        case = _Case(
            original,
            None if self.matched is None else self.matched.on(kept, original),
            tuple(draw.on(kept, original) for draw in self.draws),
            self.split.on(kept),
            tuple(q.on(kept) for q in self.asks),
        )
        return case, np.searchsorted(kept, shown)


def _prepare(
    original: Dataset,
    release: Dataset | None,
    again: Sequence[Dataset],
    roles: Roles,
    pairing: Pairing,
    seed: int,
    *,
    average: str | None,
) -> _Case:
    """Split the original, check the roles, and pair the releases with it."""
    # Who somebody is can be measured on a split by record only; people are kept apart later.
    named = roles.suppress or ((original.group,) if original.group else ())
    if average is not None:
        original = by_source(original, average)
    original = original.with_drawn_split(named)
    roles.check(original)
    if release is None and again:
        raise UserError("other draws (again) need a release that they are draws of")
    match = partial(pair, original, by=pairing.id, same_order=pairing.same_order)
    matched = None if release is None else match(release)
    draws = tuple(match(other) for other in again)
    return _Case(original, matched, draws, Split.of(original, seed))


def _gate(fail_if: str | Iterable[str], case: _Case) -> tuple[Condition, ...]:
    gate = parse_gate(fail_if, case.names)
    require_measured(gate, _tiers(case.matched, case.draws))
    return gate


def _prove(claims: Claims, case: _Case) -> Proof:
    certificate, key = claims.certificate, as_key(claims.key)
    assert certificate is not None
    if isinstance(certificate, ReleaseCertificate):
        return prove_release(certificate, case.matched, case.asks, case.split, key=key)
    draws = len(case.draws) + 1
    return prove(certificate, case.matched, case.asks, case.split, draws=draws, key=key)


def _check_models(effort: Effort, case: _Case) -> None:
    for name in effort.models:
        if name not in case.names:
            raise UserError(f"there is a model of '{name}', which is not measured")


def _wider(case: _Case, pairing: Pairing, effort: Effort, progress: Progress) -> WiderLook:
    return look_wider(
        case.asks,
        case.original,
        case.matched,
        case.split,
        order_counts=pairing.order_counts,
        effort=effort,
        progress=progress,
    )


def _jobs(case: _Case, effort: Effort) -> Jobs:
    """The attacks, with the records in the views that attackers want."""
    seen = partial(_seen, split=case.split, seed=effort.seed)
    before = seen(case.original.x)
    mean = _mean_of(case.matched, case.draws)
    return Jobs(
        case.asks,
        effort.ladder,
        None if case.matched is None else before,
        before if case.matched is None else seen(case.matched.release.x),
        _crossed(case.matched, before),
        None if mean is None else seen(mean),
        effort.models,
        seed=effort.seed,
        quick=effort.quick,
    )


def _figures(
    case: _Case,
    jobs: Jobs,
    proof: Proof | None,
    wider: WiderLook,
    seed: int,
    progress: Progress,
) -> dict[str, AttributeEvidence]:
    """The evidence of each attribute, from what its attackers said."""
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
            )
            bar.advance()
    return found


def _distortion(case: _Case) -> Distortion | None:
    if case.matched is None or not case.matched.same_space:
        return None
    test = case.split.test
    return picture.distortion(case.original.x[test], case.matched.release.x[test])


def _notes(
    case: _Case,
    jobs: Jobs,
    proof: Proof | None,
    average: str | None,
    *,
    drawn_here: bool,
    effort: Effort,
) -> tuple[str, ...]:
    said = notes(
        case.matched,
        jobs.after,
        case.split,
        case.original,
        quick=effort.quick,
        draws=case.draws,
        drawn_here=drawn_here,
    )
    if average is not None:
        said += (f"predictions are means over the records of one '{average}'",)
    return said if proof is None else said + proof.notes


def _tiers(matched: PairedRelease | None, draws: Sequence[PairedRelease]) -> list[str]:
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
    return Seen(x, FeatureViews.of(x[split.train], seed=seed))


def _crossed(matched: PairedRelease | None, before: Seen) -> Seen | None:
    """The release as a model of the originals sees it."""
    if matched is None or not matched.same_space:
        return None
    return Seen(matched.release.x, before.views)


def _mean_of(matched: PairedRelease | None, draws: Sequence[PairedRelease]) -> FloatArray | None:
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


def _maps(jobs: Jobs, rows: Rows, seed: int) -> dict[str, Any]:
    """Tasks that draw the maps; without `before` the release is the original itself."""
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
    """Other attributes and the group, to look at parts of the test records."""
    found = {n: a for n, a in others.items() if n != q.name}
    if data.group is not None and data.group != q.name and data.group not in found:
        with suppress_error(UserError):
            found[data.group] = data.attribute(data.group)
    return found
