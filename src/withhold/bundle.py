"""The bundle: the folder a fit leaves behind.

    bundle.json          method, settings, roles, seed, versions, digest of the input
    weights.safetensors  the modifier's arrays
    history.json         the training metrics, stage by stage
    seen.safetensors     hashes of the records that the fit used   } of a release of finitely
    certificate.json     the bound on every attacker               } many codes
    SHA256SUMS           hashes of all of them; `sha256sum -c` reads it too

Nothing in it is code, and loading runs none. Nothing in it depends on when or how often the fit was
interrupted: the same data, settings and seed give the same bytes on the same machine.
"""

from __future__ import annotations

import hashlib
import json
import platform
import shutil
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import safetensors
import torch
from pydantic import BaseModel
from safetensors.numpy import load, save

from withhold import __version__
from withhold.atomic import recover_folder, replace_folder, write_synced, writing_to
from withhold.dataset import Dataset
from withhold.errors import UserError
from withhold.feasibility import checked_columns, telling_columns
from withhold.methods import Modifier, get_method
from withhold.methods.modifier import State
from withhold.roles import Roles
from withhold.seen import Seen
from withhold.tables import bare_schema

SCHEMA = 1
FILES = ("bundle.json", "weights.safetensors", "history.json")
EXTRA = ("seen.safetensors", "certificate.json")  # where there are any


@dataclass(frozen=True, eq=False)
class Bundle:
    """A modifier and where it came from."""

    modifier: Modifier
    roles: Roles
    config: dict[str, Any]
    seed: int
    input: dict[str, Any]
    versions: dict[str, str]
    history: list[dict[str, Any]]
    seen: Seen | None = None
    certificate: dict[str, Any] | None = None

    @property
    def method(self) -> str:
        """The method that made it."""
        return self.modifier.method

    @property
    def feature_spec(self) -> str:
        """The feature columns of the fit, as `--features` takes them."""
        return ",".join(self.input["columns"])

    @property
    def label_columns(self) -> list[str]:
        """Columns that hold the labels of suppressed attributes."""
        return list(self.input["label_columns"])

    @property
    def checked_columns(self) -> list[str]:
        """Columns of the fitted data of which `tells` knows."""
        return list(self.input["checked"])

    @property
    def tells(self) -> dict[str, dict[str, float]]:
        """Columns that tell of a suppressed attribute: {attribute: {column: best guess}}."""
        return dict(self.input["tells"])

    def release(self, dataset: Dataset, *, keep_labels: bool = False) -> Dataset:
        """The dataset that leaves the house: modified features, suppressed labels left out."""
        there = [n for n in self.modifier.needs if n in dataset.attribute_names]
        released = dataset.with_features(
            self.modifier.transform(dataset.x, {n: dataset.attribute(n) for n in there})
        )
        # By column, however this dataset was read: as several binary columns, or excluded.
        gone = {*self.label_columns, *self.roles.suppress}
        present = [c for c in dataset.table.column_names if c in gone]
        present += [n for n in dataset.multilabel if n in gone]
        released = released if keep_labels else released.without(present)
        return replace(released, schema=bare_schema(released.schema))


def describe(
    modifier: Modifier,
    dataset: Dataset,
    roles: Roles,
    config: BaseModel,
    *,
    seed: int,
    history: list[dict[str, Any]],
) -> Bundle:
    """The bundle of a fit that is done."""
    return Bundle(
        modifier,
        roles,
        config.model_dump(mode="json"),
        seed,
        describe_input(dataset, roles),
        {
            "withhold": __version__,
            "torch": torch.__version__,
            "numpy": np.__version__,
            "python": platform.python_version(),
        },
        history,
    )


def describe_input(dataset: Dataset, roles: Roles) -> dict[str, Any]:
    """What decides a fit beside its settings: the data, and how it was read."""
    return {
        "name": dataset.name,
        "records": len(dataset),
        "features": dataset.dimension,
        "columns": list(dataset.layout.columns),
        "label_columns": [c for n in roles.suppress for c in dataset.multilabel.get(n, (n,))],
        "group": dataset.group,
        "multilabel": {name: list(labels) for name, labels in dataset.multilabel.items()},
        "raw": None if dataset.raw is None else dataset.raw.fingerprint(),
        "checked": checked_columns(dataset, roles),
        "tells": telling_columns(dataset, roles),
        "sha256": dataset.digest(),
    }


def save_bundle(bundle: Bundle, folder: str | Path) -> None:
    """Write to a temporary folder beside `folder`, then rename; an older bundle is replaced."""
    target = Path(folder).absolute()
    check_place(target)
    made = _making(target)
    text = {
        "schema": SCHEMA,
        "method": bundle.method,
        "suppress": list(bundle.roles.suppress),
        "preserve": list(bundle.roles.preserve),
        "seed": bundle.seed,
        "config": bundle.config,
        "modifier": bundle.modifier.settings(),
        "input": bundle.input,
        "versions": bundle.versions,
    }
    contents = {
        "bundle.json": json.dumps(text, indent=2, sort_keys=True).encode() + b"\n",
        "weights.safetensors": save(
            {k: np.ascontiguousarray(v) for k, v in sorted(bundle.modifier.state().items())}
        ),
        "history.json": json.dumps(bundle.history, indent=1).encode() + b"\n",
    }
    if bundle.seen is not None:
        contents["seen.safetensors"] = save(bundle.seen.arrays())
    if bundle.certificate is not None:
        contents["certificate.json"] = json.dumps(bundle.certificate, indent=2).encode() + b"\n"
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


def load_bundle(folder: str | Path) -> Bundle:
    """Read and check a bundle; one changed byte anywhere is refused."""
    path = Path(folder)
    contents = _checked(path)
    text = json.loads(contents["bundle.json"])
    if text.get("schema") != SCHEMA:
        raise UserError(
            f"bundle {path} has schema {text.get('schema')}, this version reads {SCHEMA};"
            " fit it again with this version"
        )
    state = _arrays(path, contents, "weights.safetensors")
    seen = "seen.safetensors" in contents
    certificate = contents.get("certificate.json")
    kind = get_method(text["method"]).modifier_type
    return Bundle(
        kind.from_state(state, text["modifier"]),
        Roles(tuple(text["suppress"]), tuple(text["preserve"])),
        text["config"],
        text["seed"],
        text["input"],
        text["versions"],
        json.loads(contents["history.json"]),
        Seen.from_arrays(_arrays(path, contents, "seen.safetensors")) if seen else None,
        None if certificate is None else json.loads(certificate),
    )


def _arrays(path: Path, contents: dict[str, bytes], name: str) -> State:
    try:
        return load(contents[name])
    except safetensors.SafetensorError as error:
        raise UserError(f"bundle {path}: {name} cannot be read ({error})") from error


def bundle_digest(folder: str | Path) -> str:
    """One hash for the whole bundle: that of its SHA256SUMS."""
    return _sha((Path(folder) / "SHA256SUMS").read_bytes())


def _checked(path: Path) -> dict[str, bytes]:
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
    for name in (*FILES, *extra):
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


def _sums(contents: dict[str, bytes]) -> bytes:
    """Lines as `sha256sum` writes them."""
    return "".join(f"{_sha(data)}  {name}\n" for name, data in contents.items()).encode()


def _sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
