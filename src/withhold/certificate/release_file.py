"""`NAME.certificate.json`: what is proved of one release, beside the file that leaves."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError

from withhold.atomic import write_bytes
from withhold.certificate.claims import AttributeClaim, Claim, ReleaseClaim
from withhold.errors import UserError

SCHEMA = 2
LARGEST = 64 * 2**20  # bytes of a certificate; a larger file is none of ours

ASSUMPTIONS = (
    "The figures under 'release' are exact counts of the rows of this release. They hold for every"
    " attacker who does not know which row is whose.",
    "They cover the released codes. Columns that were kept by name are not covered.",
    "'linked' is for r rows of one class, drawn at random; Monte Carlo error is included.",
    "'known' is for an attacker who has the labels of a random share of the rows and the table of"
    " classes by codes. Who also has every other label can subtract, with or without this release.",
    "'measured' are attacks that were run, not bounds.",
    "The attacker does not hold the original of the row: who holds it needs no release.",
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


class AttributeClaims(Claim):
    """What is proved of one attribute: of the rows that leave, and of later records."""

    release: ReleaseClaim | None
    later: AttributeClaim | None = None
    reason: str | None = Field(None, description="why there is no claim about the release")


class ReleaseCertificate(Claim):
    """What is proved of one release, attribute by attribute."""

    schema_: Literal[2] = Field(2, alias="schema")
    version: str
    method: str
    codes: int
    code_digests: tuple[str, ...] = Field((), description="the beginning of each code's SHA-256")
    release: ReleasedFile
    attributes: dict[str, AttributeClaims]
    assumptions: tuple[str, ...] = ASSUMPTIONS
    notes: tuple[str, ...] = ()
    signature: str | None = Field(None, description="keyed, of everything else in this file")

    def to_dict(self) -> dict[str, Any]:
        """The contract of `NAME.certificate.json`."""
        return self.model_dump(mode="json", by_alias=True)

    def json_bytes(self) -> bytes:
        """The file as bytes."""
        return json.dumps(self.to_dict(), indent=2).encode() + b"\n"

    def signed(self, key: bytes) -> ReleaseCertificate:
        """The same with a signature under the owner's key."""
        from withhold.signature import sign

        return self.model_copy(update={"signature": sign(key, self._payload())})

    def is_signed_by(self, key: bytes) -> bool:
        """Whether the signature is that of this key."""
        from withhold.signature import verify

        return self.signature is not None and verify(key, self._payload(), self.signature)

    def _payload(self) -> bytes:
        from withhold.signature import canonical

        return canonical({k: v for k, v in self.to_dict().items() if k != "signature"})

    def to_json(self, path: str | Path) -> None:
        """Write it, atomically."""
        write_bytes(Path(path), self.json_bytes())

    @classmethod
    def from_dict(cls, found: Any) -> ReleaseCertificate:
        """What `to_dict` gave."""
        if not isinstance(found, dict) or found.get("schema") != SCHEMA:
            raise UserError(f"this is not the certificate of a release (schema {SCHEMA})")
        try:
            return cls.model_validate(found)
        except (ValidationError, RecursionError) as error:
            where = (
                ".".join(str(p) for p in error.errors()[0]["loc"])
                if isinstance(error, ValidationError)
                else "nesting"
            )
            raise UserError(
                f"the certificate is damaged: '{where}' is missing or has a value that cannot be;"
                " make the release again"
            ) from error

    @classmethod
    def from_json(cls, path: str | Path) -> ReleaseCertificate:
        """What `to_json` wrote."""
        path = Path(path)
        try:
            if not path.is_file() or path.stat().st_size > LARGEST:
                raise UserError(f"{path} is not a certificate file")
            found = json.loads(path.read_bytes())
        except OSError as error:
            raise UserError(f"cannot read {path}: {error.strerror}") from error
        except (ValueError, RecursionError) as error:
            raise UserError(f"{path} is not JSON; make the release again") from error
        try:
            return cls.from_dict(found)
        except UserError as error:
            raise UserError(f"{path}: {error}") from error


def certificate_path(release: Path) -> Path:
    """release.parquet -> release.certificate.json."""
    return release.with_name(f"{release.stem}.certificate.json")


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
                reason=reasons.get(name),
            )
    return made
