"""A bundle whose modifier changes media: images to images, sound to sound, clips to clips.

The files are those of every bundle. An anonymiser has no weights: `weights.safetensors` is empty.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from safetensors.numpy import save

from withhold.bundle.bundle import FILES, read_arrays, versions
from withhold.bundle.description import SCHEMA, MediaDescription, checked, read_kind
from withhold.bundle.files import read_bounded, read_files, write_files
from withhold.core.errors import UserError, did_you_mean, listing
from withhold.core.key_file import as_key, new_key
from withhold.core.safe_read import parse_json
from withhold.core.signature import keyed_digest
from withhold.methods.classical import CLASSICAL, MediaModifier, classical_config, is_for
from withhold.records.attribute import encode
from withhold.records.columns import describe_columns
from withhold.records.columns.measure import MOST
from withhold.records.readers import Collection
from withhold.records.readers.collection import FILE
from withhold.records.roles import Roles
from withhold.records.samples import Kind


@dataclass(frozen=True, eq=False)
class MediaBundle:
    """A modifier of media and where it came from."""

    modifier: MediaModifier[Any]
    kind: Kind
    roles: Roles
    seed: int
    input: dict[str, Any]
    versions: dict[str, str]

    @property
    def method(self) -> str:
        """The method that made it."""
        return self.modifier.method


def fit_media(
    collection: Collection,
    roles: Roles,
    *,
    method: str,
    config: dict[str, Any] | None = None,
    seed: int = 0,
    key: bytes | str | Path | None = None,
    where: dict[str, Any] | None = None,
) -> MediaBundle:
    """The bundle of a classical anonymiser. It learns nothing; it draws from `key` (32 bytes, or a
    file with them), which is random by default. `where` is how the media were opened (pattern,
    column, rate), so that a release opens its own alike."""
    own = as_key(key) or new_key()
    settings = classical_config(method, config)
    if collection.kind not in CLASSICAL[method].kinds:
        raise UserError(is_for(method, f"{collection.name} holds {collection.kind}s"))
    known = [n for n in collection.schema.names if n != FILE]
    for name in roles.named:
        if known and name not in known:
            hint = did_you_mean(name, known) or f" (columns: {listing(known)})"
            raise UserError(f"'{name}' is no attribute of {collection.name}{hint}")
    said = {
        "name": collection.name,
        "items": len(collection),
        "columns": collection.schema.names,
        "where": where or {},
        "sha256": keyed_digest(own, collection.digest()),
        **_describe_labels(collection, roles, own),
    }
    return MediaBundle(
        CLASSICAL[method](settings, own), collection.kind, roles, seed, said, versions()
    )


def _describe_labels(collection: Collection, roles: Roles, key: bytes) -> dict[str, Any]:
    """Which labels tell of the suppressed attributes, and which were measured harmless."""
    table = collection.labels()
    if table is None or not set(roles.suppress) <= set(table.column_names):
        return {}
    if len(table) > MOST:
        rows = np.random.default_rng(0).choice(len(table), MOST, replace=False)
        table = table.take(pa.array(np.sort(rows)))
    try:
        attributes = [encode(n, table[n], collection.name) for n in roles.suppress]
    except UserError:  # a column that is no label: nothing can be measured against it
        return {}
    others = table.select([n for n in table.column_names if n not in roles.suppress])
    found = describe_columns(others, attributes, x=None, groups=None, key=key)
    return {"harmless": found["harmless"], "tells": found["tells"]}


def save_media_bundle(bundle: MediaBundle, folder: str | Path) -> None:
    """Write the bundle, all of it or nothing; an older one is replaced."""
    text = {
        "schema": SCHEMA,
        "kind": bundle.kind,
        "method": bundle.method,
        "suppress": list(bundle.roles.suppress),
        "preserve": list(bundle.roles.preserve),
        "seed": bundle.seed,
        "config": bundle.modifier.settings(),
        "input": bundle.input,
        "versions": bundle.versions,
    }
    contents = {
        "bundle.json": json.dumps(text, indent=2, sort_keys=True).encode() + b"\n",
        "weights.safetensors": save({}),
        "history.json": b"[]\n",
    }
    write_files(folder, contents, bundle.modifier.key)


def holds_media(folder: str | Path) -> bool:
    """Whether a bundle changes media; its files are not checked here."""
    try:
        text = parse_json(read_bounded(Path(folder), "bundle.json"), "bundle.json")
        return str(text.get("kind", "features")) != "features"
    except (UserError, AttributeError):
        return False


def load_media_bundle(folder: str | Path, *, key: bytes | str | Path | None = None) -> MediaBundle:
    """Read and check a bundle of media; anything that `save_media_bundle` did not write is refused.

    `key` is the owner's copy of the key (32 bytes, or a file): the bundle must be signed with it.
    """
    path = Path(folder)
    files = read_files(path, FILES, as_key(key))
    raw, kind = read_kind(path, files.contents["bundle.json"])
    if kind == "features":
        raise UserError(f"bundle {path} changes features, not media; give it a dataset")
    text = checked(path, raw, MediaDescription)
    if read_arrays(path, files.contents, "weights.safetensors"):
        raise UserError(
            f"bundle {path}: weights.safetensors holds arrays, and '{text.method}' has"
            " none; restore it, or fit again"
        )
    try:
        config = classical_config(text.method, text.config)
    except UserError as error:
        raise UserError(f"bundle {path}: {error}") from error
    if text.kind not in CLASSICAL[text.method].kinds:
        raise UserError(f"bundle {path}: {is_for(text.method, f'it says {text.kind}')}")
    return MediaBundle(
        CLASSICAL[text.method](config, files.key),
        text.kind,
        text.roles,
        text.seed,
        text.input.model_dump(mode="json"),
        text.versions,
    )
