"""`NAME.certificate.json`: what is proved of one release, beside the file that leaves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from withhold.certificate.claims import AttributeClaim, ReleaseClaim
from withhold.certificate.signed_document import LARGEST, Claim, SignedDocument
from withhold.core.errors import UserError
from withhold.core.safe_read import read_json

SCHEMA = 2
_COUNTED = "the labels of the rows that leave were counted one by one"

ASSUMPTIONS = (
    "The figures under 'release' are exact counts of the rows of this release, with rows that were"
    " held back, and are rounded up. They hold for every attacker who does not know which row is"
    " whose.",
    "They cover the released codes. Columns that were kept by name are not covered.",
    "The attacker is taken to know the labels named under 'preserve' of the row as well, and no"
    " others.",
    "'linked' is for r rows of one class, drawn at random, and where 'group' names a column also"
    " for r rows of one group (up to 5,000 groups); Monte Carlo error is included. Without one, r"
    " rows that are known to belong to one person may tell more.",
    "'known' is for an attacker who has the labels of a random share of the rows and the table of"
    " classes by codes. An attacker who also has every other label can subtract, with or without"
    " this release. Where rows are held back, the table is that of all rows, and the attacker does"
    " not know which of them left. It is for one row: whoever knows the labels of all other people"
    " may read more of a person with several rows.",
    "'measured' are attacks that were run, not bounds.",
    "The attacker cannot tell which row is whose. Whoever can (by a kept column, by the order of"
    " the rows, by rare values) and knows other columns of that person's original may read more"
    " than stated here, and more than from those columns alone.",
    "The figures under 'later' are for records that the fit never saw, at their confidence.",
)


class ReleasedFile(Claim):
    """The file that the certificate is about."""

    name: str
    sha256: str | None = Field(None, description="as `sha256sum` prints it for the file")
    records: int
    columns: tuple[str, ...] = Field(description="every column that leaves")
    kept_by_name: tuple[str, ...] = Field((), description="columns that the user kept: not covered")
    left_out: dict[str, str] = Field(default_factory=dict, description="column: why")
    same_order: bool = Field(False, description="whether rows leave in the order of the original")
    held_back: int = Field(0, ge=0, description="rows that stayed, drawn at random by the key")


class AttributeClaims(Claim):
    """What is proved of one attribute: of the rows that leave, and of later records."""

    release: ReleaseClaim | None
    later: AttributeClaim | None = None
    reason: str | None = Field(None, description="why there is no claim about the release")


class ReleaseCertificate(SignedDocument):
    """What is proved of one release, attribute by attribute."""

    schema_number = SCHEMA
    made_by = "make the release again: withhold transform BUNDLE DATA -o RELEASE"

    schema_: Literal[2] = Field(2, alias="schema")
    version: str
    method: str
    codes: int
    code_digests: tuple[str, ...] = Field(
        (), description="the beginning of each code's SHA-256", repr=False
    )
    release: ReleasedFile
    preserve: tuple[str, ...] = Field(
        (), description="labels that the attacker is taken to know of each row"
    )
    group: str | None = Field(None, description="the column by which 'linked' counts people")
    attributes: dict[str, AttributeClaims]
    assumptions: tuple[str, ...] = ASSUMPTIONS
    notes: tuple[str, ...] = ()


def certificate_path(release: Path) -> Path:
    """release.parquet -> release.certificate.json."""
    return release.with_name(f"{release.stem}.certificate.json")


def is_release_certificate(path: Path) -> bool:
    """Whether a file is the certificate of a release, whatever it is called now."""
    try:
        found = read_json(path, LARGEST)
    except UserError:  # reading it as a certificate says what is wrong
        return path.name.endswith(".certificate.json")
    return isinstance(found, dict) and "release" in found


def attribute_claims(
    claims: Mapping[str, ReleaseClaim],
    reasons: Mapping[str, str],
    later: Mapping[str, Any] | None,
    suppress: Sequence[str],
) -> dict[str, AttributeClaims]:
    """Claims of the release beside those of the bundle, for every attribute that has either.

    `later` is the `attributes` part of the bundle's certificate, as a dict.
    """
    names = dict.fromkeys([*suppress, *claims, *(later or {})])
    made = {}
    for name in names:
        of_bundle = (later or {}).get(name)
        if name in claims or name in reasons or of_bundle is not None:
            made[name] = AttributeClaims(
                release=claims.get(name),
                later=None if of_bundle is None else AttributeClaim.model_validate(of_bundle),
                reason=None if name in claims else reasons.get(name, _COUNTED),
            )
    return made
