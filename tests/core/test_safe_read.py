"""Files that are none, and documents without end, are refused before they cost anything."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from withhold.core.errors import UserError
from withhold.core.safe_read import (
    check_regular,
    open_regular,
    parse_json,
    read_bounded,
    read_json,
)


@pytest.fixture(params=["device", "pipe", "socket", "folder"])
def odd(request, tmp_path, monkeypatch) -> Path:
    """What is no regular file, behind a link."""
    monkeypatch.chdir(tmp_path)
    if request.param == "device":
        target = Path("/dev/zero")
    else:
        target = tmp_path / "target"
        if request.param == "pipe":
            os.mkfifo(target)
        elif request.param == "socket":
            with socket.socket(socket.AF_UNIX) as server:
                server.bind("target")
        else:
            target.mkdir()
    (tmp_path / "link").symlink_to(target)
    return tmp_path / "link"


def test_only_regular_files_are_opened(odd):
    for read in (open_regular, check_regular, lambda path: read_bounded(path, 10)):
        with pytest.raises(OSError, match="not a file"):
            read(odd)


def test_a_file_is_read_up_to_its_bound(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"12345")
    (tmp_path / "b").symlink_to(path)
    assert read_bounded(tmp_path / "b", 5) == b"12345"
    assert check_regular(path).st_size == 5
    with pytest.raises(OSError, match="larger than 4 bytes"):
        read_bounded(path, 4)
    with pytest.raises(OSError, match="zero byte"):
        open_regular(Path("a\0b"))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (b"[" * 100_000, "nested more than"),
        (b"[" * 66 + b"]" * 66, "nested more than"),
        (b'{"a":' * 65 + b"1" + b"}" * 65, "nested more than"),
        (b"\xff", "not text in UTF-8"),
        (b'["\\ud800"]', "not text in UTF-8"),
        (b'{"\\udfff": 1}', "not text in UTF-8"),
        (b"1" * 5000, "digits"),
        (b"{", "Expecting"),
        (b"", "Expecting"),
    ],
)
def test_documents_that_are_refused(text, told):
    with pytest.raises(UserError, match=f"d is not JSON: .*{told}"):
        parse_json(text, "d")


def test_documents_that_are_read():
    assert parse_json(b"[" * 64 + b"]" * 64, "d")
    assert parse_json('{"a": ["\\ud83d\\ude00", "ä", 1.5, null]}', "d") == {
        "a": ["😀", "ä", 1.5, None]
    }


def test_a_document_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(
        UserError, match=r"r\.certificate\.json cannot be read: there is no such file"
    ):
        read_json(tmp_path / "r.certificate.json", 100)
