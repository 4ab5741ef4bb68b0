"""The pages of a Parquet file are summed by their own headers, whatever its footer says."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from withhold.core.errors import UserError
from withhold.records.readers import open_source, unpacked
from withhold.records.readers.parquet_pages import unpacked_pages

RNG = np.random.default_rng(0)


def table(rows: int) -> pa.Table:
    return pa.table(
        {
            "x": pa.FixedSizeListArray.from_arrays(pa.array(RNG.standard_normal(4 * rows)), 4),
            "who": [f"person {i % 7}" for i in range(rows)],
            "n": pa.array([None if i % 5 == 0 else i for i in range(rows)], pa.int64()),
            "text": ["a long text " * (i % 9) for i in range(rows)],
        }
    )


@pytest.mark.parametrize("codec", ["zstd", "gzip", "brotli"])
@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("more", [{}, {"data_page_size": 500}, {"write_page_checksum": True}])
def test_all_pages_are_seen(tmp_path, codec, version, more):
    """Chunks say the size of their pages with the headers, which are not packed."""
    path = tmp_path / "a.parquet"
    pq.write_table(
        table(3000), path, compression=codec, data_page_version=version, row_group_size=800, **more
    )
    metadata = pq.read_metadata(path)
    groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
    chunks = [g.column(i) for g in groups for i in range(g.num_columns)]
    whole = sum(chunk.total_uncompressed_size for chunk in chunks)
    with path.open("rb") as file:
        found = unpacked_pages(file)
    assert 0.75 * whole < found < whole


def test_a_footer_that_makes_a_page_small(tmp_path, monkeypatch):
    monkeypatch.setattr(unpacked, "FREE_BYTES", 2**20)
    path = tmp_path / "a.parquet"
    rows = 2**20
    pq.write_table(
        pa.table({"x": np.zeros(rows, np.float32)}),
        path,
        compression="zstd",
        use_dictionary=False,
        write_statistics=False,
        store_schema=False,
    )
    whole = path.read_bytes()
    at = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
    # The footer says a few rows and bytes; the page still says what it is.
    footer = whole[at:].replace(_varint(rows), _varint(2**14, pad=len(_varint(rows))))
    chunk = pq.read_metadata(path).row_group(0)
    for size in {chunk.total_byte_size, chunk.column(0).total_uncompressed_size}:
        footer = footer.replace(_varint(size), _varint(5000, pad=len(_varint(size))))
    path.write_bytes(whole[:at] + footer)
    lying = pq.read_metadata(path)
    assert (lying.num_rows, lying.row_group(0).total_byte_size) == (2**14, 5000)
    with pytest.raises(UserError, match="unpack to 4,"):
        open_source(path)


def _varint(number: int, pad: int = 0) -> bytes:
    """Zigzag, seven bits a byte; padded by bytes that add nothing."""
    number <<= 1
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    while len(out) < pad:
        out[-1] |= 128
        out.append(0)
    return bytes(out)
