"""Find a bundle by the name that it has on the Hugging Face hub, in the local cache.

Nothing is downloaded here. `hf download NAME` fills the cache; its layout is
models--ORG--NAME/refs/REVISION (a commit) and models--ORG--NAME/snapshots/COMMIT/ (the files).
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path

from withhold.core.errors import UserError
from withhold.core.safe_read import read_bounded

# Two parts and at most one revision; none of them begins with a dot, so none leads elsewhere.
_NAME = re.compile(
    r"(?P<owner>[A-Za-z0-9][\w.-]*)/(?P<name>[A-Za-z0-9][\w.-]*)(@(?P<revision>[A-Za-z0-9][\w.-]*))?"
)
_COMMIT = re.compile(r"[0-9a-f]{40}")
_MOST = 1024  # bytes of a file with a commit


def found_folder(folder: str | Path) -> Path:
    """The folder itself if it is there; else the cached snapshot of a hub name OWNER/NAME.

    OWNER/NAME@REVISION names a branch, tag or commit; by default it is main.
    """
    path = Path(folder)
    named = _NAME.fullmatch(str(folder))
    if named is None or os.path.lexists(path):
        return path
    cached = hub_cache() / f"models--{named['owner']}--{named['name']}"
    if not cached.is_dir():
        return path  # the caller says that there is no bundle
    revision = named["revision"] or "main"
    commit = revision
    if not _COMMIT.fullmatch(revision):
        commit = ""
        with suppress(OSError):
            commit = read_bounded(cached / "refs" / revision, _MOST).decode("ascii", "replace")
    snapshot = cached / "snapshots" / commit.strip()
    if not _COMMIT.fullmatch(commit.strip()) or not snapshot.is_dir():
        raise UserError(
            f"the hub cache has no revision '{revision}' of {named['owner']}/{named['name']};"
            f" download it: hf download {named['owner']}/{named['name']} --revision {revision}"
        )
    return snapshot


def hub_cache() -> Path:
    """Where the tools of the hub keep what they downloaded."""
    if os.environ.get("HF_HUB_CACHE"):
        return Path(os.environ["HF_HUB_CACHE"])
    home = os.environ.get("HF_HOME")
    return (Path(home) if home else Path.home() / ".cache" / "huggingface") / "hub"
