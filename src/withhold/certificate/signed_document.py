"""A certificate as a document: written as JSON, validated when read, signed by its owner."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from withhold.core.atomic import write_bytes
from withhold.core.errors import UserError
from withhold.core.safe_read import read_json
from withhold.core.signature import sign_fields, verify_fields

LARGEST = 64 * 2**20  # bytes; no certificate of ours is larger


class Claim(BaseModel):
    """A frozen piece of a certificate."""

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)


class SignedDocument(Claim):
    """A certificate of either kind."""

    schema_number: ClassVar[int]
    made_by: ClassVar[str]  # what to do if a file cannot be used

    signature: str | None = Field(None, description="of all other fields, under the bundle's key")

    def to_dict(self) -> dict[str, Any]:
        """The contract of the file."""
        return self.model_dump(mode="json", by_alias=True)

    def json_bytes(self) -> bytes:
        """The file as bytes."""
        return json.dumps(self.to_dict(), indent=2).encode() + b"\n"

    def signed(self, key: bytes) -> Self:
        """The same with the signature of the key's owner."""
        return self.model_copy(update={"signature": sign_fields(key, self.to_dict())})

    def is_signed_with(self, key: bytes) -> bool:
        """Whether the owner of this key signed it, and nobody changed it since."""
        return verify_fields(key, self.to_dict())

    def to_json(self, path: str | Path) -> None:
        """Write it, atomically."""
        write_bytes(Path(path), self.json_bytes())

    @classmethod
    def from_dict(cls, found: Any) -> Self:
        """The document of such a dict; raises `UserError` for another schema or invalid values."""
        if not isinstance(found, dict):
            raise UserError(f"this is not a certificate; {cls.made_by}")
        if found.get("schema") != cls.schema_number:
            raise UserError(
                f"the certificate has schema {str(found.get('schema'))[:20]}, and"
                f" {cls.schema_number} is wanted here; {cls.made_by}"
            )
        try:
            return cls.model_validate(found)
        except ValidationError as error:
            where = ".".join(str(p) for p in error.errors()[0]["loc"])
            raise UserError(
                f"the certificate is damaged: '{where}' is missing or has an invalid value;"
                f" {cls.made_by}"
            ) from error

    @classmethod
    def from_json(cls, path: str | Path) -> Self:
        """What `to_json` wrote."""
        found = read_json(Path(path), LARGEST)
        try:
            return cls.from_dict(found)
        except UserError as error:
            raise UserError(f"{path}: {error}") from error
