"""The certificate of a release (`NAME.certificate.json`), recounted from its rows and labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from withhold.audit.attack_plan import Question
from withhold.audit.attackers.attacker import FloatArray
from withhold.audit.certified_file import same_file
from withhold.audit.checked_certificate import (
    Certified,
    CertifiedRelease,
    CertifiedRows,
    Proof,
    claimed,
    require_claim,
)
from withhold.audit.label_floor import floor_of
from withhold.audit.pairing import PairedRelease
from withhold.audit.recount import (
    Codes,
    codes_by_number,
    codes_of_rows,
    consistent,
    not_below,
    recount,
)
from withhold.audit.release_check import (
    checked_claim,
    claim_of_labels,
    not_below_majority,
)
from withhold.audit.split import Split
from withhold.certificate.claim_wording import plan_assumptions
from withhold.certificate.claims import CertifiedData, ReleaseClaim
from withhold.certificate.release_file import ASSUMPTIONS, AttributeClaims, ReleaseCertificate
from withhold.certificate.targets import single
from withhold.core.errors import UserError, listing
from withhold.records.attribute import Attribute
from withhold.records.dataset import Dataset


def prove_release(
    certificate: ReleaseCertificate,
    matched: PairedRelease,
    asks: Sequence[Question],
    split: Split | None,
    *,
    key: bytes | None = None,
    shown: ShownCodes | None = None,
) -> Proof:
    """Check the certificate of a release against its file and rows, and return its claims.

    shown: the codes of the rows, where their features are not in memory; then there is no split.
    """
    if key is not None and not certificate.is_signed_with(key):
        raise UserError(
            "the certificate of the release was not signed with this key, or was changed since;"
            " make the release again, or leave out --key"
        )
    named = same_file(certificate, matched)
    shown = shown or _shown(certificate, matched.release)
    codes, vectors = shown.codes, shown.vectors
    of_this_file = key is not None and named and matched.release.tabular
    wanted = [(q, t) for q in asks if q.role == "suppress" for t in single(q.attribute)]
    names = {t.name: claimed(t.name, certificate.attributes) for _, t in wanted}
    require_claim(names, certificate.attributes)
    found: dict[str, Certified | CertifiedRows] = {}
    said = [
        f"the certificate covers the labels of '{q.name}' one by one, not together"
        for q in asks
        if q.role == "suppress" and q.attribute.multilabel
    ]
    told = [
        matched.original.attribute(n)
        for n in certificate.preserve
        if n in matched.original.attribute_names
    ]
    for q, target in wanted:
        name = names[target.name]
        if name is None:
            said.append(f"the certificate says nothing about {target.name}")
            continue
        one, notes = _checked(
            certificate,
            certificate.attributes[name],
            q,
            target,
            codes,
            split,
            told=told if len(told) == len(certificate.preserve) else None,
            people=_people(matched.original, certificate.attributes[name].release),
            vectors=vectors,
            verified=key is not None,
            of_this_file=of_this_file,
        )
        said += notes
        if one is not None:
            found[target.name] = one
    if codes is None and matched.release.tabular:
        said.append(_of_a_table(key is not None, named))
    elif codes is None:
        said.append(
            "the certificate was not checked against the rows, because they are not codes (as with"
            " --as sample). Its bounds hold only if its bundle made this release"
        )
    if certificate.group is not None and certificate.group != matched.original.group:
        said.append(
            f"the certificate counts people by '{certificate.group}', which this audit does not:"
            f" give --group {certificate.group}, or rows of one person are not attacked together"
        )
    if certificate.release.kept_by_name:
        said.append(
            f"the certificate does not cover {listing(certificate.release.kept_by_name)}, kept by"
            " name"
        )
    asked = {q.name for q in asks}
    others = {n: c.at_most for n, c in found.items() if n not in asked}
    of = {n: c for n, c in found.items() if n in asked}
    source = _source(
        certificate,
        others,
        checked=codes is not None,
        table=matched.release.tabular,
        of_this_file=of_this_file,
        verified=key is not None,
    )
    return Proof(of, source, tuple(said))


@dataclass(frozen=True, eq=False)
class ShownCodes:
    """The code of each row (n,), and the vector of each code (N, d), where the rows show them."""

    codes: Codes | None = None
    vectors: FloatArray | None = None


def _shown(certificate: ReleaseCertificate, release: Dataset) -> ShownCodes:
    if release.tabular:  # its features are our encoding of its columns
        return ShownCodes()
    codes = codes_of_rows(release.x, certificate.code_digests)
    if codes is None:  # perhaps a release --as index
        return ShownCodes(codes_by_number(release.x, certificate.codes))
    # A code of no row has the vector of the first row.
    vectors = np.repeat(release.x[:1], certificate.codes, axis=0)
    vectors[codes] = release.x
    return ShownCodes(codes, vectors)


def _of_a_table(verified: bool, named: bool) -> str:
    """Who vouches for the figures of a table, in one sentence."""
    start = (
        "the rows of a table are not codes, so the certificate cannot be counted again from them"
    )
    if not verified:
        return f"{start}; give --key, or its figures may have been written by anyone"
    if not named:
        return f"{start}, and it names no file; write the release to a file and audit that"
    return f"{start}; the owner of the key signed it for this file"


def _checked(
    certificate: ReleaseCertificate,
    claims: AttributeClaims,
    question: Question,
    target: Attribute,
    codes: Codes | None,
    split: Split | None,
    *,
    told: list[Attribute] | None,
    people: Codes | None,
    vectors: FloatArray | None,
    verified: bool,
    of_this_file: bool,
) -> tuple[Certified | CertifiedRows | None, list[str]]:
    """The claims about one attribute, checked against the released rows; None without a bound."""
    said: list[str] = []
    counted, claim = None, claims.release
    alone = len(certificate.attributes) == 1
    if codes is not None:
        counted = recount(codes, target, split, of=certificate.codes)
        claim, said = checked_claim(
            claim,
            target,
            codes,
            question.given,
            of=certificate.codes,
            told=told,
            people=people,
            vectors=vectors,
            verified=verified,
            held_back=certificate.release.held_back,
            alone=alone,
        )
    elif claim is not None:
        held = certificate.release.held_back
        claim_of_labels(claim, target, told, people=people, held_back=held, alone=alone)
    if claim is not None and claim.plan is not None:
        claim, more = _plan_beside(claim, question, target, certificate.preserve)
        said += more
    if claims.later is None:
        said.append(f"nothing is proved about '{target.name}' in later records")
        if claim is None:
            return None, said
        return CertifiedRows(
            checked=codes is not None,
            of_this_file=of_this_file,
            recounted=None if counted is None else counted.all_rows,
            recounted_test=None if counted is None or split is None else counted.test,
            release=claim,
            verified=verified,
        ), said
    consistent(target.name, claims.later)
    if counted is not None:
        not_below(target.name, claims.later, counted)
        said += not_below_majority(target.name, claims.later, target, counted, verified=verified)
    one = Certified(
        **claims.later.model_dump(),
        checked=codes is not None,
        of_this_file=of_this_file,
        recounted=None if counted is None else counted.all_rows,
        recounted_test=None if counted is None or split is None else counted.test,
        release=claim,
        verified=verified,
    )
    return one, said


def _people(original: Dataset, claim: ReleaseClaim | None) -> Codes | None:
    """The person of each row, unless the people who drew are those of another column."""
    person = None if claim is None or claim.plan is None else claim.plan.person
    return None if person and person.column != original.group else original.group_codes


def _plan_beside(
    claim: ReleaseClaim, question: Question, target: Attribute, preserve: Sequence[str]
) -> tuple[ReleaseClaim, list[str]]:
    """The claim with a plan that is not below what this audit's preserved labels tell alone.

    The figures of a plan count the labels under `preserve` of the certificate as known. If the
    audit preserves others, they cannot be raised to what those tell together with a code.
    """
    assert claim.plan is not None
    others = [a.name for a in question.given if a.name not in preserve]
    if not others:
        return claim, []
    floor = floor_of(target, question.given)
    one = max(claim.plan.one, floor)
    linked = {size: max(figure, floor) for size, figure in claim.plan.linked.items()}
    plan = claim.plan.model_copy(update={"one": one, "linked": linked})
    said = (
        f"the figures of the plan are for attackers who do not know {listing(others)} of the row,"
        " which this audit preserves"
    )
    return claim.model_copy(update={"plan": plan}), [said]


def _source(
    certificate: ReleaseCertificate,
    others: dict[str, float],
    *,
    checked: bool,
    table: bool,
    of_this_file: bool,
    verified: bool,
) -> CertifiedRelease:
    together = {
        n: c.later.bound
        for n, c in certificate.attributes.items()
        if "," in n and c.later is not None
    }
    if verified:  # what nobody counted again is shown only if the signature was verified
        together |= {
            n: c.release.stated
            for n, c in certificate.attributes.items()
            if "," in n and c.later is None and c.release is not None
        }
    plans = [c.release.plan for c in certificate.attributes.values() if c.release is not None]
    # Anyone can edit an unsigned file, so state our own assumptions instead of its text.
    assumptions = certificate.assumptions if verified else ASSUMPTIONS
    if all(c.later is None for c in certificate.attributes.values()):
        assumptions = tuple(line for line in assumptions if "'later'" not in line)
    return CertifiedRelease(
        version=certificate.version,
        method=certificate.method,
        codes=certificate.codes,
        codebook_sha256="",
        fit_sha256="",
        data=CertifiedData(
            name=certificate.release.name,
            records=certificate.release.records,
            part="all",
            sha256=certificate.release.sha256 or "",
        ),
        checked=checked,
        table=table,
        of_this_file=of_this_file,
        signature="verified" if verified else "unsigned",
        others=together | others,
        assumptions=(*plan_assumptions(plans), *assumptions),
        notes=certificate.notes,
    )
