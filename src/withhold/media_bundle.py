"""A bundle whose modifier changes media: images to images, sound to sound, clips to clips.

The files are those of every bundle. `weights.safetensors` holds the key that draws come from.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import safetensors
from safetensors.numpy import load, save

from withhold.bundle import FILES, SCHEMA, read_description, versions
from withhold.bundle_files import read_files, write_files
from withhold.errors import UserError, did_you_mean, listing
from withhold.media.collect import Collection
from withhold.media.collect.collection import FILE
from withhold.media.samples import Kind
from withhold.methods.classical import CLASSICAL, MediaModifier, classical_config, is_for
from withhold.roles import Roles


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
    where: dict[str, Any] | None = None,
) -> MediaBundle:
    """The bundle of a classical anonymiser. It learns nothing; the key of its draws comes from the
    media, which stay in the house, the settings and the seed. `where` is how the media were opened
    (pattern, column, rate), so that a release opens its own alike."""
    settings = classical_config(method, config)
    if collection.kind not in CLASSICAL[method].kinds:
        raise UserError(is_for(method, f"{collection.name} holds {collection.kind}s"))
    known = [n for n in collection.schema.names if n != FILE]
    for name in roles.named:
        if known and name not in known:
            hint = did_you_mean(name, known) or f" (columns: {listing(known)})"
            raise UserError(f"'{name}' is no attribute of {collection.name}{hint}")
    digest = collection.digest()
    said = {
        "name": collection.name,
        "items": len(collection),
        "columns": collection.schema.names,
        "where": where or {},
        "sha256": hashlib.sha256(f"described {digest}".encode()).hexdigest(),
    }
    # What is described gives no key away; and two releases of one folder are not numbered alike.
    about = json.dumps([method, settings.model_dump(mode="json"), seed, digest])
    key = hashlib.blake2b(f"withhold media key {about}".encode(), digest_size=32).digest()
    return MediaBundle(
        CLASSICAL[method](settings, key), collection.kind, roles, seed, said, versions()
    )


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
        "weights.safetensors": save({"key": np.frombuffer(bundle.modifier.key, np.uint8)}),
        "history.json": b"[]\n",
    }
    write_files(folder, contents)


def holds_media(folder: str | Path) -> bool:
    """Whether a bundle changes media; its files are not checked here."""
    try:
        text = json.loads((Path(folder) / "bundle.json").read_bytes())
        return str(text.get("kind", "features")) != "features"
    except (OSError, ValueError, AttributeError):
        return False


def load_media_bundle(folder: str | Path) -> MediaBundle:
    """Read and check a bundle of media; one changed byte anywhere is refused."""
    path = Path(folder)
    contents = read_files(path, FILES)
    text = read_description(path, contents)
    if text.get("kind", "features") == "features":
        raise UserError(f"bundle {path} changes features, not media; give it a dataset")
    config = classical_config(text["method"], text["config"])
    try:
        key = load(contents["weights.safetensors"])["key"].tobytes()
    except (safetensors.SafetensorError, KeyError) as error:
        raise UserError(f"bundle {path}: weights.safetensors cannot be read ({error})") from error
    return MediaBundle(
        CLASSICAL[text["method"]](config, key),
        text["kind"],
        Roles(tuple(text["suppress"]), tuple(text["preserve"])),
        text["seed"],
        text["input"],
        text["versions"],
    )
