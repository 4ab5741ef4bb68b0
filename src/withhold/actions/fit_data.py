"""The data of a fit: read as a kind of records that its method takes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import Any

from withhold.actions.request import DataOptions, Opening
from withhold.core.errors import UserError
from withhold.core.progress import Progress
from withhold.media.recognise import open_as
from withhold.methods import get_method, require_kind
from withhold.records.dataset import Dataset
from withhold.records.readers import open_source
from withhold.records.roles import Roles
from withhold.records.samples import KINDS
from withhold.release.engines import Engine

_MANY = 2**27  # encoded numbers of a mixed table that deserve a warning


def read_data(
    path: Path,
    method: str,
    roles: Roles,
    reading: DataOptions,
    opening: Opening,
    progress: Progress,
    engine: Engine | None = None,
) -> Dataset:
    """Read the file or folder as a kind of records that the method takes.

    engine: works on the blocks of a file that is not read into memory.
    """
    kinds = get_method(method).modifier_type.kinds
    if "features" in kinds:
        if path.is_dir():
            raise UserError(
                f"{path} is a folder of media, and method '{method}' takes"
                f" features; make them with: withhold extract {quote(str(path))} -o"
                " DATA.parquet"
            )
        given = get_method(method).modifier_type.of_given_records
        if given and reading.resolved(path).is_large(path):
            spread = engine.map if engine is not None and engine.elsewhere else None
            return replace(reading.stream(path, roles.named, progress), spread=spread)
        return _read_features(path, method, reading, progress)
    media = open_as(path, [k for k in KINDS if k in kinds], **opening.given())
    require_kind(method, media.kind, str(path))
    if reading.features != DataOptions().features:
        raise UserError(f"method '{method}' changes media; --features means nothing to it")
    data = Dataset.of_media(
        media, group=reading.group, exclude=reading.exclude, multilabel=reading.multilabel
    )
    return data if reading.test is None else data.with_test_where(reading.test)


def warn_of_memory(table: Dataset, progress: Progress) -> None:
    """Warn of a mixed table that will need much memory: only files of features are streamed."""
    if table.x.size > _MANY:
        progress.say(
            f"warning: {table.name} is a mixed table of {len(table):,} rows, which is held in"
            f" memory: about {4 * table.x.nbytes / 2**30:.0f} GiB; release fewer rows at a time,"
            " or extract features of it"
        )


def _read_features(path: Path, method: str, reading: DataOptions, progress: Progress) -> Dataset:
    """Features, or a mixed table if the file has none and the method takes tables."""
    found = reading.resolved(path)
    if found.kind == "table" and "table" not in get_method(method).modifier_type.kinds:
        if reading.features in open_source(path, delimiter=reading.delimiter).schema.names:
            return reading.read(path, progress)  # one feature that is no list
        raise UserError(
            f"{path.name} has no features '{reading.features}', and method '{method}' cannot fit a"
            " mixed table: withhold release does, or --method exact; or name numeric columns with"
            " --features, e.g. --features 'f_*'"
        )
    return found.read(path, progress)


def read_given(data: Any, method: str, progress: Progress) -> Dataset:
    """The records that a user of Python gave."""
    if isinstance(data, Dataset):
        return data
    is_file = isinstance(data, str | Path) and not Path(data).is_dir()
    if is_file and "features" in get_method(method).modifier_type.kinds:
        return _read_features(Path(data), method, DataOptions(), progress)
    return Dataset.read(data, progress=progress)
