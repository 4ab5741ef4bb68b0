from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from withhold.core.errors import UserError
from withhold.core.output_targets import same_file
from withhold.records.writers import open_sink

SUFFIXES = [
    *(".parquet", ".pq", ".csv", ".csv.gz", ".tsv", ".tsv.gz", ".npz"),
    *(".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz", ".xlsx"),
]
SMALL = pa.table({"a": [1.5, 2.5], "b": ["u", "v"]})


def said(path, schema=SMALL.schema) -> str:
    with pytest.raises(UserError) as caught, open_sink(path, schema) as sink:
        sink.write(SMALL.to_batches()[0])
    assert "\n" not in str(caught.value)
    return str(caught.value)


class TestMistakes:
    def test_unknown_suffix(self, tmp_path):
        assert said(tmp_path / "out.json").endswith(", ".join(sorted(SUFFIXES)))

    def test_missing_folder(self, tmp_path):
        assert f"there is no folder {tmp_path / 'no'}" in said(tmp_path / "no" / "out.csv")

    def test_folder_is_a_file(self, tmp_path):
        (tmp_path / "file").touch()
        assert f"there is no folder {tmp_path / 'file'}" in said(tmp_path / "file" / "out.csv")

    def test_unwritable_folder(self, tmp_path, monkeypatch):
        monkeypatch.setattr(os, "access", lambda *_: False)  # the tests may run as root
        assert f"no permission to write in the folder {tmp_path}" in said(tmp_path / "out.csv")

    def test_output_is_a_folder(self, tmp_path):
        (tmp_path / "out.csv").mkdir()
        assert "is a folder" in said(tmp_path / "out.csv")

    def test_used_outside_with(self, tmp_path):
        with pytest.raises(ValueError, match="`with` block"):
            open_sink(tmp_path / "a.csv", SMALL.schema).write(SMALL.to_batches()[0])
        assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("suffix", SUFFIXES)
class TestAllOrNothing:
    def test_nothing_under_the_name_until_the_end(self, tmp_path, suffix):
        path = tmp_path / f"out{suffix}"
        with open_sink(path, SMALL.schema) as sink:
            sink.write(SMALL.to_batches()[0])
            assert [p.name for p in tmp_path.iterdir()] == [f".out{suffix}.partial"]
        assert list(tmp_path.iterdir()) == [path]

    @pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
    def test_an_exception_keeps_the_old_file(self, tmp_path, suffix, error):
        path = tmp_path / f"out{suffix}"
        path.write_bytes(b"old")
        with pytest.raises(error), open_sink(path, SMALL.schema) as sink:  # noqa: PT012
            sink.write(SMALL.to_batches()[0])
            raise error
        assert path.read_bytes() == b"old"
        assert list(tmp_path.iterdir()) == [path]

    def test_a_stale_partial_is_replaced(self, tmp_path, suffix, write, read):
        (tmp_path / f".out{suffix}.partial").write_bytes(b"of a killed run" * 1000)
        path = write(SMALL, tmp_path / f"out{suffix}")
        assert read(path).num_rows == 2
        assert list(tmp_path.iterdir()) == [path]

    def test_a_link_is_written_through(self, tmp_path, suffix, write, read):
        real, link = tmp_path / f"real{suffix}", tmp_path / f"link{suffix}"
        real.write_bytes(b"old")
        link.symlink_to(real)
        write(SMALL, link)
        assert link.is_symlink()
        assert read(real).num_rows == 2

    def test_full_disk_at_commit(self, tmp_path, suffix, monkeypatch):
        def full(_):
            raise OSError(errno.ENOSPC, "No space left on device")

        path = tmp_path / f"out{suffix}"
        path.write_bytes(b"old")
        monkeypatch.setattr(os, "fsync", full)
        assert said(path).startswith(f"the disk is full while writing {path}")
        assert path.read_bytes() == b"old"
        assert list(tmp_path.iterdir()) == [path]

    def test_full_disk_while_writing(self, tmp_path, suffix, monkeypatch):
        path = tmp_path / f"out{suffix}"
        path.write_bytes(b"old")
        opened = Path.open

        def on_full_disk(self, *arguments, **options):
            if self.name.endswith(".partial"):
                opened(self, *arguments, **options).close()
                return open("/dev/full", "wb", buffering=0)
            return opened(self, *arguments, **options)

        monkeypatch.setattr(Path, "open", on_full_disk)
        assert said(path).startswith(f"the disk is full while writing {path}")
        assert path.read_bytes() == b"old"
        assert list(tmp_path.iterdir()) == [path]

    def test_bytes_depend_on_the_rows_alone(self, tmp_path, suffix, write, wide_table):
        found = {
            write(wide_table, tmp_path / f"{rows}{suffix}", rows=rows).read_bytes()
            for rows in (1, 7, 4096)
        }
        assert len(found) == 1


def test_bytes_do_not_depend_on_the_process(tmp_path):
    """The hash seed and the clock differ from process to process; the bytes must not."""
    script = (
        "import sys, pyarrow as pa\n"
        "from withhold.records.writers import open_sink\n"
        "t = pa.table({'x': pa.array([[1., 2.]], pa.list_(pa.float32(), 2)), 's': ['a']})\n"
        "for name in ('a.parquet', 'a.npz', 'a.jsonl.gz', 'b.xlsx'):\n"
        "    u = t.drop_columns(['x']) if name[0] == 'b' else t\n"
        "    with open_sink(sys.argv[1] + '/' + name, u.schema) as sink:\n"
        "        sink.write(u.to_batches()[0])\n"
    )
    contents = []
    for seed in "12":
        folder = tmp_path / seed
        folder.mkdir()
        environment = os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)}
        subprocess.run([sys.executable, "-c", script, str(folder)], check=True, env=environment)
        contents.append([path.read_bytes() for path in sorted(folder.iterdir())])
    assert contents[0] == contents[1]


def test_same_file(tmp_path, monkeypatch):
    a, b = tmp_path / "a.csv", tmp_path / "b.csv"
    a.write_text("a\n1\n")
    monkeypatch.chdir(tmp_path)
    assert same_file(a, "a.csv")
    assert same_file(a, str(tmp_path / "." / "a.csv"))
    assert not same_file(a, b)
    assert same_file(b, "b.csv")  # neither exists yet
    b.hardlink_to(a)
    assert same_file(a, b)
    assert not same_file(SMALL, a)
