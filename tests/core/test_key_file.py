"""The secret key: random, readable by its owner only, and in one place."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support import TINY, Interrupted, Recorder, mixed
from withhold.actions.fit import fit_bundle
from withhold.bundle.bundle import load_bundle, save_bundle
from withhold.core.errors import UserError
from withhold.core.key_file import as_key, make_key_file, new_key, read_key, replace_key, write_key
from withhold.methods import Journal, method_names
from withhold.records.roles import Roles

pytestmark = pytest.mark.usefixtures("less_monte_carlo")
KEY = bytes(range(32))
ROLES = Roles.of("secret", "colour")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_keys_are_of_32_bytes_and_differ() -> None:
    keys = {new_key() for _ in range(50)}
    assert len(keys) == 50
    assert {len(key) for key in keys} == {32}


def test_the_same_data_and_seed_give_other_keys_and_other_draws() -> None:
    """Whoever has the data and the seed cannot rebuild the key."""
    one, two = (fit_bundle(mixed(), ROLES, method="noise").modifier for _ in range(2))
    assert one.key != two.key
    assert (one.transform(mixed().x) != two.transform(mixed().x))[:, :6].all()


def test_a_given_key_gives_the_same_bundle(tmp_path: Path) -> None:
    write_key(tmp_path / "owner.key", KEY)
    for name, key in (("bytes", KEY), ("file", tmp_path / "owner.key")):
        save_bundle(fit_bundle(mixed(), ROLES, method="noise", key=key), tmp_path / name)
    for file in (tmp_path / "bytes").iterdir():
        assert (tmp_path / "file" / file.name).read_bytes() == file.read_bytes()


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_a_key_file_is_for_its_owner_whatever_the_umask(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        make_key_file(tmp_path / "new")
        write_key(tmp_path / "written", KEY)
        replace_key(tmp_path / "written", KEY[::-1])
        save_bundle(fit_bundle(mixed(), ROLES, method="constant"), tmp_path / "bundle")
    finally:
        os.umask(before)
    for path in ("new", "written", "bundle/key"):
        assert mode(tmp_path / path) == 0o600
    assert read_key(tmp_path / "written") == KEY[::-1]


@pytest.mark.parametrize("wider", [0o640, 0o604, 0o620, 0o666])
def test_a_key_that_others_can_read_is_refused(tmp_path: Path, wider: int) -> None:
    save_bundle(fit_bundle(mixed(), ROLES, method="constant"), tmp_path / "bundle")
    key = tmp_path / "bundle" / "key"
    key.chmod(wider)
    with pytest.raises(UserError, match=rf"mode {wider:o}\); run: chmod 600 .*key"):
        load_bundle(tmp_path / "bundle")
    key.chmod(0o600)
    load_bundle(tmp_path / "bundle")


@pytest.mark.parametrize("text", [KEY, KEY.hex().encode(), KEY.hex().upper().encode() + b"\r\n"])
def test_bytes_and_hexadecimal_digits_are_read(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "key"
    path.touch(0o600)
    path.write_bytes(text)
    assert read_key(path) == as_key(str(path)) == KEY


@pytest.mark.parametrize("text", [b"", b"password\n", KEY[:31], KEY * 2, b"0" * 63, b"x" * 10_000])
def test_what_holds_no_key_is_refused(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "key"
    path.touch(0o600)
    path.write_bytes(text)
    with pytest.raises(UserError, match=r"holds no key.*--new-key FILE"):
        read_key(path)


def test_odd_files_and_values_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"cannot read the key file .*--new-key"):
        read_key(tmp_path / "absent")
    for odd in (tmp_path, Path("/dev/zero")):
        with pytest.raises(UserError):
            read_key(odd)
    odd_keys: list[Any] = [b"short", 5, KEY + b"0"]
    for key in odd_keys:
        with pytest.raises(UserError, match="key must be 32 bytes or the path of a key file"):
            as_key(key)
    (tmp_path / "there").touch()
    with pytest.raises(UserError, match="exists; use it with --key"):
        make_key_file(tmp_path / "there")


@pytest.mark.parametrize("method", method_names("features"))
def test_the_key_is_in_its_own_file_and_nowhere_else(tmp_path: Path, method: str) -> None:
    if method == "leace":
        pytest.importorskip("concept_erasure")
    config = {"mass": TINY, "mass-it": {"epochs": 1}, "pass": {"epochs": 1}, "codebook": {
        "codes": 8, "hidden": [8], "epochs": 1, "rounds": 1, "least": 1, "smallest": 1,
    }}.get(method, {})  # fmt: skip
    key = new_key()
    save_bundle(
        fit_bundle(mixed(), ROLES, method=method, config=config, key=key), tmp_path / "bundle"
    )
    for file in (tmp_path / "bundle").iterdir():
        data = file.read_bytes()
        assert (key.hex().encode() in data) == (file.name == "key")
        assert key not in data
    assert load_bundle(tmp_path / "bundle").modifier.key == key


def test_an_interrupted_fit_keeps_its_key_until_the_journal_goes(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    with pytest.raises(Interrupted):
        fit_bundle(
            mixed(), ROLES, method="mass", config=TINY, journal=journal,
            progress=Recorder(stop_in="modifier", after=1),
        )  # fmt: skip
    assert mode(tmp_path / "key") == 0o600
    kept = read_key(tmp_path / "key")
    again = Journal(tmp_path)
    resumed = fit_bundle(mixed(), ROLES, method="mass", config=TINY, journal=again)
    assert resumed.modifier.key == kept
    again.forget_key()
    assert not (tmp_path / "key").exists()
    other = fit_bundle(mixed(), ROLES, method="mass", config=TINY, journal=Journal(tmp_path))
    assert other.modifier.key != kept
    np.testing.assert_array_equal(
        other.modifier.transform(mixed().x), resumed.modifier.transform(mixed().x)
    )


def test_a_torn_key_of_a_journal_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "key").write_bytes(b"to")
    key = Journal(tmp_path).key
    assert read_key(tmp_path / "key") == key
    assert Journal(tmp_path).key == key
