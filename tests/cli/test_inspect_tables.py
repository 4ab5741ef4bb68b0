"""`withhold inspect` and `withhold fit` on mixed tables, without --features."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pytest

from withhold.bundle.bundle import load_bundle
from withhold.datasets.worlds.census import census

from .conftest import Run


@pytest.fixture(scope="module")
def people() -> pa.Table:
    wanted = ["sex", "occupation", "age", "region", "income", "joined"]
    table = census(1500, seed=1).select(wanted)
    sex = table["sex"].to_pylist()
    return table.append_column("gender", pa.array([s.upper()[:1] for s in sex]))


@pytest.fixture
def here(people: pa.Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    pc.write_csv(people, tmp_path / "people.csv")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_columns_are_sorted_by_what_they_tell(here: Path, cli: Run) -> None:
    ran = cli("inspect", "people.csv", "--suppress", "sex", "--json", "-q")
    assert (ran.code, ran.err) == (0, "")
    facts = ran.json
    assert (facts["kind"], facts["records"]) == ("table", 1500)
    whole, *rows = facts["tells"]["sex"]
    assert whole["column"] == "(all of them together)"
    assert whole["rule"] == "tells"
    assert [rows[0]["column"], rows[0]["rule"]] == ["gender", "copy"]
    right = [row["right"] for row in rows]
    assert right == sorted(right, reverse=True)
    by_name = {row["column"]: row for row in rows}
    assert set(by_name) == {"gender", "occupation", "age", "region", "income", "joined"}
    assert by_name["occupation"]["right"] > by_name["occupation"]["guessing"] + 0.2
    assert by_name["region"]["rule"] == "harmless"
    assert (by_name["joined"]["kind"], by_name["age"]["kind"]) == ("date", "integer")


@pytest.mark.parametrize("width", [80, 120])
def test_the_screen(here: Path, cli: Run, monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    ran = cli("inspect", "people.csv", "--suppress", "sex", "--preserve", "income", "-q")
    assert ran.code == 0
    assert max(map(len, ran.out.splitlines())) <= width
    assert "1,500 rows of a mixed table" in ran.out
    assert "Dropping 'sex' is not enough: 3 of 6 other columns reveal it." in " ".join(
        ran.out.split()
    )
    assert "preserve income: ceiling" in ran.out


def test_columns_without_features_are_named_beside_all_of_them(
    people: pa.Table, here: Path, cli: Run
) -> None:
    n = len(people)
    ids = pa.array([f"id{i}" for i in range(n)])
    text = pa.array([f"a long remark of many words about visit number {i}" for i in range(n)])
    pc.write_csv(people.append_column("id", ids).append_column("remark", text), "more.csv")
    for file, named in (("more.csv", True), ("people.csv", False)):
        whole = cli("inspect", file, "--suppress", "sex", "--json", "-q").json["tells"]["sex"][0]
        assert whole["verdict"].startswith("reveal it")
        assert (
            "(without free text, ids and the like: 'id', 'remark')" in whole["verdict"]
        ) is named
    shown = cli("inspect", "more.csv", "--suppress", "sex", "-q").out
    line = "(all of them together): without free text, ids and the like: 'id', 'remark'"
    assert line in " ".join(shown.split())


def test_without_roles_there_is_nothing_to_tell_of(here: Path, cli: Run) -> None:
    facts = cli("inspect", "people.csv", "--json", "-q").json
    assert facts["tells"] == {}
    assert facts["attributes"]["sex"]["classes"] == 2


def test_a_column_that_tells_of_two_attributes_jointly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Run
) -> None:
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 2, (2, 1200))
    other = rng.integers(0, 3, 1200)
    pc.write_csv(pa.table({"a": a, "b": b, "same": a ^ b, "other": other}), tmp_path / "t.csv")
    monkeypatch.chdir(tmp_path)
    tells = cli("inspect", "t.csv", "--suppress", "a,b", "--json", "-q").json["tells"]
    rules = {row["column"]: row["rule"] for row in tells["a"][1:]}
    assert rules == {"same": "jointly", "other": "harmless"}


def test_a_folder_and_a_table_no_release_takes(here: Path, cli: Run) -> None:
    assert "folder of media" in cli("inspect", ".", "--suppress", "sex").mistake
    Path("bad.csv").write_text("sex,day\n" + "m,2020-01-01\nf,2020-01-02\n" * 20 + "m,soon\n")
    assert "does not parse as dates" in cli("inspect", "bad.csv", "--suppress", "sex", "-q").mistake


@pytest.mark.slow
def test_fit_takes_a_table_and_transform_releases_it(here: Path, cli: Run) -> None:
    settings = ("--set", "codes=8", "--set", "scores=metric")
    ran = cli(
        "fit", "people.csv", "--suppress", "sex", "--method", "exact", "-o", "b", "-q", *settings
    )
    assert (ran.code, ran.err) == (0, "")
    assert load_bundle("b").kind == "table"
    ran = cli("transform", "b", "people.csv", "-o", "out.csv", "-q")
    assert ran.code == 0, ran.err
    made = pc.read_csv("out.csv")
    assert made.num_rows == 1500
    assert set(made.column_names) == {"occupation", "age", "region", "income", "joined"}


def test_a_method_for_features_says_what_takes_tables(here: Path, cli: Run) -> None:
    said = cli("fit", "people.csv", "--suppress", "sex", "-o", "b").mistake
    assert "method 'codebook' cannot fit a mixed table: withhold release does" in said
    assert not Path("b").exists()


def test_all_columns_tell_no_less_than_one_of_many_values(here: Path, cli: Run) -> None:
    rng = np.random.default_rng(0)
    sex = rng.choice(["f", "m"], 900)
    # All values but the 63 most frequent ones share a feature, so the rows tell less than they do.
    notes = [
        f"{'Mrs' if s == 'f' else 'Mr'}, day {d}"
        for s, d in zip(sex, rng.integers(0, 150, 900), strict=True)
    ]
    pay = [f"1.{100 + i},50 €" for i in range(900)]
    table = pa.table({"sex": sex, "age": rng.integers(20, 60, 900), "notes": notes, "pay": pay})
    pc.write_csv(table, here / "ward.csv")
    ran = cli("inspect", "ward.csv", "--suppress", "sex", "--json")
    whole, *rows = ran.json["tells"]["sex"]
    assert rows[0]["column"] == "notes"
    assert whole["right"] >= rows[0]["right"] > 0.9
    assert "column 'pay' of ward.csv holds numbers with a comma or a unit ('1.100,50 €')" in ran.err
