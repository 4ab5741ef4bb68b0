"""Kill `release` at random moments: no half folder, and the same bytes in the end."""

from __future__ import annotations

import signal
from pathlib import Path

import pyarrow.csv as pc
import pytest

from withhold.certificate.release_file import ReleaseCertificate
from withhold.core.key_file import write_key
from withhold.core.safe_read import file_sha256
from withhold.datasets.worlds.census import census

from .conftest import snapshot
from .killer import KILLS, Killer, tell

RELEASE = ("release", "people.csv", "--suppress", "sex", "--quick", "--key", "owner.key",
           "--set", "codes=12", "--set", "scores=metric", "-q", "-o")  # fmt: skip
FILES = {"people.csv", "certificate.json", "audit.json", "report.html", "README.md"}

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL"),
]


class Knife(Killer):
    known = frozenset(
        {"people.csv", "owner.key"}
        | {f"{n}{rest}" for n in ("whole", "killed") for rest in ("", ".bundle")}
        | {
            f"{n}.bundle.{kept}"
            for n in ("whole", "killed")
            for kept in ("people.rows.csv", "report.html")
        }
    )

    def check_output(self) -> None:
        assert {p.name for p in self.output.iterdir()} == FILES
        certificate = ReleaseCertificate.from_json(self.output / "certificate.json")
        assert certificate.release.sha256 == file_sha256(self.output / "people.csv")


def test_release(tmp_path: Path) -> None:
    ground = tmp_path / "ground"
    ground.mkdir()
    pc.write_csv(census(300).select(["age", "sex", "owns_home"]), ground / "people.csv")
    write_key(ground / "owner.key", bytes(range(32)))
    whole = Knife(ground, RELEASE, ground / "whole")
    seconds = whole.finish()
    killer = Knife(ground, RELEASE, ground / "killed", max(KILLS // 2, 2), 13, ("writing",))
    killer.run(seconds)
    timed = {"audit.json", "report.html"}  # they name the time of the audit
    one, two = (
        {n: b for n, b in snapshot(k.output).items() if n not in timed} for k in (whole, killer)
    )
    assert one == two
    assert set(one) == FILES - timed
    assert killer.hit
    tell("release", seconds, killer)
