"""`withhold compare`: the table, the JSON, and mistakes in one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from .conftest import Run

BASE = ("compare", "data.parquet", "--suppress", "secret", "--methods", "leace")


def test_table_json_and_page(place: Path, cli: Run) -> None:
    ran = cli(*BASE, "--exclude", "id,person", "--read", "useful", "-o", "out")
    assert ran.code == 0
    assert "attack secret" in ran.out
    assert "\n  leace " in ran.out
    assert "No method that was tried is proved to stay within one point" in ran.out
    assert "comparing" in ran.err or ran.err == ""
    assert Path("out", "compare.html").is_file()
    # The same command again only reads what is there.
    again = cli(*BASE, "--exclude", "id,person", "--read", "useful", "-o", "out", "--json", "-q")
    assert (again.code, again.err) == (0, "")
    assert [row["label"] for row in again.json["rows"]][:2] == ["identity", "leace"]
    assert again.json["best"] is None
    quiet = cli(*BASE, "--exclude", "id,person", "--read", "useful", "-o", "out", "-q")
    assert (quiet.code, quiet.out, quiet.err) == (0, "", "")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--budget", "secret=3"), "budget 'secret=3' cannot be read"),
        (("--methods", "mass"), "'mass' is not a method that compare tries; did you mean"),
        (("--kind", "image"), "--kind 'image' is not a kind of data to compare"),
        (("--time-limit", "0"), "--time-limit 0"),
        (("--seeds", "50"), "--seeds 50"),
        (("--preserve", "secret"), "attribute 'secret' is in both"),
        (("--kind", "table", "--multilabel", "a=loud,fast"), "--multilabel is for features"),
        (("--tune", "identity"), "--tune: no settings of 'identity' can be searched"),
    ],
)
def test_mistakes(place: Path, cli: Run, arguments: tuple[str, ...], said: str) -> None:
    ran = cli(*BASE, *arguments, "-o", "out", "-q")
    assert said in ran.mistake
    assert not Path("out").exists()


def test_output_that_is_a_file(place: Path, cli: Run) -> None:
    assert "is a file; -o names a folder" in cli(*BASE, "-o", "data.npz", "-q").mistake
