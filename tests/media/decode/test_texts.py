from __future__ import annotations

import os

import pytest

from withhold.media.decode.texts import MOST_BYTES, decode_text
from withhold.records.samples import BadMedia


def test_text_is_text_wherever_it_is(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes("Grüße\r\n😀".encode())
    for content in (path, path.read_bytes(), "Grüße\r\n😀"):
        assert decode_text(content) == "Grüße\r\n😀"
    assert decode_text(b"\xef\xbb\xbfhello") == "hello"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "it is empty"),
        (" \n\t", "it is empty"),
        (b"caf\xe9", r"not UTF-8 text \(byte 3\)"),
        ("hello".encode("utf-16"), "not UTF-8 text"),
        (b"x" * (MOST_BYTES + 1), "longer than"),
    ],
)
def test_what_cannot_be_used(tmp_path, content, reason):
    with pytest.raises(BadMedia, match=reason):
        decode_text(content)
    if isinstance(content, bytes):
        (tmp_path / "a.txt").write_bytes(content)
        with pytest.raises(BadMedia, match=reason):
            decode_text(tmp_path / "a.txt")


def test_what_is_no_file(tmp_path):
    with pytest.raises(BadMedia, match="cannot be read: No such file"):
        decode_text(tmp_path / "gone.txt")
    with pytest.raises(BadMedia, match="not a file"):
        decode_text(tmp_path)
    os.mkfifo(tmp_path / "pipe.txt")
    with pytest.raises(BadMedia, match="not a file"):
        decode_text(tmp_path / "pipe.txt")
    (tmp_path / "loop.txt").symlink_to("loop.txt")
    with pytest.raises(BadMedia, match="Too many levels"):
        decode_text(tmp_path / "loop.txt")
