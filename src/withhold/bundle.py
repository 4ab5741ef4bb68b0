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

import json
import platform
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import safetensors
import torch
from pydantic import BaseModel
from safetensors.numpy import load, save

from withhold import __version__
from withhold.bundle_files import read_files, write_files
from withhold.dataset import Dataset
from withhold.errors import UserError
from withhold.feasibility import checked_columns, telling_columns
from withhold.media.collect.collection import FILE
from withhold.media.extract import METADATA
from withhold.methods import Modifier, get_method
from withhold.methods.modifier import State
from withhold.roles import Roles
from withhold.seen import Seen
from withhold.tables import bare_schema

SCHEMA = 1
FILES = ("bundle.json", "weights.safetensors", "history.json")


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
        if METADATA in (dataset.schema.metadata or {}) and FILE in dataset.table.column_names:
            present.append(FILE)  # what files are called tells of people
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
        versions(),
        history,
    )


def versions() -> dict[str, str]:
    """What a bundle was made with."""
    return {
        "withhold": __version__,
        "torch": torch.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
    }


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
    """Write the bundle, all of it or nothing; an older one is replaced."""
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
    write_files(folder, contents)


def load_bundle(folder: str | Path) -> Bundle:
    """Read and check a bundle; one changed byte anywhere is refused."""
    path = Path(folder)
    contents = read_files(path, FILES)
    text = read_description(path, contents)
    if text.get("kind", "features") != "features":
        raise UserError(
            f"bundle {path} changes {text['kind']}s, not features; give it media:"
            f" withhold transform {path} MEDIA -o RELEASE"
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


def read_description(path: Path, contents: dict[str, bytes]) -> dict[str, Any]:
    """What bundle.json says; another version's is refused."""
    text: dict[str, Any] = json.loads(contents["bundle.json"])
    if text.get("schema") != SCHEMA:
        raise UserError(
            f"bundle {path} has schema {text.get('schema')}, this version reads {SCHEMA};"
            " fit it again with this version"
        )
    return text


def _arrays(path: Path, contents: dict[str, bytes], name: str) -> State:
    try:
        return load(contents[name])
    except safetensors.SafetensorError as error:
        raise UserError(f"bundle {path}: {name} cannot be read ({error})") from error
