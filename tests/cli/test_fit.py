"""`withhold fit`: what it writes, when it does nothing, and what it refuses to replace."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from support import TINY
from withhold.bundle.bundle import load_bundle

from .conftest import Run, snapshot

FIT = (
    "--method", "mass", "--suppress", "secret", "--config", "tiny.yaml", "--key", "owner.key"
)  # fmt: skip


@pytest.mark.parametrize("file", ["data.parquet", "data.npz", "lists.parquet"])
def test_same_bundle_from_every_format(place: Path, cli: Run, file: str) -> None:
    ran = cli("fit", file, *FIT, "--preserve", "useful", "-o", "mine", "--json", "--quiet")
    assert (ran.code, ran.err) == (0, "")
    assert ran.json["bundle"] == "mine"
    assert ran.json["method"] == "mass"
    mine, other = load_bundle("mine"), load_bundle("bundle")
    assert mine.input["sha256"] == other.input["sha256"]
    weights = "weights.safetensors"
    assert Path("mine", weights).read_bytes() == Path("bundle", weights).read_bytes()
    assert set(os.listdir(place)) & {"mine.partial", ".mine.making", ".mine.old"} == set()


def test_options_reach_the_fit(place: Path, cli: Run) -> None:
    ran = cli(
        "fit", "wide.csv", "--features", "f_*", "--multilabel", "sound=loud,fast",
        "--suppress", "sound", "--preserve", "secret", "--group", "person", "--exclude", "id",
        "--test", "take>=30", "--seed", "5", "--config", "tiny.yaml", "-o", "b",
        "--method", "mass",
    )  # fmt: skip
    assert ran.code == 0
    bundle = load_bundle("b")
    assert bundle.roles.suppress == ("sound",)
    assert bundle.label_columns == ["loud", "fast"]
    assert bundle.feature_spec == "f_0,f_1,f_2,f_3,f_4,f_5"
    assert bundle.seed == 5
    assert bundle.config["epochs"] == TINY["epochs"]
    assert "next: withhold transform b wide.csv" in ran.out


def test_held_out_records_do_not_matter(place: Path, cli: Run) -> None:
    """The part that --test names is not learned from: other features there, the same weights."""
    import numpy as np

    from withhold.records.dataset import Dataset

    data = Dataset.read("data.parquet")
    held = np.asarray(data.table["take"]) >= 30
    x = data.x.copy()
    x[held] += 100
    data.with_features(x).write("moved.parquet")
    for file, out in (("data.parquet", "one"), ("moved.parquet", "two")):
        assert cli("fit", file, *FIT, "--test", "take>=30", "-o", out, "-q").code == 0
    weights = "weights.safetensors"
    assert Path("one", weights).read_bytes() == Path("two", weights).read_bytes()


def test_preset_with_settings_over_it(place: Path, cli: Run) -> None:
    Path("few.yaml").write_text(json.dumps(TINY))
    ran = cli("fit", "data.parquet", "--suppress", "secret", "--preset", "audiomnist",
              "--method", "mass", "--config", "few.yaml", "-o", "b", "--json")  # fmt: skip
    assert ran.json["config"]["suppression"] == 0.001
    assert ran.json["config"]["attribute_model"]["epochs"] == 2


def test_second_run_does_nothing(place: Path, cli: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    first = ("fit", "data.parquet", *FIT, "-o", "b")
    assert cli(*first).code == 0
    before = snapshot(place)
    stamps = {p: p.stat().st_mtime_ns for p in Path("b").iterdir()}
    # What a kill between the rename and the tidying leaves goes with the next run.
    Path("b.partial").mkdir()
    Path("b.partial", "modifier-00.safetensors").touch()
    Path(".b.making").mkdir()
    monkeypatch.setattr("withhold.actions.fit.fit_bundle", None)
    ran = cli(*first, "--json")
    assert (ran.code, ran.err) == (0, "")
    assert ran.json["bundle"] == "b"
    assert snapshot(place) == before
    assert {p: p.stat().st_mtime_ns for p in Path("b").iterdir()} == stamps


@pytest.mark.parametrize(
    "change", [("--seed", "1"), ("--preserve", "useful"), ("--test", "take>=30")]
)
def test_another_fit_is_refused_without_overwrite(
    place: Path, cli: Run, change: tuple[str, ...]
) -> None:
    assert cli("fit", "data.parquet", *FIT, "-o", "b", "-q").code == 0
    before = snapshot(place)
    told = cli("fit", "data.parquet", *FIT, *change, "-o", "b").mistake
    assert "holds a bundle of another fit" in told
    assert "--overwrite" in told
    assert snapshot(place) == before
    assert cli("fit", "data.parquet", *FIT, *change, "-o", "b", "--overwrite", "-q").code == 0
    assert snapshot(place) != before
    assert {p.name for p in place.iterdir() if not p.is_symlink()} == {"b"}


@pytest.mark.parametrize("overwrite", [(), ("--overwrite",)])
@pytest.mark.parametrize("what", ["folder", "file", ".", "/"])
def test_what_is_no_bundle_is_never_replaced(
    place: Path, cli: Run, what: str, overwrite: tuple[str, ...]
) -> None:
    Path("folder").mkdir()
    Path("folder", "thesis.txt").write_text("years of work")
    Path("file").write_text("more work")
    before = snapshot(place)
    told = cli("fit", "data.parquet", *FIT, *overwrite, "-o", what).mistake
    assert "is not a bundle; choose another -o" in told
    assert snapshot(place) == before


def test_empty_folder_and_link_are_filled(place: Path, cli: Run) -> None:
    Path("real").mkdir()
    Path("link").symlink_to("real")
    assert cli("fit", "data.parquet", *FIT, "-o", "link", "-q").code == 0
    assert Path("link").is_symlink()
    load_bundle("real")


def test_bundle_lost_between_the_renames_comes_back(
    place: Path, cli: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """--overwrite, killed after the old bundle stepped aside and before the new one came."""
    assert cli("fit", "data.parquet", *FIT, "-o", "b", "-q").code == 0
    before = snapshot(Path("b"))
    rename = os.rename

    def killed(source: Path, target: Path) -> None:
        if str(source).endswith(".making"):
            raise KeyboardInterrupt
        rename(source, target)

    again = ("fit", "data.parquet", *FIT, "--seed", "1", "-o", "b")
    with monkeypatch.context() as patch:
        patch.setattr(os, "rename", killed)
        # A kill runs no handler either, so what it leaves is put together by hand.
        assert cli(*again, "--overwrite").code == 130
    if Path("b").exists():
        rename("b", ".b.old")
    assert not Path("b").exists()
    left = place / "left"
    left.mkdir()
    shutil.copytree(".b.old", left / ".b.old")

    # Whoever asks for the bundle next gets the old one,
    assert cli("transform", "b", "data.parquet", "-o", "r.parquet", "-q").code == 0
    assert snapshot(Path("b")) == before
    # so does another fit, which is refused as if nothing had happened,
    shutil.rmtree("b")
    rename(left / ".b.old", ".b.old")
    assert "holds a bundle of another fit" in cli(*again).mistake
    assert snapshot(Path("b")) == before
    # and the same command goes on to the end.
    assert cli(*again, "--overwrite", "-q").code == 0
    assert load_bundle("b").seed == 1
    assert not list(place.glob(".b.*"))


def test_diverged_training_is_refused(place: Path, cli: Run) -> None:
    Path("wild.yaml").write_text(json.dumps(TINY | {"learning_rate": 1e30}))
    ran = cli(
        "fit",
        "data.parquet",
        "--suppress",
        "secret",
        "--config",
        "wild.yaml",
        "-o",
        "b",
        "--method",
        "mass",
    )
    assert ran.code == 2
    assert "diverged" in ran.err.splitlines()[-1]
    assert not Path("b").exists()


def test_network_that_does_not_fit_in_memory(place: Path, cli: Run) -> None:
    Path("huge.yaml").write_text(json.dumps(TINY | {"hidden": [10**11]}))
    ran = cli(
        "fit",
        "data.parquet",
        "--suppress",
        "secret",
        "--config",
        "huge.yaml",
        "-o",
        "b",
        "--method",
        "mass",
    )
    assert ran.code == 2
    assert "not enough memory" in ran.err.splitlines()[-1]


def test_interrupt_is_told_and_resumed(
    place: Path, cli: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    from withhold.learn.journal import StageJournal

    save = StageJournal.save

    def stop(self: StageJournal, epoch: int, *rest: object, **parts: object) -> None:
        save(self, epoch, *rest, **parts)  # type: ignore[arg-type]
        if self.name == "contrastive":
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(StageJournal, "save", stop)
        ran = cli("fit", "data.parquet", *FIT, "--preserve", "useful", "-o", "b")
    assert ran.code == 130
    assert ran.err.splitlines()[-1] == "interrupted; run the same command again to resume"
    ran = cli("fit", "data.parquet", *FIT, "--preserve", "useful", "-o", "b")
    assert "resuming from" in ran.err
    assert snapshot(Path("b")) == snapshot(Path("bundle"))


def test_a_resumed_fit_keeps_its_random_key(
    place: Path, cli: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    from withhold.learn.journal import StageJournal

    plain = ("fit", "data.parquet", *FIT[:-2], "-o", "b", "-q")
    save = StageJournal.save

    def stop(self: StageJournal, *rest: object, **parts: object) -> None:
        save(self, *rest, **parts)  # type: ignore[arg-type]
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(StageJournal, "save", stop)
        assert cli(*plain).code == 130
    kept = Path("b.partial", "key")
    key = kept.read_bytes()
    assert kept.stat().st_mode & 0o777 == 0o600
    assert cli(*plain).code == 0
    assert Path("b", "key").read_bytes() == key
    assert not Path("b.partial").exists()


def test_a_key_can_be_made_used_and_checked(place: Path, cli: Run) -> None:
    noise = ("--suppress", "secret", "--method", "noise", "-q")
    assert cli("fit", "data.parquet", *noise, "--new-key", "my.key", "-o", "one").code == 0
    assert Path("my.key").stat().st_mode & 0o777 == 0o600
    assert (
        "exists; use it with --key"
        in cli("fit", "data.parquet", *noise, "--new-key", "my.key", "-o", "two").mistake
    )
    assert cli("fit", "data.parquet", *noise, "--key", "my.key", "-o", "two").code == 0
    assert snapshot(Path("one")) == snapshot(Path("two"))
    assert cli("fit", "data.parquet", *noise, "-o", "three").code == 0
    assert snapshot(Path("one"))["key"] != snapshot(Path("three"))["key"]
    transform = ("transform", "three", "data.parquet", "-o", "r.parquet", "-q")
    assert "another key" in cli(*transform, "--key", "my.key").mistake
    assert cli(*transform, "--key", "three/key").code == 0
    Path("bad.key").write_text("secret")
    Path("bad.key").chmod(0o600)
    assert (
        "holds no key" in cli("fit", "data.parquet", *noise, "--key", "bad.key", "-o", "b").mistake
    )
    both = ("--key", "my.key", "--new-key", "new.key")
    assert "give only one of them" in cli("fit", "data.parquet", *noise, *both, "-o", "b").mistake


def test_it_says_what_of_a_bundle_stays_private(place: Path, cli: Run) -> None:
    ran = cli("fit", "data.parquet", "--suppress", "secret", "--method", "constant", "-o", "b")
    assert "keep private: key" in ran.out
    assert "fit-membership.safetensors (it reveals who was in the fit)" in ran.out
    ran = cli("fit", "data.parquet", *FIT, "-o", "m")
    assert "fit-membership" not in ran.out


def test_several_names_are_separated_by_commas(place: Path, cli: Run) -> None:
    two = ("fit", "data.parquet", "--suppress", "secret,loud", "--method", "constant", "-o", "b")
    assert cli(*two).code == 0
    assert load_bundle("b").roles.suppress == ("secret", "loud")
    told = cli("fit", "data.parquet", "--suppress", "secret,lout", "-o", "c").mistake
    assert told.startswith("attribute 'lout' is not in data.parquet; did you mean 'loud'?")
