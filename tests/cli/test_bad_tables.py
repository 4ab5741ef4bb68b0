"""Bad tables: `withhold release` says what is wrong in one line, and writes nothing."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from withhold.core.errors import UserError
from withhold.methods.features.exact import fit

from .conftest import Run

Row = dict[str, Any]


def _rows(n: int = 120) -> list[Row]:
    rng = np.random.default_rng(0)
    sex = rng.choice(["m", "f"], n)
    return [
        {
            "sex": str(s),
            "age": int(rng.integers(18, 80)),
            "job": str(rng.choice(list("abc") if s == "m" else list("bcd"))),
            "income": str(rng.choice(["low", "high"])),
            "day": f"2020-0{rng.integers(1, 9)}-1{rng.integers(0, 9)}",
        }
        for s in sex
    ]


def _csv(rows: list[Row], *, header: list[str] | None = None, sign: str = ",") -> str:
    text = io.StringIO()
    writer = csv.writer(text, delimiter=sign, lineterminator="\n")
    writer.writerow(header or list(rows[0]))
    writer.writerows(row.values() for row in rows)
    return text.getvalue()


def _with(row: int, **values: Any) -> str:
    rows = _rows()
    rows[row].update(values)
    return _csv(rows)


def _every(**values: Any) -> str:
    return _csv([{**row, **values} for row in _rows()])


def _line(number: int, change: Callable[[str], str]) -> str:
    lines = _csv(_rows()).splitlines()
    lines[number - 1] = change(lines[number - 1])
    return "\n".join(lines) + "\n"


def _first(n: int, **values: Any) -> str:
    return _csv([{**row, **(values if i < n else {})} for i, row in enumerate(_rows())])


SEX = ("--suppress", "sex")
BAD = {
    "empty": ("", SEX, "bad.csv is empty (0 bytes)"),
    "header only": ("sex,age\n", SEX, "bad.csv has no rows"),
    "one row": ("sex,age\nm,3\n", SEX, "bad.csv has 1 row, and a release needs at least 48"),
    "few rows that leave": (
        "sex,age\n" + 30 * "m,3\nf,4\n",
        (*SEX, "--hold-back", "50%"),
        "bad.csv has 60 rows, of which 30 leave with --hold-back, and a release needs at least 48",
    ),
    "people who draw, and rows held back": (
        _csv([{**row, "id": i // 2} for i, row in enumerate(_rows())]),
        (*SEX, "--group", "id", "--set", "per=person", "--hold-back", "10%"),
        "rows cannot be held back where people draw (per=person)",
    ),
    "few rows": ("sex,age\n" + 23 * "m,3\nf,4\n", SEX, "a release needs at least 48"),
    "one class": (_every(sex="m"), SEX, "'sex' of bad.csv has one class only ('m')"),
    "no label": (_every(sex=""), SEX, "is null in every record"),
    "no preserved label": (
        _every(income=""),
        (*SEX, "--preserve", "income"),
        "'income' of bad.csv is null in every record",
    ),
    "both roles": (_csv(_rows()), (*SEX, "--preserve", "sex"), "in both --suppress and --preserve"),
    "unknown": (_csv(_rows()), ("--suppress", "sexx"), "did you mean 'sex'?"),
    "comma in a name": (
        _csv(_rows(), header=["sex, told", "age", "job", "income", "day"]),
        ("--suppress", "sex, told"),
        "put a name with a comma in double quotes: '\"sex, told\"'",
    ),
    "class of two": (
        _first(2, sex="x"),
        SEX,
        "values of 'sex' are in fewer than 5 of 120 records ('x' in 2)",
    ),
    "class smaller than codes": (
        _first(7, sex="x"),
        (*SEX, "--set", "codes=60"),
        "60 codes are too many: class 'x' of 'sex' has 7 records",
    ),
    "preserved category seen once": (
        _with(5, income="odd"),
        (*SEX, "--preserve", "income"),
        "held by fewer than 5 people ('odd' by 1)",
    ),
    "date that is none": (_with(5, day="2020-02-31"), SEX, "record 5 (the first is 0) has '2020-0"),
    "date in another layout": (_with(5, day="12/31/20"), SEX, "'day' of bad.csv does not parse as"),
    "mixed types": (
        _with(100, age="old"),
        SEX,
        "'age' of bad.csv mixes numbers and text: record 1",
    ),
    "a word that means missing": (
        _with(5, day="-"),
        SEX,
        "leave it empty (pandas: read_csv(FILE, na_values=['-'])), or leave out the column (--dr",
    ),
    "one column": ("sex\n" + "m\nf\n" * 60, SEX, "has no column to release besides"),
    "unknown delimiter": (
        _csv(_rows(), sign="#"),
        SEX,
        "bad.csv, which has one column ('sex#age#job#income#day'); what separates its fields?",
    ),
    "decimal commas that separate": (
        "sex,pay,age\n" + "m,1,5,30\nf,2,5,31\n" * 30,
        SEX,
        "line 2 has 4 fields where the header has 3",
    ),
    "infinite": (_with(5, age="inf"), SEX, "'age' of bad.csv is not finite: record 5"),
    "a field too many": (
        _line(77, lambda s: s + ",1"),
        SEX,
        "line 77 has 6 fields where the heade",
    ),
    "a field too few": (
        _line(77, lambda s: s.rpartition(",")[0]),
        SEX,
        "line 77 has 4 fields where the header",
    ),
    "open quote": (_line(77, lambda s: '"' + s), SEX, "is a quote left open on line 77?"),
    "wrong delimiter": (
        _csv(_rows(), sign=";"),
        (*SEX, "--delimiter", ","),
        "has no commas in its header, and semicolons instead; say which: --delimiter ';'",
    ),
    "two delimiters": ("sex;a,b;c,d\n" * 30, SEX, "may be separated by commas or semicolons"),
    "no delimiter": (_csv(_rows()), (*SEX, "--delimiter", "ab"), "'ab' cannot separate fields"),
    "columns of one name": (
        _csv(_rows(), header=["sex", "age", "age", "income", "day"]),
        SEX,
        "has more than one column named 'age'",
    ),
    "fractions": (
        _csv([{**row, "age": row["age"] + i / 1000} for i, row in enumerate(_rows())]),
        ("--suppress", "age"),
        "pd.qcut(df['age'], 5).astype(str)",
    ),
    "too many values": (
        _csv([{**row, "pay": i if i < 60 else i % 2} for i, row in enumerate(_rows())]),
        ("--suppress", "pay"),
        "would not be hidden from each other (60 values of 'pay'); bin it",
    ),
    "nothing to keep": ("sex,a\n" + "m,1\nf,1\n" * 50, SEX, "there is nothing to keep"),
    "text in a csv": (_csv(_rows()), (*SEX, "--text", "minilm"), "save bad.csv as .parquet or .js"),
    "unknown model": (
        _csv(_rows()),
        (*SEX, "--text", "bert"),
        "--text 'bert' is no model for text",
    ),
    "group of two": (_csv(_rows()), (*SEX, "--group", "income"), "names only 2 people"),
}


@pytest.mark.parametrize("case", BAD)
def test_one_line_and_nothing_written(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Run
) -> None:
    text, options, said = BAD[case]
    monkeypatch.chdir(tmp_path)
    Path("bad.csv").write_text(text)
    ran = cli("release", "bad.csv", *options, "-o", "out", "-q")
    assert said in ran.mistake
    assert [path.name for path in tmp_path.iterdir()] == ["bad.csv"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (_every(job="caf\xe9").encode("latin-1"), "line 2 has the byte 0xe9); save it as UTF-8"),
        (_csv(_rows()).encode("utf-16"), "is text in UTF-16; save it as UTF-8"),
        (_csv(_rows()).encode().replace(b"low", b"l\0w"), "it has zero bytes"),
    ],
)
def test_bytes_that_are_no_text(
    content: bytes, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Run
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("bad.csv").write_bytes(content)
    assert said in cli("release", "bad.csv", *SEX, "-o", "out").mistake
    assert not Path("out").exists()


def test_types_that_differ_in_json_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Run
) -> None:
    monkeypatch.chdir(tmp_path)
    lines = ['{"sex": "m", "age": 3}'] * 20 + ['{"sex": "f", "age": "old"}'] * 20
    Path("bad.jsonl").write_text("\n".join(lines))
    said = cli("release", "bad.jsonl", *SEX, "-o", "out").mistake
    assert "an integer on line 1 and text on line 21" in said


def _told(text: str, *options: str, cli: Run, monkeypatch: pytest.MonkeyPatch) -> str:
    """What is said before the work; the work itself is left out."""

    def stop(*_: object, **__: object) -> None:
        raise UserError("stopped before the work")

    monkeypatch.setattr(fit.Choice, "made", stop)
    Path("odd.csv").write_text(text)
    ran = cli("release", "odd.csv", "--suppress", "sex", *options, "-o", "out")
    assert ran.code == 2
    assert not Path("out").exists()
    return ran.err


ODD = {
    "rare category": (
        _with(5, job="astronaut"),
        "rare values of odd.csv do not leave, others take",
    ),
    "partly dates": (
        _csv([{**row, "day": "unknown"} if i < 24 else row for i, row in enumerate(_rows())]),
        "text ('unknown'), so it is read as text; if the text means missing, leave it empty",
    ),
    "partly numbers": (
        _csv([{**row, "age": "none said"} if i < 24 else row for i, row in enumerate(_rows())]),
        "text ('none said'), so it is read as text; if the text means missing, leave it empty",
    ),
    "some labels missing": (_first(3, sex=""), "3 records have no label of 'sex'"),
    "small class": (_first(6, sex="x"), "class 'x' of 'sex' has 6 of 120 records, so there are on"),
    "decimal commas": (
        _csv([{**row, "age": f"{row['age']},5"} for row in _rows()], sign=";"),
        "'age' of odd.csv holds numbers with a comma or a unit",
    ),
}


@pytest.mark.parametrize("case", ODD)
def test_what_is_handled_is_said_in_one_line(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Run
) -> None:
    text, said = ODD[case]
    monkeypatch.chdir(tmp_path)
    told = _told(text, cli=cli, monkeypatch=monkeypatch)
    assert sum(said in line for line in told.splitlines()) == 1
