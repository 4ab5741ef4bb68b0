from __future__ import annotations

import builtins
import datetime as dt
import zipfile

import openpyxl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from withhold.core.errors import UserError
from withhold.records.readers import excel_archive, open_source, unpacked

SHEET = "xl/worksheets/sheet1.xml"


def book(path, **sheets):
    """A workbook by openpyxl with these sheets, each a list of rows."""
    made = openpyxl.Workbook()
    made.remove(made.active)
    for title, rows in sheets.items():
        sheet = made.create_sheet(title)
        for row in rows:
            sheet.append(row)
    made.save(path)
    return path


@pytest.fixture
def path(tmp_path):
    return tmp_path / "t.xlsx"


def said(path) -> str:
    with pytest.raises(UserError) as caught:
        list(open_source(path).batches())
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_round_trip_with_nulls(path, write, read, wide_table):
    assert read(write(wide_table, path, rows=7)).equals(wide_table)


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1, 2], pa.int64()),
        ([1, None, 2], pa.int64()),
        ([1, 2.5], pa.float64()),
        ([True, False], pa.bool_()),
        (["007", "1"], pa.string()),
        ([None, None], pa.string()),
        ([dt.date(2024, 2, 29), dt.date(1990, 1, 1)], pa.date32()),
        ([dt.datetime(2024, 1, 1), dt.datetime(2024, 1, 1, 12)], pa.timestamp("us")),
        ([dt.time(12, 30), dt.time(1, 2, 3)], pa.time64("us")),
        ([dt.timedelta(hours=30), dt.timedelta(minutes=1)], pa.duration("us")),
    ],
)
def test_types(path, read, values, kind):
    got = read(book(path, a=[["k", "v"], *([0, v] for v in values)]))
    assert got.schema.field("v").type == kind
    assert got["v"].to_pylist() == values


def test_missing_words_blank_rows_and_a_table_away_from_the_corner(path, read):
    rows = [[], [None, "n", "t"], [None, 1, "a"], [], [None, "NA", "#N/A"], [None, 3, " "], []]
    assert read(book(path, a=rows)).to_pydict() == {
        "n": [1, None, 3],
        "t": ["a", None, None],
    }


def test_the_only_sheet_with_data_is_read(path, read):
    rows = [["v"], [1]]
    assert read(book(path, empty=[], data=rows, more=[[None]])).to_pydict() == {"v": [1]}
    assert "has data in several sheets: one, two; keep one" in said(book(path, one=rows, two=rows))
    made = openpyxl.load_workbook(path)
    made["one"].sheet_state = "hidden"
    made["two"]["A2"] = 2
    made.save(path)
    assert read(path).to_pydict() == {"v": [2]}
    assert "has no rows" in said(book(path, one=[], two=[]))


def test_headers(path, read):
    assert "more than one column named 'a'" in said(book(path, s=[["a", "a"], [1, 2]]))
    message = said(book(path, s=[["a", None, "c"], [1, None, 2], [1, 5, 2]]))
    assert "a value in cell B3, but no name for its column in row 1" in message
    title = said(book(path, s=[["Patients of 2024"], [], ["a", "b"], [1, 2]]))
    assert "if row 1 is a title, delete all rows above the column names" in title
    assert "in cell AC2" in said(book(path, s=[["a"], [1] + [None] * 27 + ["note"]]))
    got = read(book(path, s=[["a", None, 2020], [1, None, 2]]))
    assert got.to_pydict() == {"a": [1], "2020": [2]}


def test_mixed_types_and_errors(path):
    message = said(book(path, s=[["v"], [1], ["x"]]))
    assert "column 'v' of t.xlsx mixes types: an integer on row 2 and text on row 3" in message
    assert "the error #DIV/0! in cell A3" in said(book(path, s=[["v"], [1], ["#DIV/0!"]]))


def test_formulas_count_as_their_stored_values(path, read):
    book(path, s=[["a", "b"], [1, "=A2*2"], [2, "=A3*2"]])
    assert "a formula without a stored value in cell B2" in said(path)
    changed(path, SHEET, b"<f>A2*2</f><v />", b"<f>A2*2</f><v>2</v>")
    changed(path, SHEET, b"<f>A3*2</f><v />", b"<f>A3*2</f><v>4</v>")
    assert read(path).to_pydict() == {"a": [1, 2], "b": [2, 4]}


def test_a_wrong_dimension_is_not_believed(path, read):
    book(path, s=[["a", "b"], [1, 2], [3, 4]])
    changed(path, SHEET, b'<dimension ref="A1:B3"', b'<dimension ref="A1:A1"')
    assert read(path).to_pydict() == {"a": [1, 3], "b": [2, 4]}


def changed(path, part: str, old: bytes, new: bytes) -> None:
    """Replace bytes in a part of a workbook."""
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    assert old in parts[part]
    parts[part] = parts[part].replace(old, new)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)


def shared(path, write, texts: bytes, *, declared: bytes = b"") -> None:
    """A workbook with a column `v` whose only cell is the first shared text, as Excel writes it."""
    write(pa.table({"v": [7]}), path)
    changed(path, SHEET, b"<c><v>7</v></c>", b'<c t="s"><v>0</v></c>')
    space, kind = ("http://schemas.openxmlformats.org/spreadsheetml/2006/main", "sharedStrings+xml")
    override = (
        '<Override PartName="/xl/sharedStrings.xml" ContentType="application/'
        f'vnd.openxmlformats-officedocument.spreadsheetml.{kind}"/></Types>'
    )
    changed(path, "[Content_Types].xml", b"</Types>", override.encode())
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        part = declared + f'<sst xmlns="{space}">'.encode() + texts + b"</sst>"
        archive.writestr("xl/sharedStrings.xml", part)


def test_shared_texts(path, write, read):
    shared(path, write, b"<si><r><t>an</t></r><r><t>na</t></r></si>")
    assert read(path).to_pydict() == {"v": ["anna"]}


class TestNotAWorkbook:
    def test_text(self, path):
        path.write_text("a,b\n1,2\n")
        assert "is text, not an Excel workbook; if it is a CSV file, name it .csv" in said(path)

    def test_old_and_encrypted(self, path):
        ole = bytes.fromhex("d0cf11e0a1b11ae1") + bytes(504)
        path.write_bytes(ole + "Workbook".encode("utf-16-le") + bytes(512))
        assert "is a workbook of Excel 97-2003; save it as .xlsx" in said(path)
        path.write_bytes(ole + "EncryptedPackage".encode("utf-16-le") + bytes(512))
        assert "is protected by a password; save it without one" in said(path)

    def test_another_archive(self, path):
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("x.npy", bytes(100))
        assert "is not an Excel workbook" in said(path)

    def test_cut_short(self, path):
        whole = book(path, s=[["a"], [1]]).read_bytes()
        path.write_bytes(whole[:-30])
        assert "cut short" in said(path)

    def test_openpyxl_is_missing(self, path, monkeypatch):
        book(path, s=[["a"], [1]])
        real = builtins.__import__

        def without(name, *rest, **options):
            if name == "openpyxl":
                raise ImportError(name)
            return real(name, *rest, **options)

        monkeypatch.setattr(builtins, "__import__", without)
        assert 'needs the package openpyxl: pip install "withhold[excel]"' in said(path)


class TestBombs:
    def test_unpacked(self, path, monkeypatch):
        monkeypatch.setattr(unpacked, "FREE_BYTES", 2**16)
        book(path, s=[["a"], [1]])
        changed(path, SHEET, b"</sheetData>", b"</sheetData>" + b" " * 2**22)
        assert "unpack to" in said(path)

    def test_texts(self, path, write, monkeypatch):
        monkeypatch.setattr(excel_archive, "_MOST_TEXT", 2**16)
        shared(path, write, b"<si><t>" + b"x" * 2**17 + b"</t></si>")
        assert "part xl/sharedStrings.xml has" in said(path)

    def test_one_row(self, path):
        book(path, s=[["a"], [1]])
        changed(path, SHEET, b"</row></sheetData>", b"<c/>" * 2**23 + b"</row></sheetData>")
        assert "more than 16 MiB" in said(path)

    def test_a_row_far_away(self, path):
        book(path, s=[["a"], [1]])
        changed(path, SHEET, b'<row r="2"', b'<row r="2000000000"')
        assert "has a row beyond 1,048,576" in said(path)

    def test_entities(self, path, write):
        entities = b"".join(b'<!ENTITY e%d "%s">' % (i + 1, b"&e%d;" % i * 10) for i in range(12))
        declared = b'<!DOCTYPE s [<!ENTITY e0 "ha">' + entities + b"]>"
        shared(path, write, b"<si><t>&e12;</t></si>", declared=declared)
        assert "is not an Excel workbook, or is damaged" in said(path)


def _values(column):
    return st.lists(st.none() | column, min_size=3, max_size=3)


_PLAIN = st.characters(
    codec="utf-8", exclude_categories=["Cs", "Cc"], exclude_characters="\ufffe\uffff"
)


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    number=_values(st.integers(-(10**15) + 1, 10**15 - 1)),
    real=_values(st.floats(allow_nan=False, allow_infinity=False)),
    text=_values(st.text(_PLAIN, min_size=1).map(lambda t: f"={t}\r\n x")),
    day=_values(st.dates(dt.date(1900, 3, 1))),
    at=_values(st.datetimes(dt.datetime(1900, 3, 1), dt.datetime(2200, 1, 1))),
    rows=st.integers(1, 5),
)
def test_what_is_written_is_read(path, write, read, number, real, text, day, at, rows):
    """Excel's own precision is a millisecond."""
    at = [a and a.replace(microsecond=a.microsecond // 1000 * 1000) for a in at]
    table = pa.table(
        {
            "row": [0, 1, 2, 3],
            "number": pa.array([7, *number], pa.int64()),
            "real": pa.array([0.5, *real], pa.float64()),
            "text": pa.array(["x", *text], pa.string()),
            "day": pa.array([dt.date(2000, 1, 1), *day], pa.date32()),
            "at": pa.array([dt.datetime(2000, 1, 1, 1, 1), *at], pa.timestamp("us")),
        }
    )
    assert read(write(table, path, rows=rows), rows=rows).equals(table)
