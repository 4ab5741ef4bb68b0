"""`NAME.certificate.json` beside the attacks: recounted from the rows and labels of the release."""

from __future__ import annotations

from collections.abc import Sequence

from withhold.audit.certified import Certified, CertifiedRelease, Proof
from withhold.audit.pairing import Pair
from withhold.audit.plan import Question
from withhold.audit.provenance import file_sha256
from withhold.audit.recount import codes_of_rows, consistent, recount, same_count
from withhold.audit.split import Split
from withhold.certificate.claims import CertifiedData
from withhold.certificate.release_file import AttributeClaims, ReleaseCertificate
from withhold.errors import UserError, listing


def prove_release(
    certificate: ReleaseCertificate,
    matched: Pair | None,
    asks: Sequence[Question],
    split: Split,
    *,
    key: bytes | None = None,
) -> Proof:
    """Check the certificate of a given release against its file and rows; hand out its claims."""
    if matched is None:
        raise UserError("a certificate is about a release, and there is none; name the release too")
    if key is not None and not certificate.is_signed_with(key):
        raise UserError(
            "the certificate of the release was not signed with this key, or was changed since;"
            " make the release again, or leave out --key"
        )
    _same_file(certificate, matched)
    codes = codes_of_rows(matched.release.x, certificate.code_digests)
    wanted = [q for q in asks if q.role == "suppress" and not q.attribute.multilabel]
    claims = {q.name: certificate.attributes.get(q.name) for q in wanted}
    if not any(claims.values()):
        raise UserError(
            f"the certificate is about {listing(certificate.attributes)}, and the audit suppresses"
            f" {listing(claims)}; name what was certified with --suppress"
        )
    found, said = {}, []
    for q in wanted:
        claim = claims[q.name]
        if claim is None:
            said.append(f"the certificate says nothing of {q.name}")
            continue
        counted = None
        if codes is not None:
            counted = recount(codes, q.attribute, split, of=certificate.codes)
            if claim.release is not None:
                same_count(q.name, claim.release, counted)
        if claim.later is None:
            said.append(f"nothing is proved of '{q.name}' in records that come later")
            continue
        consistent(q.name, claim.later)
        found[q.name] = Certified(
            **claim.later.model_dump(),
            checked=codes is not None,
            recounted=None if counted is None else counted.all_rows,
            recounted_test=None if counted is None else counted.test,
            release=claim.release,
        )
    if codes is None:
        said.append(
            "the certificate was not checked against the rows: they are no codes, as those of a"
            " release --as sample are not. Its bounds hold only where its bundle made this release"
        )
    if certificate.release.kept_by_name:
        said.append(
            f"the certificate does not cover {listing(certificate.release.kept_by_name)}, kept by"
            " name"
        )
    return Proof(found, _source(certificate, matched, codes is not None, key), tuple(said))


def _same_file(certificate: ReleaseCertificate, matched: Pair) -> None:
    path, stated = matched.released.path, certificate.release.sha256
    if path is None or stated is None or not path.is_file():
        return
    found = file_sha256(path)
    if found != stated:
        raise UserError(
            f"the certificate is of another file: it names SHA-256 {stated[:16]}…, and that of"
            f" {path.name} is {found[:16]}…"
        )


def _source(
    certificate: ReleaseCertificate, matched: Pair, checked: bool, key: bytes | None
) -> CertifiedRelease:
    others: dict[str, AttributeClaims] = certificate.attributes
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
        others={n: c.later.bound for n, c in others.items() if "," in n and c.later is not None},
        assumptions=certificate.assumptions,
        notes=certificate.notes,
    )
