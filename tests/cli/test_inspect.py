"""`withhold inspect`: the same facts for people and for machines."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from .conftest import Run


def test_facts_as_json(place: Path, cli: Run) -> None:
    ran = cli("inspect", "data.parquet", "--json", "--group", "person", "--quiet")
    assert (ran.code, ran.err) == (0, "")
    facts = ran.json
    assert facts["records"] == 240
    assert facts["features"] == 6
    assert facts["groups"] == 48
    assert facts["split"] == {"train": 144, "val": 48, "test": 48}
    assert facts["attributes"]["secret"]["classes"] == 2
    assert facts["attributes"]["secret"]["majority"] == pytest.approx(0.5, abs=0.01)
    assert facts["attributes"]["secret"]["entropy_bits"] == pytest.approx(1.0, abs=0.01)
    assert not facts["attributes"]["id"]["label"]
    assert "240 classes" in facts["attributes"]["id"]["why"]


def test_text_says_floors_and_what_is_no_label(place: Path, cli: Run) -> None:
    ran = cli("inspect", "data.parquet", "--suppress", "secret", "--preserve", "useful")
    assert (ran.code, ran.err) == (0, "")
    assert "240 records of 6 features; 144 train, 48 val, 48 test" in ran.out
    # Correlation 0.2: 60 % from `useful` alone, up to a record or two a class and split.
    assert "suppress secret: floor 59.2 % (guessing from the preserved labels;" in ran.out
    assert "preserve useful: ceiling" in ran.out
    alone = cli("inspect", "data.parquet", "--suppress", "secret")
    assert "% (guessing)" in alone.out  # nothing is preserved
    assert "not a label: attribute 'id'" in ran.out


@pytest.mark.parametrize("file", ["data.npz", "lists.parquet"])
def test_formats_agree(place: Path, cli: Run, file: str) -> None:
    other = cli("inspect", file, "--exclude", "id", "--json").json
    first = cli("inspect", "data.parquet", "--exclude", "id", "--json").json
    assert other["attributes"] == first["attributes"]


def test_wide_columns_and_multilabel(place: Path, cli: Run) -> None:
    ran = cli(
        "inspect", "wide.csv", "--features", "f_*", "--multilabel", "sound=loud,fast",
        "--exclude", "id", "--json",
    )  # fmt: skip
    facts = ran.json
    assert facts["features"] == 6
    assert facts["attributes"]["sound"]["kind"] == "multilabel"
    assert not {"loud", "fast", "id"} & set(facts["attributes"])


def test_names_that_look_like_markup_are_names(place: Path, cli: Run) -> None:
    table = pq.read_table("data.parquet")
    names = ["[/red]" if n == "secret" else n for n in table.column_names]
    pq.write_table(table.rename_columns(names), "odd.parquet")
    ran = cli("inspect", "odd.parquet", "--suppress", "[/red]")
    assert ran.code == 0
    assert "│ [/red]" in ran.out
