"""Rows that outlive an interruption: each is kept in a folder of its own, beside its key."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from withhold.core.atomic import write_bytes


def row_folder(output: Path, label: str) -> Path:
    """The folder of a row, named after its label."""
    return output / re.sub(r"[^a-z0-9]+", "-", label.lower()).strip("-")


def keep_row(folder: Path, key: str, make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """What was found under the same key before, or else what `make` finds now."""
    written = folder / "key"
    if not (written.exists() and written.read_text() == key and (folder / "row.json").exists()):
        found = make()
        folder.mkdir(parents=True, exist_ok=True)
        write_bytes(folder / "row.json", json.dumps(found, indent=1).encode() + b"\n")
        write_bytes(written, key.encode())
    row: dict[str, Any] = json.loads((folder / "row.json").read_text())
    return row
