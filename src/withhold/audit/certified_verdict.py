"""What a certificate adds to the verdict of an audit, in words."""

from __future__ import annotations

from collections.abc import Mapping

from withhold.audit.attribute_evidence import AttributeEvidence
from withhold.audit.checked_certificate import Certified, CertifiedRelease, CertifiedRows
from withhold.certificate.claim_wording import at_most
from withhold.certificate.claims import NoGroupClaim


def contradictions(attributes: Mapping[str, AttributeEvidence]) -> list[str]:
    """Certificates that an attack surely contradicts, in words."""
    return [
        f"CONTRADICTION: an attack reads {name} from {100 * a.best.accuracy:.1f} % of single"
        f" records, but the certificate states at most {a.certificate.figure} %: do"
        " not rely on the certificate"
        for name, a in attributes.items()
        if a.certificate is not None and a.contradicted
    ]


def certified_verdict(
    attributes: Mapping[str, AttributeEvidence], source: CertifiedRelease | None
) -> list[str]:
    """Contradictions first, then what is proved of these rows, of later records, and of neither."""
    broken = contradictions(attributes)
    proved = {
        name: a.certificate
        for name, a in attributes.items()
        if a.certificate is not None and not a.contradicted and a.certificate.at_most < 1
    }
    beyond = {n: attributes[n].beyond_codes(c.at_most) for n, c in proved.items()}
    more = [
        "the certificate covers only the codes: with all columns of the file an attack reads"
        f" {name} from {100 * attributes[name].tiers[tier].accuracy:.1f} % of records"
        for name, tier in beyond.items()
        if tier is not None
    ]
    unproved = [
        f"nothing is proved about {name} for other people ({a.certificate.groups.reason})"
        for name, a in attributes.items()
        if isinstance(a.certificate, Certified)
        and a.certificate.stated is None
        and isinstance(a.certificate.groups, NoGroupClaim)
    ]
    proved = {n: c for n, c in proved.items() if beyond[n] is None}
    rows = {n: c for n, c in proved.items() if isinstance(c, CertifiedRows)}
    later = {n: c for n, c in proved.items() if isinstance(c, Certified) and c.stated is not None}
    return [*broken, *more, *_of_rows(rows), *_of_later(later, source), *unproved]


def _of_later(proved: Mapping[str, Certified], source: CertifiedRelease | None) -> list[str]:
    """What is counted of these rows, and certified of later records."""
    if not proved:
        return []
    bounds = ", ".join(f"{n} from more than {c.figure} %" for n, c in proved.items())
    one = next(iter(proved.values()))
    doubt = "" if one.checked else ", not checked against the release"
    if source is not None and source.signature == "verified":
        says, seal = "certified", "signature checked"
    else:
        says, seal = "an unsigned certificate says", "give --key to verify it"
    counted = [
        f"{n} from more than {at_most(c.release.one)} %"
        for n, c in proved.items()
        if c.release is not None and c.recounted is not None
    ]
    these = f"counted: no attacker reads {', '.join(counted)} of these records, one by one"
    return [
        *([these] if counted else []),
        f"{says}: no attacker reads {bounds} of single records"
        f" (confidence {100 * one.confidence:g} %, {one.stated_units}, {seal}{doubt})",
    ]


def _of_rows(proved: Mapping[str, CertifiedRows]) -> list[str]:
    """What is proved of a release whose certificate says nothing about later records."""
    said = []
    for name, c in proved.items():
        plan = c.plan
        if plan is not None and (c.checked or c.of_this_file):
            said.append(
                f"certified: no attacker who does not know the draws reads {name} from more than"
                f" {c.figure} % of these records, one by one (signature checked)"
            )
        elif c.recounted is not None:
            said.append(
                f"counted: no attacker reads {name} from more than {at_most(c.release.one)} % of"
                " these records, one by one"
            )
        else:
            said.append(
                f"nothing is proved here about {name}: the certificate cannot be counted again"
                " from these rows" + ("" if c.verified else "; give --key to verify its signature")
            )
    return said
