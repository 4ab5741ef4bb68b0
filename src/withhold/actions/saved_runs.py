"""Finished runs on disk, so that a comparison that was stopped resumes where it was."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from withhold import __version__
from withhold.audit.comparison import ComparedRun
from withhold.core.atomic import write_bytes
from withhold.core.output_targets import make_folder


class SavedRuns:
    """A folder with one file for each finished run; the name of the file has the key of the run."""

    def __init__(self, folder: Path, *facts: Any) -> None:
        """`facts` are what all runs share: the digest of the data, roles, readers, attackers."""
        self.folder, self.facts = folder, facts

    def key(self, *facts: Any) -> str:
        """A digest of everything that decides a run."""
        text = json.dumps([self.facts, facts, __version__], sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()[:20]

    def find(self, label: str, key: str) -> ComparedRun | None:
        """The run that was saved under this key."""
        try:
            return ComparedRun.model_validate_json(self._path(label, key).read_bytes())
        except (FileNotFoundError, ValidationError):  # a damaged file is made anew
            return None

    def save(self, label: str, key: str, run: ComparedRun) -> None:
        """Write a finished run."""
        make_folder(self.folder)
        text = run.model_dump_json(indent=1)
        write_bytes(self._path(label, key), text.encode() + b"\n")

    def _path(self, label: str, key: str) -> Path:
        name = re.sub(r"[^a-z0-9]+", "-", label.lower()).strip("-")[:60]
        return self.folder / f"{name}-{key}.json"
