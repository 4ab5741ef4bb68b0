"""Certify a bundle on records that its fit never saw."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from withhold import __version__
from withhold.bundle.bundle import Bundle
from withhold.certificate.bound import Table, Tally, plug_in, upper_bound
from withhold.certificate.certifiable_records import held_out
from withhold.certificate.claim_wording import ASSUMPTIONS
from withhold.certificate.claims import (
    AttributeClaim,
    Behind,
    Certificate,
    CertifiedData,
    GroupClaim,
    Lift,
    LinkedClaim,
    NoGroupClaim,
)
from withhold.certificate.code_digests import digests
from withhold.certificate.group_units import Groups, groups_of
from withhold.certificate.linked_bound import SIZES, bound_of, linked_rate
from withhold.certificate.targets import JOINT, single, together
from withhold.core.errors import UserError, did_you_mean
from withhold.core.progress import Progress, Silent
from withhold.core.spread import MapInOrder
from withhold.methods import Channel
from withhold.methods.modifier import FloatArray, Labels
from withhold.records.attribute import Attribute
from withhold.records.dataset import Dataset
from withhold.records.feasibility import guess_rate

IntArray = npt.NDArray[np.int64]
ROWS = 4096  # records at once
LEAST = 5.0  # records expected on a code before its lift is more than chance


def certify(
    bundle: Bundle,
    dataset: Dataset,
    *,
    confidence: float = 0.95,
    progress: Progress | None = None,
    spread: MapInOrder = map,
) -> Certificate:
    """An upper bound on every attacker, for each suppressed attribute and for all together.

    spread: runs the draws of batches, like the built-in `map`, perhaps in other processes.

    Of the file of the fit its test part is counted; of another file its test part, or all of it,
    which must be records that the fit never saw. Memory is that of (classes, codes) and a batch.
    """
    channel = _channel(bundle)
    if not 0 < confidence < 1:
        raise UserError(f"confidence must lie between 0 and 1, e.g. 0.95, not {confidence:g}")
    if dataset.dimension != channel.dimension:
        raise UserError(
            f"{dataset.name} has {dataset.dimension:,} features, the bundle was fitted on"
            f" {channel.dimension:,}; name the same ones with --features"
        )
    found = held_out(bundle, dataset)
    held, notes = found.data, []
    targets = _targets(bundle, held)
    joint = together(targets)
    if joint is not None and len(joint.classes) > JOINT:
        notes.append(
            f"'{joint.name}' together have {len(joint.classes):,} combinations, too many to certify"
        )
    elif joint is not None:
        targets.append(joint)
    counts = [_Count(a, groups_of(held, a, bundle), len(channel.codes)) for a in targets]
    draws = _count(channel, held, counts, progress or Silent(), spread)
    kept = [held.attribute(n) for n in bundle.roles.preserve if n in held.attribute_names]
    return Certificate(
        version=__version__,
        method=bundle.method,
        codes=len(channel.codes),
        features=channel.dimension,
        codebook_sha256=_sha(channel),
        labels_used=channel.needs,
        fit_sha256=bundle.input["sha256"],
        data=CertifiedData(
            name=dataset.name,
            records=len(held),
            part=found.part,
            sha256=found.sha256,
            near_twins=found.near_twins,
        ),
        attributes={
            c.attribute.name: _claim(c, held, draws, guess_rate(c.attribute, kept), confidence)
            for c in counts
        },
        assumptions=ASSUMPTIONS,
        notes=tuple(notes),
        code_digests=digests(channel.codes),
    ).signed(channel.key)


class _Count:
    """One attribute on its way: its tables by record and, if groups are units, by group."""

    def __init__(self, attribute: Attribute, groups: Groups | NoGroupClaim, codes: int) -> None:
        self.attribute, self.groups = attribute, groups
        self.records = Tally(len(attribute.classes), codes)
        self.people = Tally(len(attribute.classes), codes)

    def add(self, drawn: IntArray, rows: IntArray) -> None:
        classes = self.attribute.codes[rows]
        self.records.add(drawn, classes)
        if isinstance(self.groups, Groups):
            self.people.add(drawn, classes, self.groups.weights[rows])


def _count(
    channel: Channel,
    held: Dataset,
    counts: list[_Count],
    progress: Progress,
    spread: MapInOrder,
) -> IntArray:
    """Fill every table, batch by batch; returns the code of each record, (n,)."""
    draws = np.empty(len(held), np.int64)
    needed = {n: held.attribute(n) for n in channel.needs if n in held.table.column_names}
    needed |= {n: held.attribute(n) for n in channel.needs if n in held.multilabel}
    starts = range(0, len(held), ROWS)
    batches = [np.arange(start, min(start + ROWS, len(held))) for start in starts]
    tasks = ((held.x[rows], {n: a.rows(rows) for n, a in needed.items()}) for rows in batches)
    with progress.stage("certifying", len(held)) as bar:
        for rows, drawn in zip(batches, spread(_Draw(channel), tasks), strict=True):
            draws[rows] = drawn
            for count in counts:
                count.add(drawn, rows)
            bar.advance(len(rows))
    return draws


@dataclass(frozen=True)
class _Draw:
    """The codes of a batch: its records (n, d) and their labels."""

    channel: Channel

    def __call__(self, batch: tuple[FloatArray, Labels]) -> IntArray:
        """One code for each record, (n,)."""
        return self.channel.draw(*batch)


def _claim(
    count: _Count, held: Dataset, draws: IntArray, floor: float, confidence: float
) -> AttributeClaim:
    attribute, table = count.attribute, count.records.table
    known = attribute.codes >= 0
    units = int(known.sum())
    found = plug_in(table, units)
    bound = upper_bound(found, units, confidence)
    sources = held.group_codes
    people = np.arange(len(held)) if sources is None else sources
    behind, used = fewest_behind(draws[known], people[known], held.group or "records")
    return AttributeClaim(
        classes=int((attribute.counts > 0).sum()),
        records=units,
        missing=attribute.missing,
        majority=attribute.majority,
        floor=floor,
        plug_in=found,
        slack=bound.value - found,
        bound=bound.value,
        by=bound.by,
        confidence=confidence,
        groups=_group_claim(count, confidence),
        linked=_linked(table, bound.value, confidence),
        worst_lift=worst_lift(table, attribute.classes),
        smallest_behind_code=behind,
        codes_used=used,
    )


def _linked(table: Table, single: float, confidence: float) -> dict[str, LinkedClaim]:
    """Bounds for r records of one class; more records never tell less."""
    found, before = {}, single
    for r in SIZES:
        rate = linked_rate(table, r)
        before = max(before, bound_of(rate, table, r, confidence))
        found[str(r)] = LinkedClaim(plug_in=rate.mean, bound=before)
    return found


def _group_claim(count: _Count, confidence: float) -> GroupClaim | NoGroupClaim:
    groups = count.groups
    if isinstance(groups, NoGroupClaim):
        return groups
    table, units = count.people.table, groups.count
    found = plug_in(table, units)
    bound = upper_bound(found, units, confidence)
    return GroupClaim(
        column=groups.column,
        groups=units,
        majority=float(table.sum(axis=1).max() / units),
        plug_in=found,
        slack=bound.value - found,
        bound=bound.value,
        by=bound.by,
    )


def worst_lift(table: Table, classes: tuple[str, ...]) -> Lift:
    """max_{j,s} P(s | j) / P(s), over codes with `LEAST` expected records.

    If no code has that many, over the codes with the most.
    """
    share, counts = table.sum(axis=0), table.sum(axis=1)
    often = share >= min(LEAST, float(share.max()))
    there = counts > 0
    lift = np.zeros_like(table)
    np.divide(table, np.outer(counts, share), out=lift, where=np.outer(there, often))
    s, j = np.unravel_index(int(lift.argmax()), lift.shape)
    return Lift(
        code=int(j),
        of=classes[int(s)],
        lift=float(lift[s, j] * counts.sum()),
        share=float(share[j] / counts.sum()),
    )


def fewest_behind(draws: IntArray, sources: IntArray, of: str) -> tuple[Behind, int]:
    """The used code with the fewest distinct sources, and how many codes were used.

    draws and sources are (n,): the code of each record, and whose it is.
    """
    pairs = np.unique(np.stack([draws, sources], axis=1), axis=0)
    codes, counts = np.unique(pairs[:, 0], return_counts=True)
    least = int(counts.argmin())
    return Behind(code=int(codes[least]), number=int(counts[least]), of=of), len(codes)


def _channel(bundle: Bundle) -> Channel:
    if not isinstance(bundle.modifier, Channel):
        raise UserError(
            f"method '{bundle.method}' has no certificate: its release is not one of finitely many"
            " codes; use codebook, or audit it"
        )
    return bundle.modifier


def _targets(bundle: Bundle, held: Dataset) -> list[Attribute]:
    """What is suppressed, each label of a multi-label attribute on its own."""
    targets = []
    for name in bundle.roles.suppress:
        if name not in held.attribute_names:
            raise UserError(
                f"attribute '{name}', which the bundle suppresses, is not in {held.name}"
                f"{did_you_mean(name, held.attribute_names)}; a certificate needs its labels"
            )
        attribute = held.attribute(name)
        able = [a for a in single(attribute) if (a.counts > 0).sum() > 1]
        if not able:
            what = "no labels" if not attribute.known.any() else "one class only"
            raise UserError(
                f"attribute '{name}' has {what} among the {len(held):,} records of {held.name} to"
                " certify on: there is nothing to read; give records of several classes"
            )
        targets += able
    return targets


def _sha(channel: Channel) -> str:
    codes = np.ascontiguousarray(channel.codes, "<f4")
    return hashlib.sha256(codes.tobytes()).hexdigest()
