"""The certificate of a release (`NAME.certificate.json`), recounted from its rows and labels."""

from __future__ import annotations

from collections.abc import Sequence

from withhold.audit.attack_plan import Question
from withhold.audit.attackers.attacker import FloatArray
from withhold.audit.checked_certificate import (
    Certified,
    CertifiedRelease,
    Proof,
    claimed,
    require_claim,
)
from withhold.audit.pairing import PairedRelease
from withhold.audit.recount import (
    Codes,
    codes_by_number,
    codes_of_rows,
    consistent,
    not_below,
    recount,
)
from withhold.audit.release_check import checked_claim, not_below_majority
from withhold.audit.split import Split
from withhold.certificate.claims import CertifiedData
from withhold.certificate.release_file import ASSUMPTIONS, AttributeClaims, ReleaseCertificate
from withhold.certificate.targets import single
from withhold.core.errors import UserError, listing
from withhold.core.safe_read import file_sha256
from withhold.records.attribute import Attribute
from withhold.records.tables import RECORD


def prove_release(
    certificate: ReleaseCertificate,
    matched: PairedRelease,
    asks: Sequence[Question],
    split: Split,
    *,
    key: bytes | None = None,
) -> Proof:
    """Check the certificate of a release against its file and rows, and return its claims."""
    if key is not None and not certificate.is_signed_with(key):
        raise UserError(
            "the certificate of the release was not signed with this key, or was changed since;"
            " make the release again, or leave out --key"
        )
    _same_file(certificate, matched)
    codes = codes_of_rows(matched.release.x, certificate.code_digests)
    vectors = None if codes is None else matched.release.x
    if codes is None:  # a release --as index contains code numbers
        codes = codes_by_number(matched.release.x, certificate.codes)
    wanted = [(q, t) for q in asks if q.role == "suppress" for t in single(q.attribute)]
    names = {t.name: claimed(t.name, certificate.attributes) for _, t in wanted}
    require_claim(names, certificate.attributes)
    found: dict[str, Certified] = {}
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
            people=matched.original.group_codes,
            vectors=vectors,
            verified=key is not None,
        )
        said += notes
        if one is not None:
            found[target.name] = one
    if codes is None:
        said.append(
            "the certificate was not checked against the rows, because they are not codes (as with"
            " --as sample). Its bounds hold only if its bundle made this release"
        )
    if certificate.release.kept_by_name:
        said.append(
            f"the certificate does not cover {listing(certificate.release.kept_by_name)}, kept by"
            " name"
        )
    asked = {q.name for q in asks}
    others = {n: c.at_most for n, c in found.items() if n not in asked}
    of = {n: c for n, c in found.items() if n in asked}
    return Proof(of, _source(certificate, others, codes is not None, key), tuple(said))


def _checked(
    certificate: ReleaseCertificate,
    claims: AttributeClaims,
    question: Question,
    target: Attribute,
    codes: Codes | None,
    split: Split,
    *,
    told: list[Attribute] | None,
    people: Codes | None,
    vectors: FloatArray | None,
    verified: bool,
) -> tuple[Certified | None, list[str]]:
    """The claims about one attribute, checked against the released rows; None without a bound."""
    said: list[str] = []
    counted, claim = None, claims.release
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
        )
    if claims.later is None:
        return None, [*said, f"nothing is proved about '{target.name}' in later records"]
    consistent(target.name, claims.later)
    if counted is not None:
        not_below(target.name, claims.later, counted)
        said += not_below_majority(target.name, claims.later, target, counted, verified=verified)
    one = Certified(
        **claims.later.model_dump(),
        checked=codes is not None,
        recounted=None if counted is None else counted.all_rows,
        recounted_test=None if counted is None else counted.test,
        release=claim,
        verified=verified,
    )
    return one, said


def _same_file(certificate: ReleaseCertificate, matched: PairedRelease) -> None:
    path, stated = matched.released.path, certificate.release.sha256
    if certificate.release.records != len(matched.released):
        raise UserError(
            "the certificate belongs to another release: it has"
            f" {certificate.release.records:,} rows, and {matched.released.name} has"
            f" {len(matched.released):,}"
        )
    columns = [n for n in matched.released.schema.names if n != RECORD]
    if set(certificate.release.columns) != set(columns):
        odd = sorted(set(certificate.release.columns) ^ set(columns))
        raise UserError(
            f"the certificate belongs to another release: it and {matched.released.name} do not"
            f" have the same columns ({listing(odd)})"
        )
    if path is None or not path.is_file():
        return
    if stated is None:
        raise UserError(
            f"the certificate does not name the SHA-256 of its file, so it may not belong to"
            f" {path.name}; use the certificate that was written with the release, or make the"
            " release again"
        )
    found = file_sha256(path)
    if found != stated:
        raise UserError(
            f"the certificate belongs to another file: it names SHA-256 {stated[:16]}…, but"
            f" {path.name} has {found[:16]}…"
        )


def _source(
    certificate: ReleaseCertificate, others: dict[str, float], checked: bool, key: bytes | None
) -> CertifiedRelease:
    together = {
        n: c.later.bound
        for n, c in certificate.attributes.items()
        if "," in n and c.later is not None
    }
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
        signature="unsigned" if key is None else "verified",
        others=together | others,
        # Anyone can edit an unsigned file, so state our own assumptions instead of its text.
        assumptions=certificate.assumptions if key is not None else ASSUMPTIONS,
        notes=certificate.notes,
    )
