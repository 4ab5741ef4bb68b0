"""Checks of an Excel file before it is parsed: that it is one, and what it unpacks to."""

from __future__ import annotations

import zipfile
from pathlib import Path

from withhold.core.errors import UserError
from withhold.core.safe_read import open_regular
from withhold.records.readers.unpacked import check_unpacked

_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"  # the container of .xls, and of encrypted .xlsx
_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")
_SHEETS = "xl/worksheets/"
_TEXTS = "xl/sharedstrings.xml"
# openpyxl holds all shared texts and one row in memory, and every other part as a tree.
_MOST_TEXT = 2**28
_MOST_PART = 2**26
_MOST_ROW = 2**24
_STEP = 2**20


def check_workbook(path: Path) -> None:
    """Refuse a file that is no `.xlsx`, or that unpacks to more than memory should hold."""
    with open_regular(path) as file:
        head = file.read(_STEP)
        if head.startswith(_OLE):
            raise UserError(f"{path} {_of_ole(head + file.read(64 * _STEP))}")
    if not zipfile.is_zipfile(path):
        raise UserError(f"{path} {_of_other(head)}")
    with zipfile.ZipFile(path) as archive:
        parts = archive.infolist()
        check_unpacked(path, sum(part.file_size for part in parts))
        for part in parts:
            _check_part(path, archive, part)


def _of_ole(data: bytes) -> str:
    if _ENCRYPTED in data:
        return "is protected by a password; save it without one"
    return "is a workbook of Excel 97-2003; save it as .xlsx"


def _of_other(head: bytes) -> str:
    try:
        head[:-4].decode("utf-8")  # the last character may be cut
        is_text = b"\0" not in head
    except UnicodeDecodeError:
        is_text = False
    if is_text:
        return "is text, not an Excel workbook; if it is a CSV file, name it .csv"
    return "is not an Excel workbook, or was cut short; save it again"


def _check_part(path: Path, archive: zipfile.ZipFile, part: zipfile.ZipInfo) -> None:
    name = part.filename.lower()
    if name.startswith(_SHEETS) and name.endswith(".xml"):
        _check_rows(path, archive, part)
        return
    if not name.endswith((".xml", ".rels")) or name.startswith("xl/pivotcache/"):
        return  # pictures and caches, which are not read
    most = _MOST_TEXT if name == _TEXTS else _MOST_PART
    if part.file_size > most:
        raise UserError(
            f"{path}: its part {part.filename} has {part.file_size:,} bytes, more than {most:,};"
            " save the table as CSV or Parquet"
        )


def _check_rows(path: Path, archive: zipfile.ZipFile, part: zipfile.ZipInfo) -> None:
    """Refuse a sheet with a row that would fill the memory: the parser holds whole rows."""
    if part.file_size <= _MOST_ROW:
        return
    since = 0
    with archive.open(part) as sheet:
        while data := sheet.read(_STEP):
            since = 0 if b"row" in data else since + len(data)
            if since > _MOST_ROW:
                raise UserError(
                    f"{path}: a row of {part.filename} has more than {_MOST_ROW // 2**20} MiB;"
                    " save the table as CSV or Parquet"
                )
