"""Signatures of certificates and bundles with the owner's key.

A signature is a keyed BLAKE2b hash, so only a holder of the key can make or check one. It shows the
owner that nobody changed a certificate or bundle. Without the key it is an opaque string, and the
file counts as unsigned.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping
from typing import Any

from withhold.core.keyed import other_key

FIELD = "signature"  # of a signed JSON object; not covered by the signature itself


def sign(key: bytes, payload: bytes) -> str:
    """The signature of `payload`: 64 hexadecimal digits."""
    own = other_key(key, "withhold signature")
    return hashlib.blake2b(payload, key=own, digest_size=32).hexdigest()


def verify(key: bytes, payload: bytes, signature: str | None) -> bool:
    """Whether `signature` was made by `sign` with this key for this payload."""
    if not isinstance(signature, str) or not signature.isascii():
        return False
    return hmac.compare_digest(sign(key, payload), signature)


def canonical(found: Mapping[str, Any]) -> bytes:
    """A JSON object as bytes that do not depend on the order of its fields or on white space."""
    text = json.dumps(found, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return text.encode("ascii")


def sign_fields(key: bytes, found: Mapping[str, Any]) -> str:
    """The signature of a JSON object: of all its fields except `signature`."""
    return sign(key, canonical(_unsigned(found)))


def verify_fields(key: bytes, found: Mapping[str, Any]) -> bool:
    """Whether the field `signature` of a JSON object matches its other fields."""
    return verify(key, canonical(_unsigned(found)), found.get(FIELD))


def keyed_digest(key: bytes, digest: str) -> str:
    """A digest of data that may be published: only a holder of the key can compare it.

    A plain hash would let anyone test a guess about the data.
    """
    own = other_key(key, "withhold digest of data")
    return hashlib.blake2b(digest.encode(), key=own, digest_size=32).hexdigest()


def _unsigned(found: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in found.items() if name != FIELD}
