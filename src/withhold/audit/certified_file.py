"""Whether the certificate of a release belongs to this file: its rows, columns and SHA-256."""

from __future__ import annotations

from withhold.audit.pairing import PairedRelease
from withhold.certificate.release_file import ReleaseCertificate
from withhold.core.errors import UserError, listing
from withhold.core.safe_read import file_sha256
from withhold.records.tables import RECORD
from withhold.release.wishes import MOST_HELD_BACK


def same_file(certificate: ReleaseCertificate, matched: PairedRelease) -> bool:
    """Whether the certificate names the SHA-256 of this file. Raise `UserError` for another's."""
    path, stated = matched.released.path, certificate.release.sha256
    if certificate.release.records != len(matched.released):
        raise UserError(
            "the certificate belongs to another release: it has"
            f" {certificate.release.records:,} rows, and {matched.released.name} has"
            f" {len(matched.released):,}"
        )
    _same_held_back(certificate, matched)
    released = matched.released
    columns = [n for n in released.schema.names if n != RECORD]
    if released.tabular and released.encoder is not None:  # columns that became features
        columns += [c.name for c in released.encoder.columns]
    if set(certificate.release.columns) != set(columns):
        odd = sorted(set(certificate.release.columns) ^ set(columns))
        raise UserError(
            f"the certificate belongs to another release: it and {matched.released.name} do not"
            f" have the same columns ({listing(odd)})"
        )
    if path is None or not path.is_file():
        return False
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
    return True


def _same_held_back(certificate: ReleaseCertificate, matched: PairedRelease) -> None:
    """Refuse a number of rows held back that is not that of the list, or that nobody can ask for.

    The more rows were held back, the less the rows that left can contradict.
    """
    stated, found = certificate.release.held_back, matched.held_back
    if found and stated != found:
        raise UserError(
            f"the certificate belongs to another release: it says that {stated:,} rows were held"
            f" back, and the list of rows of {matched.released.name} lacks {found:,}"
        )
    most = MOST_HELD_BACK * (stated + certificate.release.records)
    if stated > most + 1:
        raise UserError(
            f"the certificate was changed: it says that {stated:,} rows were held back, and a"
            f" release of {certificate.release.records:,} rows cannot have so many"
        )
