"""The secret key of a bundle: 32 random bytes, in a file that only its owner can read.

The key decides all draws of a release and signs certificates and bundles. Anyone who has it can
repeat the draws and sign, so it does not depend on data or seed and is written with mode 0600.
"""

from __future__ import annotations

import os
import secrets
import stat
from pathlib import Path

from withhold.core.atomic import write_bytes, writing_to
from withhold.core.errors import UserError

BYTES = 32
_MOST = 4096  # bytes read from a key file; a key takes up to 66
_HOW = "a key file holds 32 bytes, or 64 hexadecimal digits; make one with: --new-key FILE"


def new_key() -> bytes:
    """A random key from the operating system."""
    return secrets.token_bytes(BYTES)


def as_key(key: bytes | str | Path | None) -> bytes | None:
    """A key given as 32 bytes or as the path of its file."""
    if key is None:
        return None
    if isinstance(key, (str, Path)):
        return read_key(Path(key), pipe=True)
    if not isinstance(key, (bytes, bytearray)) or len(key) != BYTES:
        size = f" of length {len(key)}" if isinstance(key, (bytes, bytearray)) else ""
        raise UserError(
            f"key must be {BYTES} bytes or the path of a key file, not {type(key).__name__}{size}"
        )
    return bytes(key)


def read_key(path: Path, *, pipe: bool = False) -> bytes:
    """The key in a file; refuses a file that other users can read.

    With `pipe` it may also come from a pipe, as in `--key <(command)`.
    """
    try:
        # A pipe without a writer must not block.
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise UserError(f"cannot read the key file {path}: {reason}; {_HOW}") from error
    try:
        mode = os.fstat(handle).st_mode
        if not (stat.S_ISREG(mode) or (pipe and stat.S_ISFIFO(mode))):
            raise UserError(f"{path} is not a file, so it holds no key; {_HOW}")
        if os.name == "posix" and mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise UserError(
                f"the key file {path} can be read or changed by other users of this machine"
                f" (mode {stat.S_IMODE(mode):03o}); run: chmod 600 {path}"
            )
        os.set_blocking(handle, True)
        found = os.read(handle, _MOST)
    except OSError as error:
        raise UserError(f"cannot read the key file {path}: {error.strerror}") from error
    finally:
        os.close(handle)
    if len(found) == BYTES:
        return found
    try:
        key = bytes.fromhex(found.decode("ascii"))
    except ValueError:
        key = b""
    if len(key) != BYTES:
        raise UserError(f"{path} holds no key (it has {len(found):,} bytes); {_HOW}")
    return key


def write_key(path: Path, key: bytes) -> None:
    """Write the key to a new file, as hexadecimal digits, readable only by its owner."""
    with writing_to(path):
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(key.hex().encode() + b"\n")
            file.flush()
            os.fsync(handle)


def replace_key(path: Path, key: bytes) -> None:
    """Write the key, replacing an existing file: a kill leaves the old or the new one."""
    write_bytes(path, key.hex().encode() + b"\n", private=True)


def make_key_file(path: Path) -> bytes:
    """Make a new key and write it to a new file."""
    if path.exists() or path.is_symlink():
        raise UserError(f"{path} exists; use it with --key {path}, or name a new file")
    key = new_key()
    write_key(path, key)
    return key
