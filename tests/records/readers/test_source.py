from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pytest

from withhold.core.errors import UserError
from withhold.records.readers import open_source
from withhold.records.readers.source import rebatch

SUFFIXES = [
    *(".parquet", ".pq", ".csv", ".csv.gz", ".tsv", ".tsv.gz", ".npz"),
    *(".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz", ".xlsx"),
]


def said(data, **options) -> str:
    """The one line a user is told."""
    with pytest.raises(UserError) as caught:
        list(open_source(data).batches(**options))
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("suffix", SUFFIXES)
class TestMistakes:
    def test_missing_file(self, tmp_path, suffix):
        (tmp_path / f"voices{suffix}").touch()
        message = said(tmp_path / f"voicse{suffix}")
        assert message.startswith("no such file")
        assert f"did you mean 'voices{suffix}'?" in message

    def test_missing_folder(self, tmp_path, suffix):
        assert said(tmp_path / "nowhere" / f"a{suffix}").startswith("no such file")

    def test_folder(self, tmp_path, suffix):
        (tmp_path / f"d{suffix}").mkdir()
        assert "is a folder" in said(tmp_path / f"d{suffix}")

    def test_empty_file(self, tmp_path, suffix):
        (tmp_path / f"e{suffix}").touch()
        assert "is empty (0 bytes)" in said(str(tmp_path / f"e{suffix}"))

    def test_permission(self, tmp_path, suffix, monkeypatch):
        path = tmp_path / f"p{suffix}"
        path.write_bytes(b"a")

        def refuse(*_, **__):
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr(Path, "open", refuse)  # the tests may run as root
        assert "permission denied" in said(path)

    def test_garbage(self, tmp_path, suffix):
        path = tmp_path / f"g{suffix}"
        path.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 8)
        assert path.name in said(path)

    def test_no_rows(self, tmp_path, suffix, write):
        table = pa.table({"a": pa.array([], pa.float32())})
        # JSON Lines has no header, so a file without rows has no bytes.
        told = "is empty (0 bytes)" if suffix in (".jsonl", ".ndjson") else "has no rows"
        assert told in said(write(table, tmp_path / f"n{suffix}"))

    def test_unknown_column(self, tmp_path, suffix, write, wide_table):
        message = said(write(wide_table, tmp_path / f"n{suffix}"), columns=["speker"])
        assert message.startswith("column 'speker' is not in n")
        assert "did you mean 'speaker'?" in message


@pytest.mark.skipif(os.name == "posix" and os.geteuid() == 0, reason="root may read everything")
def test_permission_for_real(tmp_path):
    path = tmp_path / "p.csv"
    path.write_text("a\n1\n")
    path.chmod(0)
    assert "permission denied" in said(path)


def test_unknown_suffix(tmp_path):
    message = said(tmp_path / "voices.feather")
    every = ", ".join(sorted(SUFFIXES))
    assert message.endswith(f"voices.feather: the name must end in one of {every}")


@pytest.mark.parametrize(
    ("name", "way_out"),
    [
        ("a.xls", "save the workbook as .xlsx"),
        ("a.JSON", "write one object per line and name it .jsonl"),
        ("a.txt", "name it .csv"),
    ],
)
def test_a_suffix_of_a_known_format_has_a_way_out(tmp_path, name, way_out):
    assert way_out in said(tmp_path / name)


@pytest.mark.parametrize("data", [[1, 2], 3, None, {"a": [1]}])
def test_not_a_table(data):
    assert "give a path, a pandas, polars or Arrow frame, or a Hugging Face" in said(data)


def test_a_source_is_given_back():
    source = open_source(pa.table({"a": [1]}))
    assert open_source(source) is source


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("rows", [1, 7, 4096])
def test_chunks_do_not_matter(tmp_path, suffix, rows, write, read, wide_table):
    path = write(wide_table, tmp_path / f"t{suffix}", rows=13)
    assert read(path, rows=rows).equals(read(path, rows=50))


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_sources_are_read_again_and_by_column(tmp_path, suffix, write, wide_table):
    source = open_source(write(wide_table, tmp_path / f"t{suffix}"))
    first, second = source.batches(rows=20), source.batches(rows=20, columns=["age", "f_1"])
    for whole, some in zip(first, second, strict=True):
        assert some.schema.names == ["age", "f_1"]
        assert some.equals(whole.select(["age", "f_1"]))
    assert len(list(source.batches(rows=20))) == 3


def test_rebatch_refuses_no_rows():
    with pytest.raises(ValueError, match="at least 1"):
        list(rebatch([], 0))


def test_rebatch_cuts_and_joins():
    batches = [pa.record_batch({"a": list(range(n))}) for n in (0, 5, 1, 0, 9)]
    assert [batch.num_rows for batch in rebatch(batches, 4)] == [4, 4, 4, 3]
