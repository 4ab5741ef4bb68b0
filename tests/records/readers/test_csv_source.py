from __future__ import annotations

import datetime as dt
import gzip
import tracemalloc

import pyarrow as pa
import pytest

from withhold.core.errors import UserError
from withhold.records.readers import csv_source as csv
from withhold.records.readers import open_source
from withhold.records.writers import open_sink


def table(tmp_path, text: str | bytes, read) -> pa.Table:
    path = tmp_path / "t.csv"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return read(path)


def said(tmp_path, text: str | bytes) -> str:
    path = tmp_path / "t.csv"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    with pytest.raises(UserError) as caught:
        open_source(path)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz"])
def test_round_trip_with_nulls(tmp_path, suffix, write, read, wide_table):
    assert read(write(wide_table, tmp_path / f"t{suffix}", rows=7)).equals(wide_table)


def test_gzip_is_gzip(tmp_path, write):
    path = write(pa.table({"a": [1]}), tmp_path / "t.csv.gz")
    assert gzip.decompress(path.read_bytes()) == b'"a"\n1\n'


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["1", "2"], pa.int64()),
        (["1", "", "-2"], pa.int64()),
        (["1", "2.5"], pa.float64()),
        (["1", "1e3", "NA"], pa.float64()),
        ([" 1", " 2.5"], pa.float64()),
        (["true", "False", ""], pa.bool_()),
        (["1", "true"], pa.string()),
        (["true", "1"], pa.string()),
        (["1", "x"], pa.string()),
        (["007", "123"], pa.string()),
        (["0", "0.5"], pa.float64()),
        (["0", "10"], pa.int64()),
        (["12345678901234567890", "1"], pa.string()),
        (["2024-01-01", "2024-01-02"], pa.string()),
        (["NA", "NA"], pa.string()),
    ],
)
def test_types(tmp_path, read, values, kind):
    got = table(tmp_path, "k,v\n" + "".join(f"0,{v}\n" for v in values), read)
    assert got.schema.field("v").type == kind


def test_a_late_value_widens_the_type(tmp_path, read, monkeypatch):
    """Arrow infers from the first block; here every value that matters is in a later one."""
    monkeypatch.setattr(csv, "_BLOCK_BYTES", 1000)
    rows = [f"{i},{i},{i},true," for i in range(1000)] + ["1000,0.5,word,maybe,late"]
    got = table(tmp_path, "a,b,c,d,e\n" + "\n".join(rows) + "\n", read)
    assert got.schema.types == [pa.int64(), pa.float64(), pa.string(), pa.string(), pa.string()]
    assert got["b"].to_pylist()[-2:] == [999.0, 0.5]
    assert got["c"].to_pylist()[-2:] == ["999", "word"]
    assert got["e"].null_count == 1000


@pytest.mark.parametrize("word", ["", '""', "NA", "null", "None", "nan", "NaN", "?", " ?", '"NA"'])
def test_missing(tmp_path, read, word):
    got = table(tmp_path, f"number,text\n1,a\n{word},{word}\n", read)
    assert got.to_pydict() == {"number": [1, None], "text": ["a", None]}


def test_quotes_newlines_and_a_byte_order_mark(tmp_path, read):
    text = b'\xef\xbb\xbfname,n\r\n"a, b",1\r\n"two\nlines, ""so""",2\r\n'
    got = table(tmp_path, text, read)
    assert got.to_pydict() == {"name": ["a, b", 'two\nlines, "so"'], "n": [1, 2]}


def test_a_ragged_row_is_named_by_its_line(tmp_path):
    text = 'a,b\n1,"two\nlines"\n\n3,4,5\n'
    message = said(tmp_path, text)
    assert "t.csv line 5 has 3 fields where the header has 2" in message
    assert "title" not in message


def test_a_title_above_the_column_names(tmp_path):
    message = said(tmp_path, "Patients, of 2024\n\na,b,c\n1,2,3\n")
    assert "line 3 has 3 fields where the header has 2" in message
    assert message.endswith("if line 1 is a title, delete all lines above the column names")


def test_a_ragged_row_late_in_gzip(tmp_path, monkeypatch):
    monkeypatch.setattr(csv, "_BLOCK_BYTES", 1000)
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n" + b"1,2\n" * 1000 + b"3\n"))
    with pytest.raises(UserError, match="line 1002 has 1 field where the header has 2"):
        open_source(path)


def test_gzip_cut_short(tmp_path):
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(bytes(range(65, 91)) * 99)[:-20])
    with pytest.raises(UserError, match=r"t.csv.gz"):
        open_source(path)


def test_mistakes(tmp_path):
    assert "has 3 fields where the header has 2; put fields that contain semicolons" in said(
        tmp_path, "a;b\n1;2;3\n"
    )
    assert "save it as UTF-8" in said(tmp_path, b"a,b\n\xe9,1\n")
    assert "has no rows" in said(tmp_path, "a,b\n")
    assert "has no rows" in said(tmp_path, "a,b")
    assert "has no rows" in said(tmp_path, "\n\n")
    assert "more than one column named 'a'" in said(tmp_path, "a,a\n1,2\n")


def test_an_open_quote(tmp_path, monkeypatch):
    monkeypatch.setattr(csv, "_BLOCK_BYTES", 1000)
    assert "t.csv" in said(tmp_path, 'a,b\n"1,2\n' + "3,4\n" * 1000)


def test_lists_are_refused_before_anything_is_written(tmp_path, list_table):
    with pytest.raises(UserError, match=r"cannot hold column 'x'.*write \.parquet or \.npz"):
        open_sink(tmp_path / "t.csv", list_table.schema)


def test_categories_and_halves(tmp_path, write, read):
    halves = pa.array([1.5, None], pa.float16())
    got = read(
        write(
            pa.table({"c": pa.array(["u", None]).dictionary_encode(), "h": halves}),
            tmp_path / "t.csv",
        )
    )
    assert got.to_pydict() == {"c": ["u", None], "h": [1.5, None]}


@pytest.mark.parametrize("sign", [",", ";", "\t", "|"])
def test_fields_may_be_separated_by_other_signs(tmp_path, sign):
    """A sign in a quoted name or value separates nothing."""
    path = tmp_path / "t.csv"
    rows = [["a", '"b, c; d"', "e"], ["1", '"x, y; z"', "2.5"], ["2", "w", ""]]
    path.write_text("\n".join(sign.join(row) for row in rows) + "\n")
    table = pa.Table.from_batches(list(open_source(path).batches()))
    assert table.to_pydict() == {"a": [1, 2], "b, c; d": ["x, y; z", "w"], "e": [2.5, None]}


def test_a_ragged_row_names_the_guessed_delimiter_and_the_way_out(tmp_path):
    message = said(tmp_path, "a;b\n1;2;3\n")
    assert "if fields are not separated by semicolons, say which: --delimiter ','" in message
    path = tmp_path / "t.csv"
    with pytest.raises(UserError, match=r"in quotes; if line 1 is a title, [^;]*$"):
        open_source(path, delimiter=";")  # nothing was guessed


def test_an_open_quote_is_named_by_its_line(tmp_path):
    rows = "3,4\n" * 1000
    message = said(tmp_path, "a,b\n" + rows + '5,"6\n' + rows * 600)
    assert "a line of more than 1 MiB from line 1002 on; is a quote left open?" in message


@pytest.mark.slow
def test_a_broken_line_near_the_end_is_found_in_memory_that_does_not_grow(tmp_path):
    path = tmp_path / "t.csv"
    block = b"".join(b"%d,some text of a record\n" % i for i in range(1000))
    peaks = []
    for blocks in (50, 200):
        path.write_bytes(b"a,b\n" + block * blocks + b"1,2,3\n" + block)
        tracemalloc.start()
        with pytest.raises(
            UserError, match=f"line {blocks}002 has 3 fields where the header has 2"
        ):
            open_source(path)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < peaks[0] + 5e5  # the second file is 3.9 MB larger


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".tsv", ".tsv.gz"])
@pytest.mark.parametrize("sign", [None, ",", ";", "\t", "|", " ", ":", "^", "~", "-", "."])
def test_a_delimiter_is_kept(tmp_path, suffix, sign, write, wide_table):
    """A number or a time may contain the delimiter."""
    at = pa.array([dt.datetime(2024, 1, 2, 3, 4, 5)] * len(wide_table), pa.timestamp("s"))
    table = wide_table.append_column("at", at)
    path = write(table, tmp_path / f"t{suffix}", delimiter=sign)
    source = open_source(path, delimiter=sign)
    assert source.delimiter == (sign or ("\t" if "tsv" in suffix else ","))
    got = pa.Table.from_batches(list(source.batches()))
    assert got.select(wide_table.column_names).equals(wide_table)
    assert got["at"].to_pylist() == ["2024-01-02 03:04:05"] * len(table)
