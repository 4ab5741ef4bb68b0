"""The files of a bundle, whatever it holds: written all or none, hashes checked when read."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from withhold.atomic import recover_folder, replace_folder, write_synced, writing_to
from withhold.errors import UserError

EXTRA = ("seen.safetensors", "certificate.json")  # where there are any


def write_files(folder: str | Path, contents: Mapping[str, bytes]) -> None:
    """Write to a temporary folder beside `folder`, then rename; an older bundle is replaced."""
    target = Path(folder).absolute()
    check_place(target)
    made = _making(target)
    with writing_to(target):
        shutil.rmtree(made, ignore_errors=True)
        made.mkdir()
        try:
            for name, data in contents.items():
                write_synced(made / name, data)
            write_synced(made / "SHA256SUMS", _sums(contents))
            replace_folder(made, target)
        except BaseException:
            shutil.rmtree(made, ignore_errors=True)
            raise


def check_place(target: Path) -> None:
    """Refuse to put a bundle where something else is."""
    empty = target.is_dir() and not any(target.iterdir())
    if target.exists() and not empty and not is_bundle(target):
        raise UserError(f"{target} exists and is not a bundle; it is left alone, choose another -o")


def tidy_place(target: Path) -> None:
    """Repair what a killed `save_bundle` left beside `target`."""
    with writing_to(target):
        recover_folder(target)
        shutil.rmtree(_making(target), ignore_errors=True)


def bundle_digest(folder: str | Path) -> str:
    """One hash for the whole bundle: that of its SHA256SUMS."""
    return _sha((Path(folder) / "SHA256SUMS").read_bytes())


def read_files(path: Path, expected: tuple[str, ...]) -> dict[str, bytes]:
    """The files of a bundle; one changed byte anywhere is refused."""
    if not path.exists():
        with suppress(OSError):
            recover_folder(path.absolute())
    if not path.exists():
        raise UserError(f"no bundle at {path}; make one with: withhold fit DATA … -o {path}")
    if not is_bundle(path):
        raise UserError(
            f"{path} is not a bundle (it has no SHA256SUMS); name one that withhold fit wrote"
        )
    written = (path / "SHA256SUMS").read_bytes()
    contents = {}
    # Named in the sums, or there: a file taken away is missed, one put there is not trusted.
    extra = [n for n in EXTRA if f"  {n}\n".encode() in written or (path / n).exists()]
    for name in (*expected, *extra):
        try:
            contents[name] = (path / name).read_bytes()
        except OSError as error:
            raise UserError(f"bundle {path}: {name} cannot be read ({error.strerror})") from error
        if _sums({name: contents[name]}) not in written:
            raise UserError(
                f"bundle {path}: {name} is not what was written (its hash differs);"
                " restore it, or fit again"
            )
    if written != _sums(contents):
        raise UserError(f"bundle {path}: SHA256SUMS was changed; restore it, or fit again")
    return contents


def is_bundle(path: Path) -> bool:
    """Whether a folder looks like a bundle; `load_bundle` says whether it is a sound one."""
    return (path / "SHA256SUMS").is_file()


def _making(target: Path) -> Path:
    return target.with_name(f".{target.name}.making")


def _sums(contents: Mapping[str, bytes]) -> bytes:
    """Lines as `sha256sum` writes them."""
    return "".join(f"{_sha(data)}  {name}\n" for name, data in contents.items()).encode()


def _sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
