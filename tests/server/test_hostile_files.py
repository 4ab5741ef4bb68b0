"""A hostile file of each kind is refused in one line, without its memory, its code or our paths."""

from __future__ import annotations

import gzip
import io
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from server.conftest import Serve, Served
from withhold.records.writers.excel_parts import FIXED_PARTS, SHEET, SHEET_END, SHEET_START
from withhold.server.worker import run_worker

TABLE = pa.table({"a": [1, 2, 3], "b": ["x", "y", "z"]})
ABSURD = 2**50


class RunsCode:
    """Pickled data that makes a file when it is loaded."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, ...]:
        return (Path.touch, (self.path,))


def packed(parts: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    return out.getvalue()


def npy(header: str, data: bytes = b"") -> bytes:
    head = header.ljust(117).encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head + data


def stored(array: np.ndarray) -> bytes:
    out = io.BytesIO()
    np.save(out, array, allow_pickle=True)
    return out.getvalue()


def parquet(rows: int) -> bytes:
    """A file whose footer claims so many rows instead of 3 (a zigzag varint)."""
    out = io.BytesIO()
    pq.write_table(TABLE, out)
    data = out.getvalue()
    size = int.from_bytes(data[-8:-4], "little")
    value, claimed = 2 * rows, b""
    while value >= 128:
        claimed, value = claimed + bytes([value & 127 | 128]), value >> 7
    footer = data[-8 - size : -8].replace(b"\x16\x06", b"\x16" + claimed + bytes([value]))
    return data[: -8 - size] + footer + len(footer).to_bytes(4, "little") + b"PAR1"


def stream(table: pa.Table) -> bytes:
    out = io.BytesIO()
    with pa.ipc.new_stream(out, table.schema) as sink:
        sink.write_table(table)
    return out.getvalue()


def nested(depth: int) -> bytes:
    kind = pa.int8()
    for _ in range(depth):
        kind = pa.list_(kind)
    return stream(pa.schema([("a", kind)]).empty_table())


def workbook(rows: str, start: str = SHEET_START) -> bytes:
    parts = {name: text.encode() for name, text in FIXED_PARTS.items()}
    return packed({**parts, SHEET: (start + rows + SHEET_END).encode()})


def cell(text: str) -> str:
    return f'<row><c t="inlineStr"><is><t>{text}</t></is></c></row>'


ENTITY = '<?xml version="1.0"?>\n<!DOCTYPE x [<!ENTITY e {}>]>\n' + SHEET_START.partition("\n")[2]
LAUGHS = '"l">' + "".join(
    f'<!ENTITY e{i} "{f"&e{i - 1 if i else str()};" * 10}">' for i in range(9)
)
FILES: dict[str, tuple[str, Callable[[Path], bytes], str]] = {
    "wide": ("csv", lambda p: b",".join(b"c%d" % i for i in range(200_000)) + b"\n1\n", "columns"),
    "open quote": ("csv", lambda p: b'a,b\n"' + b"x," * 2_000_000, "quote"),
    "gzip bomb": ("csv.gz", lambda p: gzip.compress(bytes(300_000_000), 9), "row|text|line"),
    "one line": ("jsonl.gz", lambda p: gzip.compress(b'{"a":"' + b"0" * 10**8, 9), "16 MiB"),
    "deep": ("jsonl", lambda p: b'{"a":' + b"[" * 10**6 + b"]" * 10**6 + b"}\n", "deep"),
    "long number": ("jsonl", lambda p: b'{"a":' + b"9" * 10**6 + b"}\n", "line 1"),
    "pickle": (
        "npz",
        lambda p: packed({"x.npy": stored(np.array([RunsCode(p)], dtype=object))}),
        "Python objects",
    ),
    "only a pickle": ("npz", lambda p: pickle.dumps(RunsCode(p)), "not an NPZ"),
    "absurd shape": (
        "npz",
        lambda p: packed(
            {
                "x.npy": npy(
                    f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({ABSURD}, 256), }}"
                )
            }
        ),
        "write it again",
    ),
    "npz bomb": (
        "npz",
        lambda p: packed(
            {
                "x.npy": npy(
                    "{'descr': '<f4', 'fortran_order': False, 'shape': (5000000, 64), }",
                    bytes(4 * 64 * 5_000_000),
                )
            }
        ),
        "200 times",
    ),
    "absurd rows": ("parquet", lambda p: parquet(ABSURD), "Parquet|unpack"),
    "excel bomb": ("xlsx", lambda p: workbook(cell("a" * 10**6) * 1_200), "200 times"),
    "entities": ("xlsx", lambda p: workbook(cell("&e8;"), ENTITY.format(LAUGHS)), "Excel|XML"),
    "a file of this machine": (
        "xlsx",
        lambda p: workbook(cell("&e;") * 9, ENTITY.format('SYSTEM "file:///etc/passwd"')),
        "Excel|XML",
    ),
    "absurd length": (
        "arrow",
        lambda p: stream(TABLE).replace(
            (3).to_bytes(8, "little"), ABSURD.to_bytes(8, "little")
        ),
        "not an Arrow stream",
    ),
    "deep types": ("arrow", lambda p: nested(500), "not an Arrow stream"),
    "cut": ("arrow", lambda p: stream(TABLE)[:-80], "not an Arrow stream"),
    "not what it says": ("csv", lambda p: parquet(3), "Parquet"),
}  # fmt: skip


def inspected(served: Served, kind: str, data: bytes) -> tuple[str, dict[str, object]]:
    """Inspect a file in this process, because a worker needs a second to start."""
    id = served.start(kind="inspect", dataset=served.upload(data, f"bad.{kind}"))
    assert served.service.jobs.claim() is not None
    served.service.folder.make_job(id)
    assert run_worker(served.service.folder.root, id) == 0
    return id, served.job(id)


@pytest.mark.parametrize(
    "name",
    # Bombs above the limit of 1 GiB take seconds to make.
    [
        pytest.param(n, marks=[pytest.mark.slow] * n.endswith(("npz bomb", "excel bomb")))
        for n in FILES
    ],
)
def test_a_hostile_file(
    serve: Serve, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kind, make, said = FILES[name]
    served = serve(work=False)
    id, job = inspected(served, kind, make(tmp_path / "code-ran"))
    assert job["state"] == "failed"
    error = str(job["error"])
    assert any(word in error for word in said.split("|")), error
    assert "bug" not in error
    assert str(tmp_path) not in error
    assert "root:" not in error
    assert not (tmp_path / "code-ran").exists()
    assert "Traceback" not in capsys.readouterr().err
    assert not served.service.folder.scratch(id).exists()


def test_names_in_an_archive_are_no_paths(serve: Serve, tmp_path: Path) -> None:
    served = serve(work=False)
    x = stored(np.zeros((5, 3), np.float32))
    data = packed({f"{'../' * 9}{tmp_path}/out.npy": x[:-60], "../../y.npy": x, "x.npy": x})
    inspected(served, "npz", data)
    inside = served.service.folder.root
    found = [p for p in tmp_path.rglob("*.npy") if not p.is_relative_to(inside)]
    assert found == []


def test_paths_in_a_table_are_not_opened(serve: Serve) -> None:
    served = serve(work=False)
    token = served.service.folder.token
    _, job = inspected(served, "csv", f"path,label\n{token},a\n/etc/passwd,b\n".encode() * 30)
    assert job["state"] == "done", job["error"]
    assert token.read_text().strip() not in str(job)
    assert "root:" not in str(job)


def test_no_copy_of_an_arrow_upload_is_kept(serve: Serve) -> None:
    """The Parquet copy of the job must not outlive the upload."""
    served = serve(work=False)
    table = pa.table({"a": ["secret-value", "b"] * 40, "n": list(range(80))})
    id, job = inspected(served, "arrow", stream(table))
    assert job["state"] == "done", job["error"]
    dataset = str(job["request"]["dataset"])  # type: ignore[index]
    served.client.delete(f"/api/v1/datasets/{dataset}")
    for path in served.service.folder.job(id).rglob("*"):
        assert path.is_dir() or b"secret-value" not in path.read_bytes(), path
