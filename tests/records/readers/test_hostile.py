"""Tables that say more than they hold, or unpack to more than memory: one line each."""

from __future__ import annotations

import gzip
import os
import struct
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from withhold.core.errors import UserError
from withhold.records.dataset import Dataset
from withhold.records.readers import FeatureLayout, load_features, unpacked
from withhold.records.readers.unpacked import FREE_BYTES, check_unpacked


def said(path, read=lambda path: Dataset.read(path)) -> str:
    with pytest.raises(UserError) as caught:
        read(path)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def header(shape: str, descr: str = "'<f4'") -> bytes:
    """A member of an npz with that header and 64 bytes of data."""
    text = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + bytes(64)


def npz(path: Path, **members: bytes) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(f"{name}.npy", data)
    return path


@pytest.mark.parametrize(
    ("shape", "descr", "told"),
    [
        ("(-1, 4)", "'<f4'", "has an impossible header"),
        ("(4, -4)", "'<f4'", "has an impossible header"),
        ("(-2, -8)", "'<f4'", "has an impossible header"),
        ("(1000000000000, 4)", "'<f4'", "but has 64 bytes"),
        ("(4, 1000000000000)", "'<f4'", "but has 64 bytes"),
        ("(9223372036854775807, 9223372036854775807)", "'<f4'", "but has 64 bytes"),
        ("(1000000000000,)", "'<U0'", "has an impossible header"),
        ("(4,)", "'|O'", "Python objects"),
        ("(4,)", "[('a', '|O')]", "Python objects"),
        ("(4, 4)", "'<c8'", "complex64"),
        ("(4, 4)", "'nonsense'", "not a numpy array"),
        ("((((((((((", "'<f4'", "not a numpy array"),
        ("4", "'<f4'", "not a numpy array"),
    ],
)
def test_headers_of_arrays(tmp_path, shape, descr, told):
    assert told in said(npz(tmp_path / "a.npz", x=header(shape, descr)))


@pytest.fixture
def little_is_free(monkeypatch):
    """As if a megabyte were all that a file may unpack to, so that the tests need no gigabytes."""
    monkeypatch.setattr(unpacked, "FREE_BYTES", 2**20)


@pytest.mark.usefixtures("little_is_free")
def test_archives_that_are_bombs(tmp_path):
    path = tmp_path / "a.npz"
    np.savez_compressed(path, x=np.zeros((2**20, 4), np.float32))
    assert path.stat().st_size < 2**15
    assert "unpack to 16,777,344" in said(path)
    np.savez(path, x=np.zeros((2**20, 4), np.float32))
    assert len(Dataset.read(path)) == 2**20


def test_archives_that_are_damaged(tmp_path):
    path = npz(tmp_path / "a.npz", x=header("(4, 4)"))
    whole = path.read_bytes()
    entry = whole.index(b"PK\x01\x02")
    for place, value in ((entry + 8, 1), (entry + 10, 99), (entry + 42, 255)):
        # encrypted; an unknown way of compression; a place beyond the end
        path.write_bytes(whole[:place] + bytes([value]) + whole[place + 1 :])
        assert "is not an NPZ file" in said(path)


def test_honest_files_of_any_size_are_not_bombs(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(bytes(1000))
    check_unpacked(path, FREE_BYTES)
    with pytest.raises(UserError, match="unpack to"):
        check_unpacked(path, FREE_BYTES + 1)
    os.truncate(path, FREE_BYTES)  # a file with a hole
    check_unpacked(path, 100 * FREE_BYTES)


@pytest.mark.usefixtures("little_is_free")
def test_parquet_of_absurdly_many_rows(tmp_path):
    """Run lengths say a million equal rows in a few hundred bytes."""
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"x": np.zeros(2**20, np.float32)}), path)
    assert path.stat().st_size < 5000
    assert "unpack to 4,194,304" in said(path)


@pytest.mark.usefixtures("little_is_free")
def test_gzip_that_is_a_bomb(tmp_path):
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(b"x,y\n" + b"1,2\n" * 2**19))
    assert path.stat().st_size < 5000
    assert "unpack to" in said(path)


def test_a_fixed_list_of_two_billion_values():
    schema = pa.schema([("x", pa.list_(pa.float32(), 2**31 - 1))])
    assert unpacked.least_row_bytes(schema) == 4 * (2**31 - 1)
    with pytest.raises(UserError, match=r"at most 1,048,576 features"):
        FeatureLayout.resolve(schema, name="t")


def test_parquet_whose_footer_lies_of_its_rows(tmp_path):
    """A changed count must not leave rows of memory that was never filled."""
    path = tmp_path / "a.parquet"
    rows = 12345
    x = np.random.default_rng(0).standard_normal(rows).astype(np.float32)
    pq.write_table(
        pa.table({"x": x}), path, compression="none", use_dictionary=False, write_statistics=False
    )
    whole = path.read_bytes()
    number = _varint(rows)
    places = [p for p in range(len(whole)) if whole.startswith(number, p)]
    refused = 0
    for other in (_varint(rows + 100), _varint(rows - 100)):
        for some in ([p] for p in places), [places]:
            for chosen in some:
                changed = bytearray(whole)
                for place in chosen:
                    changed[place : place + len(number)] = other
                path.write_bytes(changed)
                try:
                    read = Dataset.read(path).x[:, 0]
                except UserError:
                    refused += 1
                else:
                    assert np.array_equal(read, x[: len(read)])
    assert refused >= 6


def test_a_source_that_gives_other_rows_than_it_says():
    class Liar:
        name, by_column, num_rows = "liar", True, 5
        schema = pa.schema([("x", pa.float32())])

        def __init__(self, given: int) -> None:
            self.given = given

        def batches(self, *, rows=4096, columns=None):
            yield pa.RecordBatch.from_pydict({"x": pa.array(np.ones(self.given, np.float32))})

    for given in (4, 6):
        layout = FeatureLayout.resolve(Liar.schema, name="liar")
        with pytest.raises(UserError, match="does not have the 5 rows"):
            load_features(Liar(given), layout)


def test_parquet_with_text_that_is_none(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(
        pa.table({"x": [1.0, 2.0], "who": ["anna", "berta"]}),
        path,
        compression="none",
        use_dictionary=False,
        write_statistics=False,
    )
    path.write_bytes(path.read_bytes().replace(b"anna", b"an\xff\xfe"))
    assert "is damaged" in said(path)


@pytest.mark.parametrize("packed", [False, True])
def test_csv_with_a_line_of_a_hundred_megabytes(tmp_path, packed):
    path = tmp_path / ("a.csv.gz" if packed else "a.csv")
    with gzip.open(path, "wb", 1) if packed else path.open("wb") as file:
        file.write(b"x,y\n1,2\n")
        for _ in range(100):
            file.write(b"1" * 2**20)
    assert "a line of more than 1 MiB" in said(path)


def test_csv_of_a_million_columns(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("," * 1_000_000 + "\n")
    assert "1,000,001 columns" in said(path)


def test_a_ragged_csv_with_a_long_field(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a,b\n" + "x" * 200_000 + ",2\n1,2,3\n")
    assert "more or fewer fields" in said(path)


def test_gzip_that_is_cut_short(tmp_path):
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(b"x,y\n" + b"1,2\n" * 1000)[:-20])
    assert "a.csv.gz" in said(path)
    path.write_bytes(b"\x1f\x8b\x08\x00")
    assert "a.csv.gz" in said(path)
    path.write_bytes(b"x,y\n1,2\n")
    assert "a.csv.gz" in said(path)


@pytest.mark.parametrize(
    "suffix", [".parquet", ".csv", ".csv.gz", ".npz", ".jsonl", ".jsonl.gz", ".xlsx"]
)
def test_devices_and_pipes(tmp_path, suffix):
    device, pipe = tmp_path / f"d{suffix}", tmp_path / f"p{suffix}"
    device.symlink_to("/dev/zero")
    os.mkfifo(pipe)
    assert "device, not a file" in said(device)
    assert "pipe, not a file" in said(pipe)


def _varint(number: int) -> bytes:
    """As thrift's compact protocol writes an integer: zigzag, seven bits a byte."""
    number <<= 1
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        (pa.date32(), 19_000, 2**31 - 1),
        (pa.date64(), 86_400_000, 2**62 // 86_400_000 * 86_400_000),
        (pa.timestamp("s"), 1_700_000_000, 2**60),
        (pa.timestamp("us", "Europe/Vienna"), -62_000_000_000_000_000, -(2**62)),
        (pa.duration("s"), 10**9, 2**60),
        (pa.time32("s"), 86_399, 86_400),
        (pa.time64("us"), 0, -1),
    ],
)
def test_dates_that_python_does_not_have(tmp_path, kind, good, bad):
    width = pa.int32() if kind.bit_width == 32 else pa.int64()
    for wrap in (lambda a: a, lambda a: pa.ListArray.from_arrays([0, 1, 2], a)):
        for value in (good, bad):
            at = wrap(pa.array([good, value], width).view(kind))
            table = pa.table({"x": [1.0, 2.0], "at": at})
            if value == good:
                data = Dataset.read(table)
                data.labels()
                data.digest()
            else:
                assert "column 'at' of the Arrow frame holds" in said(table)


def test_times_in_a_zone_that_is_none():
    table = pa.table(
        {"x": [1.0], "at": pa.array([1], pa.int64()).view(pa.timestamp("s", "No/Such"))}
    )
    assert "time zone 'No/Such'" in said(table)


@pytest.mark.parametrize("point", [0x110000, 0x7FFFFFFF, 0xD800])
def test_characters_that_do_not_exist(tmp_path, point):
    who = np.array([[point], [65]], "<u4").view("<U1").ravel()
    np.savez(tmp_path / "a.npz", x=np.zeros((2, 3), np.float32), who=who)
    assert "'who' holds characters that do not exist" in said(tmp_path / "a.npz")
