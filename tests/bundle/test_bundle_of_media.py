"""Bundles that change media: the key, what is refused, and that loading gives the same modifier."""

from __future__ import annotations

import hashlib
import json
import stat
from pathlib import Path

import numpy as np
import pytest

from release_support import below, bundle_of, hum, noisy, people
from support import mixed
from withhold.actions.fit import fit_bundle
from withhold.bundle.bundle import load_bundle, save_bundle
from withhold.bundle.bundle_files import write_files
from withhold.core.errors import UserError
from withhold.core.key_file import read_key
from withhold.methods import get_method, method_names
from withhold.records.dataset import Dataset
from withhold.records.readers import open_media
from withhold.records.roles import Roles
from withhold.records.samples import Picture, Sound

ROLES = Roles.of("person", "")
PATTERN = "{person}_{pose}.png"


@pytest.fixture
def faces(tmp_path: Path) -> Path:
    return people(tmp_path / "faces")


def saved(faces: Path, name: str, **more: object) -> Path:
    bundle, _ = bundle_of(faces, pattern=PATTERN, **more)  # type: ignore[arg-type]
    save_bundle(bundle, faces.parent / name)
    return faces.parent / name


FILTERS = [n for n in method_names() if not get_method(n).modifier_type.learned]


@pytest.mark.parametrize("method", FILTERS)  # contracts/image_method.py has those that learn
def test_a_loaded_one_does_the_same(faces: Path, tmp_path: Path, method: str) -> None:
    sound = get_method(method).modifier_type.kinds == ("sound",)
    if sound:
        from media_support import write_wav

        media = tmp_path / "voices"
        write_wav(media / "anna_0.wav", hum(0))
    bundle, _ = bundle_of(
        tmp_path / "voices" if sound else faces,
        method,
        kind="sound" if sound else "image",
        pattern="{person}_{pose}",
        seed=3,
    )
    save_bundle(bundle, tmp_path / "bundle")
    again = load_bundle(tmp_path / "bundle")
    assert (again.method, again.kind, again.roles) == (method, bundle.kind, ROLES)
    assert (again.seed, again.input, again.versions) == (3, bundle.input, bundle.versions)
    assert again.modifier.settings() == bundle.modifier.settings()
    if sound:
        wave = Sound(hum(1, 4000), 8000)
        one, two = (b.modifier.apply(wave).samples for b in (bundle, again))  # type: ignore[union-attr]
        assert not np.array_equal(one, wave.samples)
    else:
        face = Picture(noisy(7, 40, 40))
        one, two = (b.modifier.apply(face).pixels for b in (bundle, again))  # type: ignore[union-attr]
        assert not np.array_equal(one, face.pixels)
    np.testing.assert_array_equal(one, two)


def test_the_same_media_seed_and_key_give_the_same_bytes(faces: Path) -> None:
    one, two = (below(saved(faces, name, key=bytes(range(32)))) for name in ("one", "two"))
    assert one == two


def test_the_key_is_random_unless_given(faces: Path) -> None:
    """Two releases of one folder are not numbered alike, and nobody can compute the key."""
    keys = {bundle_of(faces, pattern=PATTERN)[0].modifier.key for _ in range(3)}
    assert len(keys) == 3
    assert {len(key) for key in keys} == {32}
    given = bytes(range(32))
    assert bundle_of(faces, pattern=PATTERN, key=given)[0].modifier.key == given


def test_neither_the_key_nor_a_plain_digest_of_the_media_stands_in_a_text(faces: Path) -> None:
    bundle = load_bundle(saved(faces, "bundle"))
    digest = open_media(faces, "image", pattern=PATTERN).digest()
    hashed = hashlib.sha256(f"described {digest}".encode()).hexdigest()  # of an older version
    for name in ("bundle.json", "history.json", "SHA256SUMS", "SIGNATURE"):
        text = (faces.parent / "bundle" / name).read_text()
        assert bundle.modifier.key.hex()[:16] not in text
        assert digest not in text
        assert hashed not in text
    assert stat.S_IMODE((faces.parent / "bundle" / "key").stat().st_mode) == 0o600


@pytest.mark.parametrize("name", ["bundle.json", "weights.safetensors", "history.json"])
def test_one_changed_byte_is_refused(faces: Path, name: str) -> None:
    folder = saved(faces, "bundle")
    path = folder / name
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    with pytest.raises(UserError, match=f"{name} is not what was written"):
        load_bundle(folder)


def test_a_file_that_was_put_there_is_refused(faces: Path) -> None:
    folder = saved(faces, "bundle")
    (folder / "certificate.json").write_text("{}")
    with pytest.raises(UserError, match=r"certificate\.json is not what was written"):
        load_bundle(folder)


def rewritten(folder: Path, **changes: object) -> Path:
    """With sums that fit: what another version, or somebody who knows how, wrote."""
    contents = {n: d for n, d in below(folder).items() if n != "SHA256SUMS"}
    order = ("bundle.json", "weights.safetensors", "history.json")
    text = json.loads(contents["bundle.json"]) | changes
    contents["bundle.json"] = json.dumps(text).encode()
    write_files(folder, {name: contents[name] for name in order}, read_key(folder / "key"))
    return folder


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"schema": 9}, "has schema 9, this version reads 3"),
        ({"method": "cubism"}, "there is no method 'cubism'"),
        ({"config": {"kernal": 3}}, "no setting 'kernal'; did you mean 'kernel'"),
        ({"kind": "features"}, "features and columns do not fit the kind 'features'"),
    ],
)
def test_what_this_version_cannot_read(faces: Path, changes: dict[str, object], told: str) -> None:
    folder = rewritten(saved(faces, "bundle"), **changes)
    with pytest.raises(UserError, match=told):
        load_bundle(folder)


def test_a_bundle_refuses_records_of_another_kind(faces: Path, tmp_path: Path) -> None:
    media = load_bundle(saved(faces, "media"))
    with pytest.raises(UserError, match="'blur' is for images and clips; mixed holds features"):
        media.release(mixed())
    made = fit_bundle(mixed(), Roles.of("secret", ""), method="constant")
    save_bundle(made, tmp_path / "features")
    with pytest.raises(UserError, match="method 'constant' is for features; faces holds images"):
        load_bundle(tmp_path / "features").release(Dataset.read(faces, pattern=PATTERN))


@pytest.mark.parametrize(
    ("method", "config", "suppress", "told"),
    [
        ("white-noise", {}, "person", "'white-noise' is for sounds; faces holds images"),
        ("blur", {"preset": "adience-week"}, "person", "did you mean 'adience-weak'"),
        ("blur", {"kernel": 4}, "person", "setting 'kernel' of method 'blur': .*odd"),
        ("blur", {"area": 2.0}, "person", "set region: faces"),
        ("blurr", {}, "person", "no method 'blurr'; did you mean 'blur'"),
        ("blur", {}, "persn", "'persn' is not in faces; did you mean 'person'"),
        ("blur", {}, "age", r"'age' is not in faces \(it has: file, person, pose\)"),
        ("blur", {}, "file", "'file' is not in faces"),
    ],
)
def test_mistakes(
    faces: Path, method: str, config: dict[str, object], suppress: str, told: str
) -> None:
    media = open_media(faces, "image", pattern=PATTERN)
    with pytest.raises(UserError, match=told):
        fit_bundle(Dataset.of_media(media), Roles.of(suppress, ""), method=method, config=config)
