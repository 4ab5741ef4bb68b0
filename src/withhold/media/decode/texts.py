"""Text files: UTF-8, bounded, not empty."""

from __future__ import annotations

from pathlib import Path

from withhold.core.safe_read import open_regular
from withhold.records.samples import BadMedia

MOST_BYTES = 2**20


def decode_text(content: Path | bytes | str) -> str:
    """The text of a file; bytes that are not UTF-8 are refused."""
    text = content if isinstance(content, str) else _decoded(content)
    if not text.strip():
        raise BadMedia("it is empty")
    return text


def _decoded(content: Path | bytes) -> str:
    try:
        if isinstance(content, Path):
            with open_regular(content) as file:  # reading a pipe would block for ever
                content = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise BadMedia(f"it cannot be read: {error.strerror or error}") from error
    if len(content) > MOST_BYTES:
        raise BadMedia(f"it is longer than {MOST_BYTES:,} bytes")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadMedia(f"it is not UTF-8 text (byte {error.start})") from error
