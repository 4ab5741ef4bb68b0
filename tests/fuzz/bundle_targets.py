"""Files of bundles and certificates for the fuzzer.

The damaged file is put into a bundle whose sums and signature fit it, as somebody who has the key
could do: so the checks behind the signature are reached.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from withhold.bundle.bundle_files import CERTIFICATE, MEMBERSHIP

KEY = bytes(range(32))
# name of the target -> method of the bundle, file that is damaged
MEMBERS = {
    "bundle-json": ("codebook", "bundle.json"),
    "bundle-weights": ("codebook", "weights.safetensors"),
    "bundle-history": ("codebook", "history.json"),
    "bundle-membership": ("codebook", MEMBERSHIP),
    "bundle-certificate": ("codebook", CERTIFICATE),
    "bundle-labels": ("barycentre", "bundle.json"),
    "bundle-metric": ("barycentre", "weights.safetensors"),
    "bundle-mass": ("mass", "weights.safetensors"),
    "bundle-pass": ("pass", "weights.safetensors"),
    "bundle-noise": ("noise", "bundle.json"),
    "bundle-media": ("blur", "bundle.json"),
}
_BOOK = {"codes": 8, "hidden": [8], "epochs": 1, "rounds": 1, "least": 1, "smallest": 1}
_CONFIGS: dict[str, tuple[str, dict[str, Any]]] = {
    "codebook": ("codebook", _BOOK),
    "barycentre": ("codebook", _BOOK | {"solver": "barycentre", "use_labels": True}),
    "mass": ("mass", {
        "hidden": [8], "epochs": 1, "attribute_model": {"epochs": 1, "hidden": [8, 6]},
        "contrastive": {"epochs": 1, "projection": 4},
    }),
    "pass": ("pass", {"candidates": 8, "hidden": [8], "embedding": 4, "epochs": 1}),
    "noise": ("noise", {}),
}  # fmt: skip


def seed_of(name: str) -> Callable[[], list[tuple[bytes, Callable[[bytes], bytes]]]]:
    """The file of a sound bundle."""
    method, member = MEMBERS[name]
    return lambda: [(_contents(method)[member], lambda data: data)]


def reader_of(name: str) -> Callable[[Path], None]:
    """Load the bundle with the damaged file, and use what was loaded."""
    method, member = MEMBERS[name]

    def read(path: Path) -> None:
        from withhold.bundle.bundle import load_bundle
        from withhold.certificate.claims import Certificate

        folder = path.parent / "bundle"
        _write(folder, _contents(method) | {member: path.read_bytes()})
        if method == "blur":
            load_bundle(folder)
            return
        bundle = load_bundle(folder)
        data = _data()
        labels = {n: data.attribute(n) for n in bundle.modifier.needs if n in data.attribute_names}
        with np.errstate(all="ignore"):
            bundle.modifier.transform(data.x, labels)
        if bundle.membership is not None:
            bundle.membership.require_new(_data(seed=1))
        if bundle.certificate is not None:
            Certificate.from_dict(bundle.certificate)

    return read


def certificate_seed() -> list[tuple[bytes, Callable[[bytes], bytes]]]:
    """A certificate in a file of its own."""
    return [(_contents("codebook")[CERTIFICATE], lambda data: data)]


def read_certificate(path: Path) -> None:
    """Read it, check its signature, and say it in words."""
    from withhold.certificate.claim_wording import sentence
    from withhold.certificate.reading import read_certificate as read

    found = read(path)
    found.is_signed_with(KEY)
    for name, claim in found.attributes.items():
        sentence(name, claim)


@cache
def _contents(method: str) -> dict[str, bytes]:
    """The files of a bundle but sums, signature and key, in the order of the sums."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "bundle"
        if method == "blur":
            _save_media(Path(place), folder)
        else:
            from withhold.actions.fit import fit_bundle
            from withhold.bundle.bundle import save_bundle
            from withhold.records.roles import Roles

            name, config = _CONFIGS[method]
            made = fit_bundle(_data(), Roles.of("secret"), method=name, config=config, key=KEY)
            save_bundle(made, folder)
        names = [line.split("  ")[1] for line in (folder / "SHA256SUMS").read_text().splitlines()]
        return {name: (folder / name).read_bytes() for name in names}


def _save_media(place: Path, folder: Path) -> None:
    from PIL import Image

    from withhold.actions.fit import fit_bundle
    from withhold.bundle.bundle import save_bundle
    from withhold.records.dataset import Dataset
    from withhold.records.readers import open_media
    from withhold.records.roles import Roles

    (place / "faces").mkdir()
    for who in ("anna", "ben"):
        Image.new("RGB", (8, 8)).save(place / "faces" / f"{who}_1.png")
    media = open_media(place / "faces", "image", pattern="{person}_{n}.png")
    made = fit_bundle(Dataset.of_media(media), Roles.of("person"), method="blur", key=KEY)
    save_bundle(made, folder)


@cache
def _data(seed: int = 0) -> Any:
    from withhold.records.dataset import Dataset

    rng = np.random.default_rng(seed)
    x = rng.standard_normal((60, 4)).astype(np.float32)
    parts = np.array(["train", "train", "val", "test"])[np.arange(60) % 4]
    secret = [f"s{v}" for v in rng.integers(0, 2, 60)]
    return Dataset.from_arrays(x, {"secret": secret, "split": parts.tolist()}, name="data")


def _write(folder: Path, contents: dict[str, bytes]) -> None:
    """As `write_files` does, without waiting for the disk."""
    from withhold.core.key_file import write_key
    from withhold.core.signature import sign

    folder.mkdir(exist_ok=True)
    if not (folder / "key").exists():
        write_key(folder / "key", KEY)
    for optional in (MEMBERSHIP, CERTIFICATE):
        (folder / optional).unlink(missing_ok=True)
    sums = ""
    for name, data in contents.items():
        (folder / name).write_bytes(data)
        sums += f"{hashlib.sha256(data).hexdigest()}  {name}\n"
    (folder / "SHA256SUMS").write_text(sums)
    (folder / "SIGNATURE").write_text(sign(KEY, sums.encode()) + "\n")
