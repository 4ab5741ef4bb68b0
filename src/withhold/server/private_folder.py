"""The folder of a server. Only its owner can read it, and only our own ids are names in it.

FOLDER/token.sha256   the hash of the access token
FOLDER/jobs.sqlite    jobs, uploads and sessions
FOLDER/uploads/ID/    one uploaded file, called data.SUFFIX
FOLDER/jobs/ID/       output (what may be downloaded), private (bundle, key, list of rows)
"""

from __future__ import annotations

import fcntl
import os
import re
import secrets
import shutil
from dataclasses import dataclass
from pathlib import Path

from withhold.core.atomic import writing_to
from withhold.core.errors import UserError

BUDGETS = "budgets.json"  # in the private folder of a comparison, for the page
ID = r"^[0-9a-f]{32}$"
_ID = re.compile(r"[0-9a-f]{32}")


def new_id() -> str:
    """An id that nobody can guess; it is also safe as a name of a file."""
    return secrets.token_hex(16)


@dataclass(frozen=True)
class PrivateFolder:
    """Paths of the server's files. Every id is checked before it becomes part of a path."""

    root: Path

    def make(self) -> None:
        """Make the folders with mode 0700; refuse a root that others can read."""
        with writing_to(self.root):
            for folder in (self.root, self.root / "uploads", self.root / "jobs"):
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        mode = self.root.stat().st_mode & 0o777
        if mode & 0o077:
            raise UserError(
                f"folder {self.root} can be read by other users of this machine (mode {mode:03o});"
                f" run: chmod 700 {self.root}, or name a new folder with --folder"
            )

    @property
    def database(self) -> Path:
        """The file of the database."""
        return self.root / "jobs.sqlite"

    @property
    def token(self) -> Path:
        """The file with the hash of the access token."""
        return self.root / "token.sha256"

    def upload(self, id: str) -> Path:
        """The folder of an upload."""
        return self.root / "uploads" / _checked(id)

    def job(self, id: str) -> Path:
        """The folder of a job."""
        return self.root / "jobs" / _checked(id)

    def output(self, id: str) -> Path:
        """The folder whose files may be downloaded."""
        return self.job(id) / "output"

    def private(self, id: str) -> Path:
        """The folder whose files never leave."""
        return self.job(id) / "private"

    def bundle(self, id: str) -> Path:
        """The bundle that a job made."""
        return self.private(id) / "bundle"

    def make_job(self, id: str) -> Path:
        """Make the folder of a job."""
        folder = self.job(id)
        with writing_to(folder):
            for made in (folder, self.private(id)):
                made.mkdir(mode=0o700, exist_ok=True)
        return folder

    def scratch(self, id: str) -> Path:
        """The folder for files that are removed when the job ends, such as copies of records."""
        return self.private(id) / "tmp"

    def sweep(self, room: str, known: set[str]) -> None:
        """Remove folders of unknown ids in `uploads` or `jobs`, which a kill left behind."""
        for place in (self.root / room).iterdir():
            if _ID.fullmatch(place.name) and place.name not in known:
                shutil.rmtree(place, ignore_errors=True)

    def remove_job(self, id: str) -> None:
        """Remove everything that a job wrote."""
        shutil.rmtree(self.job(id), ignore_errors=True)

    def remove_upload(self, id: str) -> None:
        """Remove an uploaded file."""
        shutil.rmtree(self.upload(id), ignore_errors=True)


def without_paths(line: str, folder: PrivateFolder) -> str:
    """A message for the client, on one line: names of files instead of paths of this machine."""
    for root in {str(folder.root), os.path.realpath(folder.root)}:
        inside = rf"{re.escape(root)}(/(uploads|jobs)/[0-9a-f]{{32}}(/(private|output|tmp))*)?/?"
        line = re.sub(inside, "", line)
    return " ".join(line.split())


def take_lock(path: Path) -> int | None:
    """Lock a file for as long as this process lives; None if another process holds the lock.

    The system frees the lock when the process ends, however it ends.
    """
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        return None
    return handle


def is_locked(path: Path) -> bool:
    """Whether a living process holds the lock."""
    if not path.exists():
        return False
    handle = take_lock(path)
    if handle is None:
        return True
    os.close(handle)
    return False


def _checked(id: str) -> str:
    if not _ID.fullmatch(id):
        raise ValueError("not an id of this server")
    return id
