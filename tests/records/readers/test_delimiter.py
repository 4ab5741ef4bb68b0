from __future__ import annotations

import pyarrow as pa
import pytest

from withhold.core.errors import UserError
from withhold.records.readers import open_source
from withhold.records.readers.csv_source import CsvSource
from withhold.records.readers.delimiter import checked_delimiter, guess_delimiter

SIGNS = [",", ";", "\t", "|", " ", ":", "^", "~"]


def guess(text: str, *, whole: bool = True) -> str:
    return guess_delimiter(text, whole=whole, name="t.csv")


@pytest.mark.parametrize("sign", SIGNS)
def test_every_candidate_is_found(sign):
    """Other candidates in quotes separate nothing."""
    inside = "".join(s for s in SIGNS if s != sign)
    rows = [["a", f'"b{inside}"', "c"], ["1", f'"{inside}x\n{inside}"', "2.5"], ["2", "w", ""]]
    assert guess("\n".join(sign.join(row) for row in rows)) == sign


@pytest.mark.parametrize(
    ("text", "sign"),
    [
        ("first name,last name\nanna maria,berta lou\n", ","),  # as many spaces in every line
        ("a;b\n1,5;2,5\n3,5;4,5\n", ";"),  # decimal commas
        ("name, given;b\nx;1\ny;2\n", ";"),  # a comma in the header alone
        ("when,what\n10:00:00,a\n11:30:00,b\n", ","),
        ("one\n1\n2\n", ","),
        ("full name\nanna\nberta lou\ncarl\n", ","),  # one column of text
        ("a b c\n1 2 3\n4 5 6\n", " "),
        ("", ","),
    ],
)
def test_known_cases(text, sign):
    assert guess(text) == sign


def test_a_cut_last_record_does_not_count():
    text = 'a b\n1 2\n3 "4'
    assert guess(text, whole=False) == " "
    assert guess("a b\n" + "1 2\n" * 3 + "3", whole=False) == " "


def test_a_tie_is_refused_with_a_way_out(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a;b,c\n1;2,3\n4;5,6\n")
    with pytest.raises(UserError, match=r"commas or semicolons; .*delimiter=','"):
        open_source(path)
    read = {sign: open_source(path, delimiter=sign).schema.names for sign in ",;"}
    assert read == {",": ["a;b", "c"], ";": ["a", "b,c"]}


@pytest.mark.parametrize("sign", [*SIGNS, "#", "/", "\x01"])
def test_any_given_delimiter(tmp_path, sign):
    path = tmp_path / "t.csv"
    path.write_text(f"a{sign}b\n1{sign}x\n2{sign}y\n")
    source = CsvSource(path, sign)
    assert source.delimiter == sign
    table = pa.Table.from_batches(list(source.batches()))
    assert table.to_pydict() == {"a": [1, 2], "b": ["x", "y"]}


@pytest.mark.parametrize("bad", ["", ",,", "a", "7", '"', "\n", "\0", "¦"])
def test_what_cannot_separate(bad):
    with pytest.raises(UserError, match="cannot separate fields; give one character"):
        checked_delimiter(bad)


def test_a_tab_may_be_spelled():
    assert checked_delimiter("\\t") == checked_delimiter("tab") == "\t"


def test_a_delimiter_is_for_csv_alone(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"a": 1}\n')
    with pytest.raises(UserError, match=r"is for CSV files; a\.jsonl is not one"):
        open_source(path, delimiter=";")
    with pytest.raises(UserError, match="not for data in memory"):
        open_source(pa.table({"a": [1]}), delimiter=";")


def test_a_tsv_has_tabs_if_its_header_has_one(tmp_path):
    path = tmp_path / "t.tsv"
    path.write_text("a,b\tc\n1,2\t3\n")
    assert open_source(path).schema.names == ["a,b", "c"]
    path.write_text("a,b,c\n1,2,3\n")
    assert open_source(path).schema.names == ["a", "b", "c"]
