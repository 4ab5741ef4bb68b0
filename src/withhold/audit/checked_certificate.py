"""Check the certificate of a bundle against a release, and return its bound for each attribute.

A release of code vectors can be checked: each of its rows must be one of the codes. A release of
samples or of code numbers cannot, and the evidence says so. A certificate that surely belongs to
another release is refused.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from withhold.audit.attack_plan import Question
from withhold.audit.findings import Finding
from withhold.audit.pairing import PairedRelease
from withhold.audit.recount import codes_by_number, codes_of_rows, consistent, not_below, recount
from withhold.audit.split import Split
from withhold.certificate.claim_wording import at_most, at_most_or_guess
from withhold.certificate.claims import (
    AttributeClaim,
    Certificate,
    CertifiedData,
    PlanClaim,
    ReleaseClaim,
)
from withhold.certificate.code_digests import compare
from withhold.certificate.signed_document import Claim
from withhold.core.errors import UserError, listing


class CheckedClaims(Claim):
    """What an audit found out about the claims on one attribute."""

    checked: bool = Field(description="whether every released record is one of the codes")
    of_this_file: bool = Field(
        False,
        description="whether a verified signature covers the SHA-256 of this file, a table whose"
        " rows are not codes",
    )
    recounted: float | None = Field(
        None, description="share of all released rows that are the commonest class of their code"
    )
    recounted_test: float | None = Field(None, description="the same for the rows of the test part")
    release: ReleaseClaim | None = Field(
        None, description="what is proved, exactly, about the rows of this release"
    )
    verified: bool = Field(False, description="whether a key verified that it was not changed")

    @property
    def plan(self) -> PlanClaim | None:
        """The figures for attackers who do not know the draws, if a key verified them.

        The plan is not in the release. So these figures cannot be counted again, and without the
        key they may have been written by anyone.
        """
        return self.release.plan if self.release is not None and self.verified else None

    @property
    def rows_at_most(self) -> float | None:
        """The figure for one row of this release; None without a claim about its rows.

        That of the plan if a key verified it. Otherwise that of the table of classes by codes.
        """
        if self.release is None:
            return None
        return self.release.one if self.plan is None else self.plan.one

    @property
    def reliable(self) -> bool:
        """Whether a gate can use the bound without trusting the sender of the certificate.

        Either the signature was verified, or everything behind the bound was recounted here.
        """
        return self.verified or (self.release is not None and self.recounted is not None)


class CertifiedRows(CheckedClaims):
    """The bound on every attacker of one attribute, for the rows of this release alone."""

    release: ReleaseClaim = Field(
        description="what is proved, exactly, about the rows of this release"
    )

    @property
    def at_most(self) -> float:
        """The figure for one row: see `rows_at_most`."""
        return self.release.one if self.plan is None else self.plan.one

    @property
    def figure(self) -> str:
        """The figure for one row in percent, rounded as in every text about it."""
        if self.plan is None:
            return at_most(self.release.one)
        return at_most_or_guess(self.plan.one, self.release.floor)

    @property
    def of_these_rows(self) -> float:
        """The bound that a gate tests."""
        return self.at_most


class Certified(AttributeClaim, CheckedClaims):
    """The bound on every attacker of one attribute, for later records and maybe these rows."""

    @property
    def of_these_rows(self) -> float | None:
        """The bound that a gate tests; None if nothing is proved.

        With the certificate of this release it is the exact figure for its rows. With the
        certificate of a bundle it is the bound for later records.
        """
        return self.stated if self.rows_at_most is None else self.rows_at_most

    @property
    def at_most(self) -> float:
        """The bound to state: by group if one was named, and at least that of the released rows.

        If nothing is proved for other people, it is the bound for more records of the same people.
        """
        stated = self.bound if self.stated is None else self.stated
        return stated if self.rows_at_most is None else max(stated, self.rows_at_most)

    @property
    def figure(self) -> str:
        """The bound to state in percent, rounded up."""
        return at_most(self.at_most)


class CertifiedRelease(Finding):
    """The source of the bounds, and their assumptions."""

    version: str = Field(description="version of withhold")
    method: str
    codes: int
    codebook_sha256: str
    fit_sha256: str
    data: CertifiedData
    checked: bool = Field(description="whether every released record is one of the codes")
    table: bool = Field(False, description="whether the rows are a table, made from the codes")
    of_this_file: bool = Field(
        False,
        description="whether a verified signature covers the SHA-256 of this file, a table",
    )
    signature: Literal["verified", "unsigned"] = Field(
        "unsigned", description="unsigned if no key was given to verify it"
    )
    others: dict[str, float] = Field(description="bounds on attributes this audit does not attack")
    assumptions: tuple[str, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Proof:
    """What a certificate adds to an audit: a bound for each attribute, its source, and notes."""

    of: dict[str, Certified | CertifiedRows]
    source: CertifiedRelease
    notes: tuple[str, ...]


def prove(
    certificate: Certificate,
    matched: PairedRelease,
    asks: Sequence[Question],
    split: Split,
    *,
    draws: int = 1,
    key: bytes | None = None,
) -> Proof:
    """Check the certificate against the release and return its bounds.

    Raise `UserError` if it surely belongs to another release or other attributes, if its bounds do
    not follow from its own figures or are below a count of the released rows, or if it was not
    signed with `key`.
    """
    for name, stated in certificate.attributes.items():
        consistent(name, stated)
    if key is not None and not certificate.is_signed_with(key):
        raise UserError(
            "the certificate was not signed with this key, or was changed since; use the one that"
            " was written with the bundle, or leave out --key"
        )
    doubt = _doubt(certificate, matched)
    codes = None if doubt else codes_of_rows(matched.release.x, certificate.code_digests)
    wanted = [q for q in asks if q.role == "suppress"]
    several = [q.name for q in wanted if q.attribute.multilabel]
    names = {
        q.name: None if q.name in several else claimed(q.name, certificate.attributes)
        for q in wanted
    }
    if not several:
        require_claim(names, certificate.attributes)
    found: dict[str, Certified | CertifiedRows] = {}
    for q in wanted:
        claim = names[q.name]
        if claim is None:
            continue
        stated = certificate.attributes[claim]
        counted = None
        if codes is not None:
            counted = recount(codes, q.attribute, split, of=certificate.codes)
            not_below(q.name, stated, counted)
        found[q.name] = Certified(
            **stated.model_dump(),
            checked=doubt is None,
            recounted=None if counted is None else counted.all_rows,
            recounted_test=None if counted is None else counted.test,
            verified=key is not None,
        )
    source = CertifiedRelease(
        version=certificate.version,
        method=certificate.method,
        codes=certificate.codes,
        codebook_sha256=certificate.codebook_sha256,
        fit_sha256=certificate.fit_sha256,
        data=certificate.data,
        checked=doubt is None,
        signature="unsigned" if key is None else "verified",
        others={n: a.bound for n, a in certificate.attributes.items() if n not in names.values()},
        assumptions=certificate.assumptions,
        notes=certificate.notes,
    )
    return Proof(found, source, tuple(_notes(names, several, doubt, draws)))


def _doubt(certificate: Certificate, matched: PairedRelease) -> str | None:
    """Why the release could not be checked; None if all of its records are codes."""
    release, codes = matched.release, certificate.codes
    if release.dimension != certificate.features:
        if codes_by_number(release.x, codes) is not None:
            return "it contains code numbers, not code values"
        raise UserError(
            f"the certificate belongs to another release: its codes have {certificate.features:,}"
            f" features, {release.name} has {release.dimension:,}"
        )
    rows = compare(release.x, certificate.code_digests)
    if not rows.others:
        return None
    if rows.codes:
        raise UserError(
            f"{rows.others:,} of the {len(release):,} records of {release.name} are not among the"
            f" {codes:,} codes of the certificate, so it does not cover them; release the output of"
            " withhold transform, or leave out --certificate"
        )
    # Few distinct rows that repeat often are those of another codebook. Samples do not repeat.
    if matched.identical or (rows.kinds <= codes and 2 * rows.kinds <= rows.others):
        raise UserError(
            f"the certificate belongs to another release: no record of {release.name} is one of its"
            f" {codes:,} codes; use the certificate of the bundle that made the release, and do not"
            " round the values"
        )
    return "its records are not codes (as with --as sample)"


def claimed(name: str, attributes: Collection[str]) -> str | None:
    """The name in a certificate; the order of a joint attribute's members does not matter."""
    if name in attributes:
        return name
    members = sorted(name.split(","))
    return next((n for n in attributes if sorted(n.split(",")) == members), None)


def require_claim(names: Mapping[str, str | None], attributes: Collection[str]) -> None:
    """Refuse a certificate that has a claim about none of the audited attributes."""
    if not any(names.values()):
        raise UserError(
            f"the certificate is about {listing(attributes)}, but the audit suppresses"
            f" {listing(names)}; name what was certified with --suppress"
        )


def _notes(
    names: dict[str, str | None], several: Sequence[str], doubt: str | None, draws: int
) -> list[str]:
    said = []
    if doubt is not None:
        said.append(
            f"the certificate was not checked against the release: {doubt}. Its bounds hold only"
            " if its bundle made this release"
        )
    said += [
        f"the certificate covers the labels of '{n}' one by one, not together" for n in several
    ]
    missing = [n for n, claim in names.items() if claim is None and n not in several]
    if missing:
        said.append(f"the certificate says nothing about {listing(missing)}")
    if draws > 1:
        said.append(
            "the certificate covers one release of each record; further draws may reveal more"
        )
    return said
