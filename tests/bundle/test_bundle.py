"""Bundles: whole or not at all, checked byte by byte, and never code."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.numpy import load as load_tensors

import withhold.bundle.bundle_files
from support import TINY, mixed
from withhold.actions.fit import fit_bundle
from withhold.bundle.bundle import FILES, Bundle, load_bundle, save_bundle
from withhold.bundle.bundle_files import EXTRA, bundle_digest
from withhold.core.errors import UserError
from withhold.core.key_file import read_key
from withhold.core.signature import keyed_digest, sign
from withhold.records.dataset import Dataset
from withhold.records.roles import Roles

ROLES = Roles.of("secret", "colour")
KEY = bytes(range(32))
WRITTEN = (*FILES, "SHA256SUMS", "SIGNATURE", "key")


@pytest.fixture(scope="module")
def bundle() -> Bundle:
    return fit_bundle(mixed(), ROLES, method="mass", config=TINY, key=KEY)


@pytest.fixture(scope="module")
def saved(bundle: Bundle, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle on disk that nobody changes."""
    folder = tmp_path_factory.mktemp("saved") / "bundle"
    save_bundle(bundle, folder)
    return folder


@pytest.fixture
def folder(saved: Path, tmp_path: Path) -> Path:
    """A copy to be damaged."""
    return Path(shutil.copytree(saved, tmp_path / "bundle"))


def rehash(folder: Path) -> None:
    """Make sums and signature right again, as an editor who has the key would."""
    lines = [f"{hashlib.sha256((folder / f).read_bytes()).hexdigest()}  {f}\n" for f in FILES]
    (folder / "SHA256SUMS").write_text("".join(lines))
    sums = (folder / "SHA256SUMS").read_bytes()
    (folder / "SIGNATURE").write_text(sign(read_key(folder / "key"), sums) + "\n")


def rewrite(folder: Path, change: Callable[[dict[str, object]], object]) -> None:
    text = json.loads((folder / "bundle.json").read_text())
    change(text)
    (folder / "bundle.json").write_text(json.dumps(text))
    rehash(folder)


def contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


# --- what is in it ----------------------------------------------------------------------------


def test_it_holds_six_files_and_none_is_code(saved: Path) -> None:
    assert {f.name for f in saved.iterdir()} == set(WRITTEN)
    for name, data in contents(saved).items():
        assert not data.startswith((b"\x80", b"PK")), f"{name} looks like a pickle or a zip"
    tensors = load_tensors((saved / "weights.safetensors").read_bytes())
    assert all(np.isfinite(t).all() for t in tensors.values())


def test_it_says_where_it_came_from(saved: Path) -> None:
    text = json.loads((saved / "bundle.json").read_text())
    assert text["schema"] == 3
    assert (text["method"], text["seed"]) == ("mass", 0)
    assert (text["suppress"], text["preserve"]) == (["secret"], ["colour"])
    assert text["config"]["contrastive"]["projection"] == TINY["contrastive"]["projection"]
    assert text["config"]["contrastive"]["temperature"] == 0.07  # defaults are written out
    data = mixed()
    assert text["input"]["records"] == len(data)
    assert text["input"]["features"] == data.dimension
    assert text["input"]["sha256"] == keyed_digest(KEY, data.digest())
    assert {"withhold", "torch", "numpy", "python"} <= set(text["versions"])


def test_no_record_and_no_label_is_in_it(saved: Path) -> None:
    """`mass` leaves weights behind, not data."""
    every = b"".join(contents(saved).values())
    data = mixed()
    for row in data.x[:20]:
        assert row.tobytes() not in every
    assert b"record 1" not in every


def test_the_history_holds_every_stage_and_epoch(saved: Path) -> None:
    history = json.loads((saved / "history.json").read_text())
    epochs = [(e["stage"], e["epoch"]) for e in history]
    stages = ("attribute secret", "attribute colour", "contrastive", "modifier")
    assert epochs == [(stage, epoch) for stage in stages for epoch in (1, 2)]
    assert {"reconstruction", "agnostic", "secret", "colour"} <= set(history[-1])
    assert all(np.isfinite(v) for e in history for k, v in e.items() if k != "stage")


def test_sha256sum_reads_the_sums(saved: Path) -> None:
    lines = (saved / "SHA256SUMS").read_text().splitlines()
    assert [line.split("  ")[1] for line in lines] == list(FILES)
    for line in lines:
        digest, name = line.split("  ")
        assert digest == hashlib.sha256((saved / name).read_bytes()).hexdigest()


@pytest.mark.skipif(shutil.which("sha256sum") is None, reason="no sha256sum here")
def test_sha256sum_itself_agrees(saved: Path) -> None:
    run = subprocess.run(
        ["sha256sum", "--strict", "-c", "SHA256SUMS"], cwd=saved, capture_output=True, check=False
    )
    assert run.returncode == 0, run.stderr


# --- coming back ------------------------------------------------------------------------------


def test_what_was_saved_comes_back(bundle: Bundle, saved: Path) -> None:
    loaded = load_bundle(saved)
    assert loaded.roles == bundle.roles
    assert loaded.config == bundle.config
    assert (loaded.method, loaded.seed) == ("mass", 0)
    assert (loaded.input, loaded.versions) == (bundle.input, bundle.versions)
    assert loaded.history == bundle.history
    x = mixed().x
    np.testing.assert_array_equal(loaded.modifier.transform(x), bundle.modifier.transform(x))


def test_a_release_is_without_the_suppressed_labels_unless_asked(bundle: Bundle) -> None:
    data = mixed(400)
    release = bundle.release(data)
    assert "secret" not in release.table.column_names
    assert "secret" not in release.schema.names
    assert release.attribute_names == ("colour", "tags")
    assert release.left_out["secret"] == "suppressed"
    assert "different in nearly every record" in release.left_out["id"]
    modified = bundle.modifier.transform(data.x)
    np.testing.assert_array_equal(release.x, modified[release.original_rows])
    assert "secret" in bundle.release(data, keep_labels=True).attribute_names
    later = bundle.release(data.without(["secret"]))  # new data need not have the label at all
    np.testing.assert_array_equal(later.x, modified[later.original_rows])
    same = bundle.release(data, same_order=True)
    np.testing.assert_array_equal(same.x, modified)


def test_the_digest_is_of_all_of_it(bundle: Bundle, saved: Path, tmp_path: Path) -> None:
    save_bundle(bundle, tmp_path / "again")
    assert bundle_digest(tmp_path / "again") == bundle_digest(saved)
    other = fit_bundle(mixed(), ROLES, method="mass", config=TINY, seed=1)
    save_bundle(other, tmp_path / "other")
    assert bundle_digest(tmp_path / "other") != bundle_digest(saved)


# --- damage -----------------------------------------------------------------------------------


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_any_single_changed_byte_is_refused(folder: Path, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(WRITTEN), "file")
    before = (folder / name).read_bytes()
    at = data.draw(st.integers(0, len(before) - 1), "position")
    flip = data.draw(st.integers(1, 255), "flip")
    after = bytearray(before)
    after[at] ^= flip
    (folder / name).write_bytes(after)
    try:
        with pytest.raises(UserError, match="bundle"):
            load_bundle(folder)
    finally:
        (folder / name).write_bytes(before)


def test_every_byte_of_the_sums_counts(folder: Path) -> None:
    """Line ends too: a reader that splits lines generously would let some of them pass."""
    sums = folder / "SHA256SUMS"
    before = sums.read_bytes()
    for at, byte in enumerate(before):
        for other in (byte ^ 1, byte ^ 0x20, 0x0B, 0x0D, 0x20):
            if other != byte:
                sums.write_bytes(before[:at] + bytes([other]) + before[at + 1 :])
                with pytest.raises(UserError):
                    load_bundle(folder)
    sums.write_bytes(before)
    load_bundle(folder)


@pytest.mark.parametrize("name", [*FILES, "SHA256SUMS", "SIGNATURE"])
@pytest.mark.parametrize("damage", ["cut", "longer", "empty", "gone", "folder"])
def test_a_damaged_file_is_named(folder: Path, name: str, damage: str) -> None:
    file = folder / name
    data = file.read_bytes()
    file.unlink()
    if damage == "folder":
        file.mkdir()
    elif damage != "gone":
        file.write_bytes({"cut": data[:-1], "longer": data + b"\n", "empty": b""}[damage])
    with pytest.raises(UserError) as error:
        load_bundle(folder)
    assert "\n" not in str(error.value)
    if name != "SHA256SUMS" or damage == "longer":
        assert name in str(error.value)


def test_what_is_not_a_bundle_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"no bundle at .*nowhere"):
        load_bundle(tmp_path / "nowhere")
    with pytest.raises(UserError, match="is not a bundle"):
        load_bundle(tmp_path)
    (tmp_path / "file").write_text("x")
    with pytest.raises(UserError, match="is not a bundle"):
        load_bundle(tmp_path / "file")


@pytest.mark.parametrize("schema", [2, 0, None, "3", True, [3]])
def test_another_schema_is_refused(folder: Path, schema: object) -> None:
    rewrite(folder, lambda text: text.update(schema=schema))
    with pytest.raises(UserError, match=f"schema {re.escape(str(schema))}, this version reads 3"):
        load_bundle(folder)


def test_a_method_of_another_version_is_refused(folder: Path) -> None:
    rewrite(folder, lambda text: text.update(method="mass-2"))
    with pytest.raises(UserError, match="no method 'mass-2'"):
        load_bundle(folder)


def test_weights_that_are_not_safetensors_are_refused(folder: Path) -> None:
    import pickle

    (folder / "weights.safetensors").write_bytes(pickle.dumps({"0.weight": [1.0]}))
    rehash(folder)
    with pytest.raises(UserError, match=r"weights\.safetensors cannot be read"):
        load_bundle(folder)


# --- writing ----------------------------------------------------------------------------------


def test_an_older_bundle_is_replaced_whole(folder: Path, tmp_path: Path) -> None:
    (folder / "left over").write_text("from an older version")
    constant = fit_bundle(mixed(), ROLES, method="constant")
    save_bundle(constant, folder)
    assert load_bundle(folder).method == "constant"
    assert {f.name for f in folder.iterdir()} == {*WRITTEN, *EXTRA}
    assert [f.name for f in tmp_path.iterdir()] == ["bundle"]


def test_a_write_that_fails_leaves_the_old_one(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = contents(folder)
    constant = fit_bundle(mixed(), ROLES, method="constant")
    real = withhold.bundle.bundle_files.write_synced

    def full(path: Path, data: bytes) -> None:
        if path.name == "history.json":
            raise OSError(28, "No space left on device")
        real(path, data)

    monkeypatch.setattr("withhold.bundle.bundle_files.write_synced", full)
    with pytest.raises(UserError, match="the disk is full"):
        save_bundle(constant, folder)
    assert contents(folder) == before
    assert [f.name for f in tmp_path.iterdir()] == ["bundle"]


def test_a_kill_between_the_two_renames_loses_nothing(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last moment: the old one is out of the way, the new one not yet in place."""
    import os

    before = contents(folder)
    real = os.rename

    def dies(source: Path, target: Path) -> None:
        if Path(target) == folder:
            raise KeyboardInterrupt
        real(source, target)

    constant = fit_bundle(mixed(), ROLES, method="constant")
    monkeypatch.setattr(os, "rename", dies)
    with pytest.raises(KeyboardInterrupt):
        save_bundle(constant, folder)
    monkeypatch.undo()
    assert load_bundle(folder).method == "mass"
    assert contents(folder) == before


def test_a_folder_of_something_else_is_left_alone(bundle: Bundle, tmp_path: Path) -> None:
    thesis = tmp_path / "results"
    thesis.mkdir()
    (thesis / "thesis.tex").write_text("three years")
    with pytest.raises(UserError, match="is not a bundle"):
        save_bundle(bundle, thesis)
    assert (thesis / "thesis.tex").read_text() == "three years"
    with pytest.raises(UserError, match="is not a bundle"):
        save_bundle(bundle, thesis / "thesis.tex")
    assert (thesis / "thesis.tex").read_text() == "three years"


def test_the_current_folder_by_its_short_name(
    bundle: Bundle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine").write_text("x")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match="is not a bundle"):
        save_bundle(bundle, ".")
    save_bundle(bundle, "inside")
    assert load_bundle("inside").method == "mass"


def test_an_empty_folder_is_filled(bundle: Bundle, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    save_bundle(bundle, tmp_path / "empty")
    assert load_bundle(tmp_path / "empty").method == "mass"


def test_a_place_that_is_not_there_is_the_users_error(bundle: Bundle, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="does not exist"):
        save_bundle(bundle, tmp_path / "no" / "such" / "place")


def test_a_release_has_no_suppressed_column_however_the_data_was_read() -> None:
    rng = np.random.default_rng(0)
    flags = {f"t{i}": rng.integers(0, 2, 240) for i in range(2)}
    columns = flags | {"digit": np.arange(240) % 3}
    x = rng.standard_normal((240, 4))
    gathered = Dataset.from_arrays(x, columns, multilabel={"tags": ["t0", "t1"]})
    bundle = fit_bundle(gathered, Roles.of("tags"), method="constant")
    apart = bundle.release(Dataset.from_arrays(x, columns))
    assert apart.table.column_names == ["digit"]
    assert bundle.release(gathered).table.column_names == ["digit"]
    assert not apart.schema.metadata
