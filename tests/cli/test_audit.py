"""`withhold audit`: the whole chain, and what it writes."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest

from .conftest import Run, snapshot


@pytest.mark.parametrize("method", ["mass", "noise", "constant"])
def test_fit_transform_audit(place: Path, cli: Run, method: str) -> None:
    roles = ("--suppress", "secret", "--preserve", "useful")
    config = ("--config", "tiny.yaml") if method == "mass" else ()
    assert cli("fit", "data.parquet", *roles, "--method", method, *config, "-o", "b").code == 0
    assert cli("transform", "b", "data.parquet", "-o", "r.parquet").code == 0
    options = ("--group", "person", "--exclude", "loud,fast,take,id", "-o", "a")
    ran = cli("audit", "data.parquet", "r.parquet", *roles, *options, "--json", "--quiet")
    assert (ran.code, ran.err) == (0, "")
    written = json.loads(Path("a", "audit.json").read_text())
    assert ran.json == written
    assert written["schema"] == 1
    assert written["records"] == 240
    assert written["attributes"]["secret"]["role"] == "suppress"
    assert written["attributes"]["useful"]["role"] == "preserve"
    for found in written["attributes"].values():
        for tier in ("original", "ignorant", "informed"):
            low, high = found[tier]["ci"]
            assert 0 <= low <= found[tier]["accuracy"] <= high <= 1
    if method == "constant":
        assert "not distinguishable from the floor" in written["verdict"]
    page = Path("a", "report.html").read_text()
    assert "Audit of r.parquet" in page
    assert {p.name for p in Path("a").iterdir()} == {"audit.json", "report.html"}


def test_identity_is_read_and_told_in_the_terminal(place: Path, cli: Run) -> None:
    ran = cli("audit", "data.parquet", "data.parquet", "--suppress", "secret", "-o", "deep/er/a")
    assert ran.code == 0
    assert "verdict: suppressed but still readable by an attacker: secret" in ran.out
    assert "evidence: deep/er/a/audit.json" in ran.out
    assert not list(Path("deep/er/a").glob(".*"))


def test_second_audit_replaces_the_first_and_agrees(place: Path, cli: Run) -> None:
    audit = ("audit", "data.parquet", "data.parquet", "--suppress", "secret", "-o", "a", "-q")
    assert cli(*audit).code == 0
    first = snapshot(Path("a"))
    assert cli(*audit).code == 0
    assert snapshot(Path("a")) == first


def test_split_of_the_options_is_used(place: Path, cli: Run) -> None:
    audit = ("audit", "data.parquet", "data.parquet", "--suppress", "secret", "-o", "a")
    found = cli(*audit, "--test", "take>=30", "--json").json
    held = sum(t >= 30 for t in pq.read_table("data.parquet")["take"].to_pylist())
    assert found["settings"]["test"] == held


def test_wide_columns_are_matched_by_name(place: Path, cli: Run) -> None:
    frame = pd.read_csv("wide.csv")
    frame[frame.columns[::-1]].to_csv("turned.csv", index=False)
    options = ("--features", "f_*", "--suppress", "secret", "--exclude", "loud,fast,take,person")
    found = cli("audit", "wide.csv", "turned.csv", *options, "-o", "a", "--json").json
    assert found["utility"]["distortion"] == 0
    secret = found["attributes"]["secret"]
    assert secret["ignorant"]["accuracy"] == secret["original"]["accuracy"]
