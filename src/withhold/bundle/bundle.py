"""The bundle: the folder that a fit writes.

    bundle.json                 method, settings, roles, seed, versions, keyed digest of the input
    weights.safetensors         the modifier's arrays
    history.json                the training metrics, stage by stage
    fit-membership.safetensors  to recognise the records of the fit  } if the release has
    certificate.json            the bound on every attacker          } finitely many codes
    SHA256SUMS                  hashes of all of them; `sha256sum -c` reads it too
    SIGNATURE                   of SHA256SUMS, under the key
    key                         the secret key, mode 0600

A bundle contains no code, and loading it runs none. It does not depend on when or how often the fit
was interrupted: the same data, settings, seed and key give the same bytes on the same machine.

`fit-membership.safetensors` reveals who was in the fit. It is only needed to certify records of
another file. You can leave it out of a bundle that you send to others.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import safetensors
import torch
from pydantic import BaseModel
from safetensors.numpy import load, save

from withhold import __version__
from withhold.bundle.bundle_files import CERTIFICATE, MEMBERSHIP, read_files, write_files
from withhold.bundle.described_input import describe_input
from withhold.bundle.description import SCHEMA, Description, read_description, read_json
from withhold.bundle.fit_membership import FitMembership
from withhold.bundle.hub_cache import found_folder
from withhold.core.errors import UserError
from withhold.core.key_file import as_key
from withhold.core.progress import Progress
from withhold.core.signature import sign_fields, verify_fields
from withhold.methods import FeatureModifier, Modifier, get_method, read_config, require_kind
from withhold.methods.modifier import State
from withhold.records.dataset import Dataset
from withhold.records.roles import Roles
from withhold.records.samples import RecordKind

if TYPE_CHECKING:
    from withhold.release.released_dataset import ReleasedDataset

FILES = ("bundle.json", "weights.safetensors", "history.json")


@dataclass(frozen=True, eq=False, repr=False)
class Bundle:
    """A modifier and where it came from."""

    modifier: Modifier
    kind: RecordKind
    roles: Roles
    config: dict[str, Any]
    seed: int
    input: dict[str, Any]
    versions: dict[str, str]
    history: list[dict[str, Any]]
    membership: FitMembership | None = None
    certificate: dict[str, Any] | None = None

    @property
    def method(self) -> str:
        """The method that made it."""
        return self.modifier.method

    def __repr__(self) -> str:
        suppress = ", ".join(self.roles.suppress)
        what = "record" if self.kind in ("features", "table") else self.kind
        records = f"{self.input['records']:,} {what}s"
        return f"Bundle({self.method}: suppress {suppress}; fitted on {records})"

    def save(self, folder: str | Path) -> None:
        """Write the bundle to a folder; `withhold.load` reads it."""
        save_bundle(self, folder)

    @property
    def feature_spec(self) -> str:
        """The feature columns of the fit, as `--features` takes them."""
        return ",".join(self.input["columns"])

    @property
    def label_columns(self) -> list[str]:
        """Columns that hold the labels of suppressed attributes."""
        return list(self.input["label_columns"])

    @property
    def tells(self) -> dict[str, dict[str, float]]:
        """Columns that reveal a suppressed attribute: {attribute: {column: accuracy}}."""
        return dict(self.input["tells"])

    def directed(self, to: Mapping[str, str] | None) -> Bundle:
        """The same bundle with the new classes of replaced attributes chosen."""
        if to is not None and not isinstance(to, Mapping):
            raise UserError(f"to={to!r}: give a new class by attribute, such as {{'gender': 'f'}}")
        return replace(self, modifier=self.modifier.directed(to)) if to else self

    def release(
        self,
        dataset: Dataset,
        *,
        to: Mapping[str, str] | None = None,
        keep: Sequence[str] = (),
        drop: Sequence[str] = (),
        keep_labels: bool = False,
        same_order: bool = False,
        progress: Progress | None = None,
    ) -> ReleasedDataset:
        """The dataset to release: what the method made, and columns that reveal nothing.

        `released.left_out` says which columns were left out, and why. `keep` adds columns; the
        certificate does not cover them. The rows are in a keyed random order unless `same_order`.
        `to` chooses the new class of an attribute that `replace` replaces, e.g.
        `{"gender": "female"}`; by default it is drawn for every record.
        """
        # Imported here: `release` is a later layer than `bundle`.
        releases = import_module("withhold.release.released_dataset")
        wishes = releases.Wishes.of(
            keep=keep, drop=drop, keep_labels=keep_labels, same_order=same_order
        )
        made = releases.release_dataset(self.directed(to), dataset, wishes, progress=progress)
        released: ReleasedDataset = made
        return released


def describe(
    modifier: Modifier,
    dataset: Dataset,
    roles: Roles,
    config: BaseModel,
    *,
    seed: int,
    history: list[dict[str, Any]],
) -> Bundle:
    """The bundle of a finished fit."""
    return Bundle(
        modifier,
        dataset.kind,
        roles,
        config.model_dump(mode="json"),
        seed,
        describe_input(dataset, roles, modifier.key),
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


def save_bundle(bundle: Bundle, folder: str | Path) -> None:
    """Write the whole bundle or nothing. An older bundle is replaced."""
    text = {
        "schema": SCHEMA,
        "kind": bundle.kind,
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
    if bundle.membership is not None:
        contents[MEMBERSHIP] = save(bundle.membership.arrays())
    key = bundle.modifier.key
    if bundle.certificate is not None:
        signed = bundle.certificate | {"signature": sign_fields(key, bundle.certificate)}
        contents[CERTIFICATE] = json.dumps(signed, indent=2).encode() + b"\n"
    write_files(folder, contents, key)


def load_bundle(folder: str | Path, *, key: bytes | str | Path | None = None) -> Bundle:
    """Read and check a bundle. Anything that `save_bundle` did not write is refused.

    `folder` is a folder, or the name OWNER/NAME of a bundle in the local cache of the Hugging Face
    hub. Nothing is downloaded.

    `key` is the owner's copy of the key (32 bytes, or a file): the bundle must be signed with it.
    """
    path = found_folder(folder)
    files = read_files(path, FILES, as_key(key))
    contents = files.contents
    text = read_description(path, contents["bundle.json"])
    state = read_arrays(path, contents, "weights.safetensors")
    seen = read_arrays(path, contents, MEMBERSHIP) if MEMBERSHIP in contents else None
    try:
        method = get_method(text.method)
        read_config(text.method, text.config)
        modifier = method.modifier_type.from_state(state, text.modifier, files.key)
        require_kind(text.method, text.kind, "bundle.json")
        if not method.modifier_type.learned and text.modifier != text.config:
            raise UserError("'modifier' is not what 'config' says; restore it, or fit again")
        _check_modifier(modifier, text)
        membership = None if seen is None else FitMembership.from_arrays(seen, modifier.key)
    except UserError as error:
        raise UserError(f"bundle {path}: {error}") from error
    return Bundle(
        modifier,
        text.kind,
        text.roles,
        text.config,
        text.seed,
        text.input.model_dump(mode="json"),
        text.versions,
        _read_history(path, contents["history.json"]),
        membership,
        _read_certificate(path, contents.get(CERTIFICATE), files.key),
    )


def read_arrays(path: Path, contents: dict[str, bytes], name: str) -> State:
    """The arrays in one file of a bundle."""
    try:
        return load(contents[name])
    except (safetensors.SafetensorError, KeyError, TypeError, ValueError) as error:
        reason = " ".join(str(error).split())[:200]
        raise UserError(f"bundle {path}: {name} cannot be read ({reason})") from error


def _check_modifier(modifier: Modifier, text: Description) -> None:
    """Check that the arrays fit the features and attributes that the description names."""
    if isinstance(modifier, FeatureModifier) and modifier.dimension != text.input.features:
        raise UserError(
            f"weights.safetensors is for {modifier.dimension:,} features, bundle.json names"
            f" {text.input.features:,}; restore it, or fit again"
        )
    odd = set(modifier.needs) - {*text.suppress, *text.preserve, text.input.group}
    if odd:
        raise UserError(
            f"the modifier asks for '{min(odd)[:100]}', which is neither suppressed, preserved nor"
            " the group of the fit; restore it, or fit again"
        )


def _read_history(path: Path, data: bytes) -> list[dict[str, Any]]:
    history = read_json(path, "history.json", data)
    if not isinstance(history, list) or not all(isinstance(entry, dict) for entry in history):
        raise UserError(f"bundle {path}: history.json is not a list of entries; fit again")
    return history


def _read_certificate(path: Path, data: bytes | None, key: bytes) -> dict[str, Any] | None:
    if data is None:
        return None
    found = read_json(path, CERTIFICATE, data)
    try:
        signed = isinstance(found, dict) and verify_fields(key, found)
    except (ValueError, RecursionError):
        signed = False
    if not signed:
        raise UserError(
            f"bundle {path}: certificate.json was not signed with the bundle's key, so it was"
            f" edited; certify again: withhold certify {path} DATA -o certificate.json"
        )
    certificate: dict[str, Any] = found
    return certificate
