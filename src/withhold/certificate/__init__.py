"""The certificate: a bound on every attacker of a release of finitely many codes."""

from withhold.certificate.certify import certify
from withhold.certificate.claims import AttributeClaim, Certificate, GroupClaim, NoGroupClaim
from withhold.certificate.reading import read_certificate
from withhold.certificate.words import headline, sentence

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
