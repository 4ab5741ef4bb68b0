from __future__ import annotations

import datetime as dt
import zipfile

import numpy as np
import openpyxl
import pyarrow as pa
import pytest

from withhold.core.errors import UserError
from withhold.records.writers import excel_sink, open_sink


@pytest.fixture
def path(tmp_path):
    return tmp_path / "t.xlsx"


def test_another_program_reads_the_same(path, write):
    table = pa.table(
        {
            "<n> & m": pa.array([1, None], pa.int8()),
            "f": pa.array([0.1, float("nan")], pa.float32()),
            "b": [True, None],
            "t": pa.array(["=1+1", " <ü> "]).dictionary_encode(),
            "day": pa.array([dt.date(2024, 2, 29), None]),
            "at": pa.array([dt.datetime(2024, 1, 1, 12), None], pa.timestamp("ns")),
            "time": pa.array([dt.time(13, 30), None]),
            "span": pa.array([dt.timedelta(hours=30), None]),
        }
    )
    sheet = openpyxl.load_workbook(write(table, path)).active
    rows = list(sheet.iter_rows(values_only=True))
    assert rows[0] == tuple(table.column_names)
    assert rows[1] == (
        *(1, 0.1, True, "=1+1"),
        *(dt.datetime(2024, 2, 29), dt.datetime(2024, 1, 1, 12)),
        *(dt.time(13, 30), dt.timedelta(hours=30)),
    )
    assert rows[2] == (None, None, None, " <ü> ", None, None, None, None)
    assert sheet["D2"].data_type == "s"  # not a formula
    assert sheet["E2"].number_format == "yyyy\\-mm\\-dd"


def test_a_workbook_says_nothing_of_its_writer(path, write):
    with zipfile.ZipFile(write(pa.table({"a": [1]}), path)) as archive:
        assert not [name for name in archive.namelist() if "docProps" in name]
        assert {info.date_time for info in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (pa.array([10**15]), "of which Excel keeps 15 digits"),
        (pa.array([float("inf")]), "an infinite number"),
        (pa.array(["x" * 32_768]), "more than 32,767 characters"),
        (pa.array(["a\x00"]), "control characters"),
        (pa.array([dt.date(1850, 1, 1)]), "1850-01-01, before March 1900"),
        (pa.array([0], pa.int64()).cast(pa.timestamp("s", "UTC")), "times in the zone UTC"),
    ],
)
def test_values_that_excel_does_not_have(path, write, values, words):
    with pytest.raises(UserError, match=r"cannot hold column 'v': it has .*write") as caught:
        write(pa.table({"v": values}), path)
    assert words in str(caught.value)
    assert not list(path.parent.iterdir())


def test_too_much_for_a_sheet(path, write, monkeypatch):
    monkeypatch.setattr(excel_sink, "_MOST_ROWS", 100)
    write(pa.table({"a": np.arange(99)}), path)
    with pytest.raises(UserError, match="cannot hold more than 99 records"):
        write(pa.table({"a": np.arange(100)}), path)
    wide = pa.schema([(str(i), pa.int8()) for i in range(2**14 + 1)])
    with pytest.raises(UserError, match="cannot hold 16,385 columns"):
        open_sink(path, wide)
    with pytest.raises(UserError, match=r"cannot hold column 'x'.*write \.parquet or \.jsonl"):
        open_sink(path, pa.schema([("x", pa.list_(pa.float32()))]))
