"""The access token: made at the first start, shown once, kept only as a hash."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from pathlib import Path

from withhold.core.atomic import write_bytes
from withhold.core.errors import UserError
from withhold.core.safe_read import read_bounded

_HEX = 64  # digits of a SHA-256


def digest(token: str) -> str:
    """The hash of a token. It is random and long, so that one round of SHA-256 suffices."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def make_token(path: Path) -> str:
    """Make a new token and write its hash with mode 0600; the token itself is only returned."""
    token = secrets.token_urlsafe(32)
    write_bytes(path, digest(token).encode() + b"\n", private=True)
    return token


def read_digest(path: Path) -> str:
    """The hash of the token in a file."""
    try:
        found = read_bounded(path, 2 * _HEX).decode("ascii").strip()
    except (OSError, UnicodeError) as error:
        raise UserError(f"{path} cannot be read; make a new token with --new-token") from error
    if len(found) != _HEX:
        raise UserError(f"{path} holds no hash of a token; make a new token with --new-token")
    return found


def matches(token: str, known: str) -> bool:
    """Whether a token has this hash. The time does not depend on where they differ."""
    return hmac.compare_digest(digest(token), known)
