"""`withhold release`: the folder, what is said, the gate, and mistakes in one line."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pyarrow.csv as pc
import pytest

from withhold.actions import release_given as action
from withhold.audit.findings import Copies
from withhold.bundle.bundle import load_bundle
from withhold.certificate import plan_tally
from withhold.cli.main import outcome
from withhold.core.key_file import write_key
from withhold.datasets.worlds.census import census
from withhold.learn.nets.device import threads

from .conftest import Run, snapshot

pytestmark = pytest.mark.usefixtures("less_monte_carlo")
SETTINGS = tuple(
    word
    for setting in ("codes=12", "rounds=1", "exact_rounds=0", "epochs=2", "scores=metric")
    for word in ("--set", setting)
)
BASE = ("release", "people.csv", "--suppress", "sex", "--quick", "--key", "owner.key", *SETTINGS)
GATE = ("--fail-if", "sex>floor-60")  # holds for every release


@pytest.fixture(scope="module", autouse=True)
def _quick_certificate() -> Iterator[None]:
    """One thread, and no samples for several rows put together."""
    with pytest.MonkeyPatch.context() as patch, threads(1):
        patch.setattr(plan_tally, "_KEPT", 0)
        yield


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int, list[object]]:
    """One whole run, whose gate fails: the folder it ran in, its exit code, and its audit."""
    folder = tmp_path_factory.mktemp("release")
    pc.write_csv(census(300).select(["age", "sex", "owns_home"]), folder / "people.csv")
    write_key(folder / "owner.key", bytes(range(32)))
    audits: list[object] = []
    real, before = action.audit, Path.cwd()
    os.chdir(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(action, "audit", lambda *a, **k: audits.append(real(*a, **k)) or audits[-1])
        try:
            code = outcome([*BASE, *GATE, "-o", "failed", "-q"])
        finally:
            os.chdir(before)
    return folder, code, audits


@pytest.fixture
def ground(
    made: tuple[Path, int, list[object]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """An own folder with the data and the key. Runs here get the audit of the first run."""
    for name in ("people.csv", "owner.key"):
        (tmp_path / name).write_bytes((made[0] / name).read_bytes())
    (tmp_path / "owner.key").chmod(0o600)
    monkeypatch.chdir(tmp_path)
    passed = made[2][0].model_copy(update={"gate": None})  # type: ignore[attr-defined]
    monkeypatch.setattr(action, "audit", lambda *_, **__: passed)
    return tmp_path


@pytest.mark.slow
def test_a_gate_that_fails_ends_with_code_3_and_the_card_says_so(
    made: tuple[Path, int, list[object]],
) -> None:
    folder, code, _ = made
    assert code == 3
    card = (folder / "failed" / "README.md").read_text()
    assert "**The gate of this release FAILED. Do not hand it over.**" in card
    gate = json.loads((folder / "failed" / "audit.json").read_text())["gate"]
    assert gate["passed"] is False
    assert {p.name for p in folder.iterdir()} == {
        "people.csv", "owner.key", "failed", "failed.bundle", "failed.bundle.people.rows.csv",
        "failed.bundle.report.html",
    }  # fmt: skip
    assert (folder / "failed.bundle.report.html").stat().st_mode & 0o077 == 0


def test_what_is_said(ground: Path, cli: Run) -> None:
    ran = cli(*BASE, "-o", "out")
    assert ran.code == 0
    said = " ".join(ran.out.split())
    assert "proved: nobody who cannot tell whose row it is names 'sex' from it in more than" in said
    assert "with all rows at hand, and even with the totals of each code, in no more than" in said
    # In so few rows attackers do not read the original either, as the headline of the page says.
    assert "out: the audit cannot tell; read report.html before you hand this folder over" in said
    assert (
        "keep private (the key, which row became which, and the report with exact figures)" in said
    )
    assert str(ground) not in said  # a path below the working folder is shown from there
    assert {p.name for p in (ground / "out").iterdir()} == {
        "people.csv", "certificate.json", "audit.json", "report.html", "README.md"
    }  # fmt: skip
    assert load_bundle("out.bundle").method == "exact"


def test_a_leak_is_not_to_be_handed_over(
    ground: Path, cli: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = action.audit

    def leaking(*a: object, **k: object) -> object:
        found = real(*a, **k)  # type: ignore[arg-type]
        same = Copies(records=60, copies=30, share=0.5, expected=0.0, reidentified=0.5, found=True)
        return found.model_copy(update={"copies": {"test": same}, "gate": None})

    monkeypatch.setattr(action, "audit", leaking)
    ran = cli(*BASE, "-o", "out")
    assert "attacked: 30 of 60 test records are released (nearly) unchanged" in ran.out
    assert "out: do not hand over this folder before you have read report.html" in ran.out
    assert "**The audit found a leak." in (ground / "out" / "README.md").read_text()


def test_json_bundle_and_delimiter(ground: Path, cli: Run) -> None:
    text = (ground / "people.csv").read_text().replace(",", ";")
    (ground / "people.csv").write_text(text)
    ran = cli(*BASE, "-o", "out", "--bundle", "private", "--keep", "owns_home", "-q", "--json")
    assert (ran.code, ran.err) == (0, "")
    assert ran.json["records"] == 300
    assert ran.json["columns"] == ["age", "owns_home"]
    assert ran.json["left_out_because"] == {"sex": "suppressed"}
    assert ran.json["passed"] is True
    assert Path(ran.json["bundle"]).name == "private"
    assert Path(ran.json["rows"]).parent.samefile(ground)
    assert not (ground / "out.bundle").exists()
    header = (ground / "out" / "people.csv").read_text().splitlines()[0]
    assert header.replace('"', "") == "age;owns_home"
    card = (ground / "out" / "README.md").read_text()
    assert "owns\\_home were kept by name. This certificate does not cover them." in card


def test_a_second_run_resumes_with_the_same_bytes_and_overwrite(ground: Path, cli: Run) -> None:
    assert cli(*BASE, "-o", "out", "-q").code == 0
    first = snapshot(ground / "out")
    stamps = {p: p.stat().st_mtime_ns for p in (ground / "out.bundle").iterdir()}
    again = cli(*BASE, "-o", "out", "-q")
    assert again.mistake == "folder out holds another release; add --overwrite to replace it"
    assert cli(*BASE, "-o", "second", "--bundle", "out.bundle", "-q").code == 0
    assert snapshot(ground / "second") == first
    assert {p: p.stat().st_mtime_ns for p in (ground / "out.bundle").iterdir()} == stamps
    assert cli(*BASE, "-o", "out", "-q", "--overwrite").code == 0
    assert snapshot(ground / "out") == first


# --- mistakes -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("people.csv", "--suppress", "sexx"), "did you mean 'sex'"),
        (("people.csv", "--suppress", "sex", "--preserve", "agee"), "did you mean 'age'"),
        (("people.csv", "--suppress", "sex", "--keep", "agee"), "column 'agee' is not in"),
        (("people.csv", "--suppress", "sex", "--keep", "sex"), "column 'sex' is suppressed"),
        (("people.csv", "--suppress", "sex", "--bundle", "out/b"), "holds the key"),
        (("people.csv", "--suppress", "sex", "--set", "codes=290"), "290 codes are too many"),
        (("people.csv", "--suppress", "sex", "--set", "code=2"), "did you mean 'codes'"),
        (("people.csv", "--suppress", "sex", "--fail-if", "sx>50"), "attribute 'sx'"),
        (("constant.csv", "--suppress", "sex"), "'sex'"),
        (("empty.csv", "--suppress", "sex"), "'sex'"),
        (("folder", "--suppress", "sex"), "folder is a folder of media"),
        (("twice.csv", "--suppress", "sex"), "'age'"),
        (("broken.csv", "--suppress", "sex"), "line 152"),
        (("nowhere.csv", "--suppress", "sex"), "nowhere.csv"),
    ],
)
def test_mistakes(ground: Path, cli: Run, arguments: tuple[str, ...], said: str) -> None:
    lines = (ground / "people.csv").read_text().splitlines()
    header, rows = lines[0], [row.split(",") for row in lines[1:]]
    (ground / "folder").mkdir()
    files = {
        "constant.csv": [header, *(f'{a},"female",{h}' for a, _, h in rows)],
        "empty.csv": [header, *(f"{a},,{h}" for a, _, h in rows)],
        "twice.csv": ["age,sex,age", *lines[1:]],
        "broken.csv": [*lines[:151], lines[151] + ",7,8", *lines[152:]],
    }
    for name, content in files.items():
        (ground / name).write_text("\n".join(content) + "\n")
    before = snapshot(ground)
    ran = cli("release", *arguments, "--quick", "-o", "out", "-q")
    assert said in ran.mistake
    assert snapshot(ground) == before


def test_a_foreign_folder_is_left_alone(ground: Path, cli: Run) -> None:
    (ground / "out").mkdir()
    (ground / "out" / "thesis.tex").write_text("years of work")
    before = snapshot(ground)
    ran = cli(*BASE, "-o", "out", "-q", "--overwrite")
    assert ran.mistake == "folder out is not empty; choose another -o"
    assert snapshot(ground) == before


def test_the_data_cannot_be_the_folder(ground: Path, cli: Run) -> None:
    assert "people.csv" in cli(*BASE, "-o", "people.csv", "-q").mistake
    assert "would be replaced" in cli(*BASE, "-o", ".", "-q").mistake
