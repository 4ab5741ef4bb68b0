"""Text in another encoding, or no text at all: the line and the way out, for CSV and JSON Lines."""

from __future__ import annotations

import gzip

import pytest

from withhold.core.errors import UserError
from withhold.records.readers import open_source, text_file

TEXTS = {".csv": "name,n\nanna,1\nzoë,2\n", ".jsonl": '{"n": 1}\n{"n": 2}\n{"who": "zoë"}\n'}


def said(path, data: bytes) -> str:
    path.write_bytes(gzip.compress(data) if path.name.endswith(".gz") else data)
    with pytest.raises(UserError) as caught:
        open_source(path)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("packed", ["", ".gz"])
@pytest.mark.parametrize("suffix", [".csv", ".jsonl"])
class TestEncodings:
    def test_latin_1_names_the_line(self, tmp_path, suffix, packed):
        message = said(tmp_path / f"t{suffix}{packed}", TEXTS[suffix].encode("latin-1"))
        assert "is not text in UTF-8 (line 3 has the byte 0xeb); save it as UTF-8" in message
        assert (f"t{suffix} > t-utf8{suffix}" in message) == (not packed)

    @pytest.mark.parametrize("code", ["utf-16", "utf-32"])
    def test_wide_encodings(self, tmp_path, suffix, packed, code):
        message = said(tmp_path / f"t{suffix}{packed}", TEXTS[suffix].encode(code))
        assert f"is text in {code.upper()}; save it as UTF-8" in message

    def test_wide_encoding_without_a_mark(self, tmp_path, suffix, packed):
        message = said(tmp_path / f"t{suffix}{packed}", TEXTS[suffix].encode("utf-16-le"))
        assert "zero bytes" in message

    def test_other_formats(self, tmp_path, suffix, packed):
        path = tmp_path / f"t{suffix}{packed}"
        assert "a zip archive or an Excel workbook" in said(path, b"PK\x03\x04" + bytes(99))
        assert "a Parquet file" in said(path, b"PAR1" + bytes(99))
        assert "compressed with gzip" in said(path, gzip.compress(b"a,b\n1,2\n"))


def test_a_header_in_latin_1(tmp_path):
    assert "line 1 has the byte 0xeb" in said(tmp_path / "t.csv", "zoë,b\n1,2\n".encode("latin-1"))


def test_a_character_across_two_steps(tmp_path, monkeypatch):
    """The decoder keeps half a character; the line of a later byte must not suffer."""
    monkeypatch.setattr(text_file, "_STEP", 5)
    path = tmp_path / "t"
    path.write_bytes("abcdë\nü\nüüü\n".encode() + b"x\xff\n")
    assert "line 4 has the byte 0xff" in str(text_file.not_utf8(path))
