"""The files of a bundle: all are written or none; hashes and a signature are checked on reading.

SHA256SUMS  hashes of every file below except `key`; `sha256sum -c` reads it too
SIGNATURE   the signature of SHA256SUMS under the bundle's key
key         the secret key, with mode 0600; it may be kept elsewhere
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from withhold.core import safe_read
from withhold.core.atomic import recover_folder, replace_folder, write_synced, writing_to
from withhold.core.errors import UserError
from withhold.core.key_file import read_key, write_key
from withhold.core.signature import sign, verify

KEY = "key"
MEMBERSHIP = "fit-membership.safetensors"  # may be left out when a bundle is sent to others
CERTIFICATE = "certificate.json"
EXTRA = (MEMBERSHIP, CERTIFICATE)  # optional files
# The largest size in bytes. A larger file is refused without reading it.
LIMITS = {
    "bundle.json": 2**26,
    "history.json": 2**28,
    CERTIFICATE: 2**26,
    MEMBERSHIP: 2**34,
    "weights.safetensors": 2**34,
    "SHA256SUMS": 2**16,
    "SIGNATURE": 2**10,
}


@dataclass(frozen=True, eq=False)
class BundleFiles:
    """The contents of each file by name, and the key that they are signed with."""

    contents: dict[str, bytes]
    key: bytes


def write_files(folder: str | Path, contents: Mapping[str, bytes], key: bytes) -> None:
    """Write to a temporary folder beside `folder`, then rename it. Replaces an older bundle."""
    target = Path(folder).absolute()
    check_place(target)
    made = _making(target)
    with writing_to(target):
        shutil.rmtree(made, ignore_errors=True)
        made.mkdir()
        try:
            for name, data in contents.items():
                write_synced(made / name, data)
            sums = _sums(contents)
            write_synced(made / "SHA256SUMS", sums)
            write_synced(made / "SIGNATURE", sign(key, sums).encode() + b"\n")
            write_key(made / KEY, key)
            replace_folder(made, target)
        except BaseException:
            shutil.rmtree(made, ignore_errors=True)
            raise


def check_place(target: Path) -> None:
    """Refuse to overwrite anything that is not a bundle."""
    empty = target.is_dir() and not any(target.iterdir())
    if target.exists() and not empty and not is_bundle(target):
        raise UserError(f"{target} exists and is not a bundle; choose another -o")


def tidy_place(target: Path) -> None:
    """Repair what a killed `save_bundle` left beside `target`."""
    with writing_to(target):
        recover_folder(target)
        shutil.rmtree(_making(target), ignore_errors=True)


def bundle_digest(folder: str | Path) -> str:
    """One hash for the whole bundle: that of its SHA256SUMS."""
    return _sha(read_bounded(Path(folder), "SHA256SUMS"))


def read_files(path: Path, expected: tuple[str, ...], key: bytes | None = None) -> BundleFiles:
    """The files of a bundle. A changed byte or a wrong signature is refused.

    `key` is the owner's copy of the key. If it is given, the bundle must be signed with it and need
    not contain it.
    """
    if not path.exists():
        with suppress(OSError):
            recover_folder(path.absolute())
    if not path.exists():
        raise UserError(f"no bundle at {path}; make one with: withhold fit DATA … -o {path}")
    if not is_bundle(path):
        raise UserError(
            f"{path} is not a bundle (it has no SHA256SUMS); name one that withhold fit wrote"
        )
    if not (path / "SIGNATURE").exists():
        raise UserError(
            f"bundle {path}: SIGNATURE is missing, so edits to the bundle cannot be detected;"
            " restore it, or fit again with this version"
        )
    written = read_bounded(path, "SHA256SUMS")
    contents = {}
    # Files named in the sums, or present: only MEMBERSHIP may be removed, and none added.
    named = [n for n in EXTRA if f"  {n}\n".encode() in written]
    extra = [n for n in EXTRA if n in named or (path / n).exists()]
    sums = []
    for name in (*expected, *extra):
        if name == MEMBERSHIP and name in named and not os.path.lexists(path / name):
            sums.append(_line_of(name, written))
            continue
        contents[name] = read_bounded(path, name)
        sums.append(_sums({name: contents[name]}))
        if sums[-1] not in written:
            raise UserError(
                f"bundle {path}: {name} is not what was written (its hash differs);"
                " restore it, or fit again"
            )
    if written != b"".join(sums):
        raise UserError(f"bundle {path}: SHA256SUMS was changed; restore it, or fit again")
    own = _key(path, key)
    signature = read_bounded(path, "SIGNATURE").decode("ascii", "replace")
    if not signature.endswith("\n") or not verify(own, written, signature[:-1]):
        raise UserError(
            f"bundle {path}: SIGNATURE does not match its files and key, so the bundle was"
            " edited; restore it, or fit again"
        )
    return BundleFiles(contents, own)


def read_bounded(path: Path, name: str) -> bytes:
    """One file of the bundle at `path`. It must be a regular file of a plausible size."""
    try:
        return safe_read.read_bounded(path / name, LIMITS[name])
    except (OSError, MemoryError) as error:
        said = getattr(error, "strerror", None) or "not enough memory"
        raise UserError(f"bundle {path}: {name} cannot be read ({said})") from error


def is_bundle(path: Path) -> bool:
    """Whether a folder looks like a bundle. Only `load_bundle` checks that it is valid."""
    return (path / "SHA256SUMS").is_file()


def _key(path: Path, given: bytes | None) -> bytes:
    if not os.path.lexists(path / KEY):
        if given is None:
            raise UserError(
                f"bundle {path} does not contain its key; give the key file with --key FILE"
            )
        return given
    own = read_key(path / KEY)
    if given is not None and given != own:
        raise UserError(
            f"bundle {path} was made with another key than the one given, so it does not belong"
            " to the owner of that key"
        )
    return own


def _making(target: Path) -> Path:
    return target.with_name(f".{target.name}.making")


def _line_of(name: str, sums: bytes) -> bytes:
    """The line of one file in the sums."""
    ending = f"  {name}\n".encode()
    return next(line for line in sums.splitlines(keepends=True) if line.endswith(ending))


def _sums(contents: Mapping[str, bytes]) -> bytes:
    """Lines as `sha256sum` writes them."""
    return "".join(f"{_sha(data)}  {name}\n" for name, data in contents.items()).encode()


def _sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
