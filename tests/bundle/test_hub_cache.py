"""Bundles by the name that they have on the Hugging Face hub, from the local cache."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

import withhold
from support import key_of, mixed
from withhold.bundle.hub_cache import hub_cache
from withhold.core.errors import UserError

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache as `hf download` leaves it: files are links to blobs; the key was not published."""
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.chdir(tmp_path)
    bundle = withhold.fit(mixed(), ["secret"], method="constant", key=key_of(0))
    repository = tmp_path / "hub" / "models--acme--voices-1.0"
    blobs, snapshot = repository / "blobs", repository / "snapshots" / COMMIT
    snapshot.mkdir(parents=True)
    bundle.save(blobs)
    (blobs / "key").unlink()
    for file in blobs.iterdir():
        (snapshot / file.name).symlink_to(file)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(COMMIT)
    return repository


@pytest.mark.parametrize("revision", ["", "@main", f"@{COMMIT}"])
def test_a_cached_bundle_is_found_by_name(cache: Path, revision: str) -> None:
    bundle = withhold.load(f"acme/voices-1.0{revision}", key=key_of(0))
    x = mixed().x
    np.testing.assert_array_equal(
        bundle.modifier.transform(x)[0],
        x[mixed().parts == "train"].mean(axis=0, dtype=np.float64).astype(np.float32),
    )
    assert (
        withhold.Suppressor.load(f"acme/voices-1.0{revision}", key=key_of(0)).method == "constant"
    )


def test_the_key_is_not_on_the_hub(cache: Path) -> None:
    with pytest.raises(UserError, match="does not contain its key"):
        withhold.load("acme/voices-1.0")
    with pytest.raises(UserError, match="SIGNATURE does not match"):
        withhold.load("acme/voices-1.0", key=key_of(1))


def test_a_folder_of_that_name_comes_first(cache: Path) -> None:
    own = Path("acme/voices-1.0")
    own.parent.mkdir()
    withhold.fit(mixed(), ["secret"], method="noise", key=key_of(0)).save(own)
    assert withhold.load("acme/voices-1.0").method == "noise"


def test_what_is_not_there_is_told_and_not_downloaded(cache: Path) -> None:
    with pytest.raises(UserError, match="no bundle at acme/faces"):
        withhold.load("acme/faces")
    with pytest.raises(UserError, match=r"hf download acme/voices-1\.0 --revision v2"):
        withhold.load("acme/voices-1.0@v2")


@pytest.mark.parametrize("ref", ["../../../../elsewhere", "", COMMIT[:-1], "x" * 5000])
def test_a_hostile_ref_leads_nowhere(cache: Path, ref: str) -> None:
    (cache / "refs" / "main").write_text(ref)
    with pytest.raises(UserError, match="no revision 'main'"):
        withhold.load("acme/voices-1.0", key=key_of(0))


@pytest.mark.parametrize("name", ["../voices-1.0", "acme/../voices-1.0", "acme/.hidden", "a/b/c"])
def test_other_names_are_folders(cache: Path, name: str) -> None:
    shutil.rmtree(cache.parent)
    with pytest.raises(UserError, match="no bundle at"):
        withhold.load(name)


def test_where_the_cache_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HF_HUB_CACHE", raising=False)
    monkeypatch.setenv("HF_HOME", "/data/hf")
    assert hub_cache() == Path("/data/hf/hub")
    monkeypatch.delenv("HF_HOME")
    assert hub_cache() == Path.home() / ".cache" / "huggingface" / "hub"
