"""The certificate: a bound on every attacker of a release of finitely many codes."""

from withhold.certificate.certify_bundle import certify
from withhold.certificate.claim_wording import headline, sentence
from withhold.certificate.claims import AttributeClaim, Certificate, GroupClaim, NoGroupClaim
from withhold.certificate.reading import read_certificate

__all__ = [
    "AttributeClaim",
    "Certificate",
    "GroupClaim",
    "NoGroupClaim",
    "certify",
    "headline",
    "read_certificate",
    "sentence",
]
