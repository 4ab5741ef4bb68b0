"""A folder of media, at any depth, with labels from the names of its folders and files."""

from __future__ import annotations

import csv
import hashlib
import io
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any

import pyarrow as pa

from withhold.core.errors import UserError, listing
from withhold.core.lists import from_cell
from withhold.core.safe_read import file_sha256, open_regular, read_bounded, reason
from withhold.records.readers.collection import FILE, Item, LabelTable
from withhold.records.readers.fence import is_below
from withhold.records.readers.file_pattern import Pattern, typed
from withhold.records.samples import SUFFIXES, BadMedia, Kind, kind_of

_MOST_BYTES = 2**28  # of a list of names
_OUTSIDE = "is a link that leads out of the folder; if you trust it, add --allow-outside"


@dataclass(frozen=True, eq=False)
class MediaFolder(LabelTable):
    """Every file of one kind below a folder, in the order of their names.

    Files with suffixes of another kind are counted in `others` and ignored. A linked folder is
    entered only once, so circular links end. `bad` has the reason for each path that cannot be
    used: a name that does not match the pattern, a folder that cannot be read, a link that leads
    out of the folder (a folder from elsewhere could link to any file of this machine).
    """

    root: Path
    kind: Kind
    paths: tuple[str, ...]  # below root, with slashes
    others: int
    table: pa.Table
    bad: Mapping[str, str] = field(default_factory=dict)
    pattern: str | None = None
    allow_outside: bool = False

    @classmethod
    def read(
        cls,
        root: Path,
        kind: Kind,
        pattern: str | None = None,
        *,
        stills: bool = True,
        names: str | Path | None = None,
        allow_outside: bool = False,
    ) -> MediaFolder:
        """List a folder and decode nothing. `names` lists the original names of a release."""
        wanted = {kind, "image"} if kind == "clip" and stills else {kind}
        closed: dict[str, str] = {}
        paths: list[str] = []
        others: Counter[Kind | None] = Counter()
        for path in _walk(root, closed, allow_outside):
            found = kind_of(path)
            if found in wanted and not allow_outside and _leads_out(root / path, root):
                closed[path] = _OUTSIDE
            elif found in wanted:
                paths.append(path)
            else:
                others[found] += 1
        if not paths:
            raise UserError(_none(root, kind, others, closed))
        paths = sorted([*paths, *closed])
        old = {} if names is None else _old_names(Path(names), root)
        shown = [old.get(p, p) for p in paths]
        labels, misfits = _labels(shown, pattern, root)
        if names is not None and pattern is None:
            # The old names say which file is which. What their folders say did not leave.
            labels = labels.select([FILE])
        bad = {
            path: "its name does not match the pattern"
            for path in paths
            if old.get(path, path) in misfits
        } | closed
        return cls(root, kind, tuple(paths), others.total(), labels, bad, pattern, allow_outside)

    @property
    def name(self) -> str:
        """The folder's own name."""
        return self.root.name or str(self.root)

    def __len__(self) -> int:
        return len(self.paths)

    def items(self, start: int = 0) -> Iterator[Item]:
        """The items from number `start` on."""
        for first in range(start, len(self.paths), 1024):
            rows = self.table.slice(first, 1024).to_pylist()
            for path, labels in zip(self.paths[first : first + 1024], rows, strict=True):
                content: Path | BadMedia = self.root / path
                if path in self.bad:
                    content = BadMedia(self.bad[path])
                elif self._leads_out(path):  # a link changed after the folder was listed
                    content = BadMedia(_OUTSIDE)
                yield Item(path, content, labels)

    def stamp(self) -> str:
        """A hash of names, sizes, modification times, and how labels are read."""
        h = hashlib.sha256(f"{self.pattern}\n{self.table[FILE].to_pylist()}".encode())
        for path in self.paths:
            h.update(os.fsencode(path) + file_stamp(self.root / path).encode())
        return h.hexdigest()

    def digest(self) -> str:
        """A hash of names and contents."""
        return self._digest

    def opened(self) -> dict[str, Any]:
        """The pattern of the names."""
        return {} if self.pattern is None else {"pattern": self.pattern}

    @cached_property
    def _digest(self) -> str:
        h = hashlib.sha256()
        for path in self.paths:
            inside = contents(self.root / path) if not self._leads_out(path) else b"outside"
            h.update(os.fsencode(path) + b"\0" + inside)
        return h.hexdigest()

    def _leads_out(self, path: str) -> bool:
        return not self.allow_outside and _leads_out(self.root / path, self.root)


def file_stamp(path: Path) -> str:
    """A text that changes when a file is written again. The modification time alone is not enough:
    a release sets it to a fixed date."""
    try:
        stat = os.stat(path)
    except (OSError, ValueError):  # a name with a zero byte
        return "\0unreadable\n"
    return f"\0{stat.st_size}\0{stat.st_mtime_ns}\0{stat.st_ctime_ns}\0{stat.st_ino}\n"


def contents(path: Path) -> bytes:
    """A hash of a file; if it cannot be read, a fixed text."""
    try:
        with open_regular(path) as file:  # reading a pipe would wait forever
            return hashlib.file_digest(file, "sha256").digest()
    except (OSError, ValueError):
        return b"unreadable"


def _leads_out(path: Path, root: Path) -> bool:
    """Whether links lead from a path below root to somewhere outside of it."""
    return not is_below(os.path.realpath(path), os.path.realpath(root))


def _walk(root: Path, closed: dict[str, str], allow_outside: bool) -> Iterator[str]:
    """Paths of all files below root, with slashes; hidden ones are left out.

    Folders that cannot be read, and links that lead out, go into `closed` with the reason.
    """

    def lost(error: OSError) -> None:
        folder = Path(os.fsdecode(error.filename or root))
        if folder == root:
            raise UserError(f"folder {root} cannot be read: {error.strerror}")
        closed[folder.relative_to(root).as_posix()] = f"cannot be read: {error.strerror}"

    entered: set[tuple[int, int]] = set()
    above = {os.path.realpath(root), *map(str, Path(os.path.realpath(root)).parents)}
    for folder, folders, files in os.walk(root, followlinks=True, onerror=lost):
        stat = os.stat(folder)
        if (stat.st_dev, stat.st_ino) in entered:
            folders.clear()
            continue
        entered.add((stat.st_dev, stat.st_ino))
        folders[:] = sorted(
            f
            for f in folders
            # A link to a parent folder would include everything beside the media.
            if not f.startswith(".") and os.path.realpath(os.path.join(folder, f)) not in above
        )
        below = Path(folder).relative_to(root)
        for name in [] if allow_outside else list(folders):
            if _leads_out(Path(folder, name), root):
                closed[(below / name).as_posix()] = _OUTSIDE
                folders.remove(name)
        for file in files:
            if not file.startswith("."):
                yield (below / file).as_posix()


def _labels(paths: list[str], pattern: str | None, root: Path) -> tuple[pa.Table, frozenset[str]]:
    """The column of file names, and one for each label in the names."""
    columns = {FILE: pa.array(file_names(paths), pa.string())}
    if pattern is not None:
        fitting = Pattern(pattern)
        if FILE in fitting.fields:
            raise UserError(f"pattern '{pattern}': '{FILE}' is the column of file names")
        found = [fitting.match(path) for path in paths]
        if not any(f is not None for f in found):
            raise UserError(f"pattern '{pattern}' matches no file of {root}, e.g. {paths[0]}")
        for name in fitting.fields:
            columns[name] = typed([None if f is None else as_text(f[name]) for f in found])
        misfits = frozenset(p for p, f in zip(paths, found, strict=True) if f is None)
        return pa.table(columns), misfits
    if all("/" in path for path in paths):
        # A folder with one subfolder per class.
        columns["folder"] = pa.array([as_text(path.split("/", 1)[0]) for path in paths])
    return pa.table(columns), frozenset()


def _old_names(path: Path, root: Path) -> dict[str, str]:
    """The list that a release left beside its folder: released name to original name.

    A list of another release is refused: it would pair every record with a stranger.
    """
    try:
        text = read_bounded(path, _MOST_BYTES).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"the list of names {path} cannot be read: {reason(error)}") from error
    found: dict[str, str] = {}
    reader = csv.DictReader(io.StringIO(text, newline=""))
    try:
        for row in reader:
            released, original = row["released"], row["original"]
            if not released or not original or released in found:
                what = "twice" if released in found else "without a name"
                raise UserError(f"{path}, line {reader.line_num}: a file is listed {what}")
            found[from_cell(released)] = from_cell(original)
            _check_listed(path, root / from_cell(released), row.get("sha256"))
    except csv.Error as error:
        raise UserError(f"{path} is not a list of names: {reason(error)}") from error
    except KeyError:
        raise UserError(
            f"{path} is not a list of names: it has no columns 'released' and 'original'"
        ) from None
    return found


def _check_listed(names: Path, file: Path, sha256: str | None) -> None:
    """Refuse a file that is not the one of the list; lists of other tools have no hashes."""
    try:
        same = sha256 is None or not file.exists() or file_sha256(file) == sha256
    except OSError:
        same = True  # opening it later says what is wrong
    if not same:
        raise UserError(
            f"{names} is the list of another release than {file.parent}: {file.name} is not the"
            " file that it lists (its SHA-256 differs); give the list of this release"
        )


def _none(root: Path, kind: Kind, others: Counter[Kind | None], closed: Mapping[str, str]) -> str:
    said = f"{root} holds no {kind} files ({listing(sorted(SUFFIXES[kind]))})"
    known = [(count, other) for other, count in others.items() if other is not None]
    if known:
        count, other = max(known)
        said += f"; {other} files in it: {count:,} (--list shows their extractors)"
    elif others:
        said += f"; files of other kinds: {others.total():,}"
    for folder, why in closed.items():
        return f"{said}; {folder} in it {why}"
    return said


def file_names(paths: list[str]) -> list[str]:
    """Paths without suffixes if they stay different, so that a release in another format can be
    matched to its original."""
    paths = [as_text(path) for path in paths]
    stems = [stem(path) for path in paths]
    return stems if len(set(stems)) == len(stems) else paths


def as_text(name: str) -> str:
    """A name that can be stored as text: bytes that are not valid text are replaced."""
    return os.fsencode(name).decode(errors="replace")


def stem(path: str) -> str:
    """A path without its suffix.

    >>> stem("faces/anna.jpg"), stem("..")
    ('faces/anna', '..')
    """
    pure = PurePosixPath(path)
    return str(pure.with_suffix("")) if pure.suffix else path
