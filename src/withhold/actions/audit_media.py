"""Features for an audit of media."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from withhold.core.atomic import writing_to
from withhold.core.errors import UserError
from withhold.core.progress import Progress
from withhold.media.extract_features import plan
from withhold.media.to_file import extract_to
from withhold.records.readers import open_media


def features_for_audit(
    original: Path,
    release: Path | None,
    output: Path,
    *,
    extractor: str | None,
    settings: dict[str, Any],
    where: dict[str, Any],
    names: Path | None,
    progress: Progress,
) -> tuple[Path, Path | None]:
    """Datasets for an audit of media. Their features go to files in the folder of the audit.

    A release is extracted like its original. Labels in its own file names are ignored.
    """
    media = extractor is not None or original.is_dir()
    if not media and not (release is not None and release.is_dir()):
        return original, release
    if media and extractor is None:
        raise UserError(f"{original} is a folder of media; choose an extractor with --extractor")
    features: Path = original
    theirs: Any = None
    later = where | {"pattern": None}
    if media:
        features = output / "original.parquet"
        job = plan(original, extractor=extractor, settings=settings, **where)
        if release is not None:  # report a mistake before extracting
            theirs = open_media(release, job.extractor.kind, names=names, **later)
        _make(output)
        extract_to(job, features, progress=progress)
    if release is None:
        return features, None
    try:
        planned = plan(theirs if media else release, like=features, names=names, **later)
    except UserError as error:
        raise error if media else UserError(f"{release} is a folder of media: {error}") from error
    _make(output)
    extract_to(planned, output / "release.parquet", progress=progress)
    return features, output / "release.parquet"


def _make(folder: Path) -> None:
    with writing_to(folder):
        folder.mkdir(parents=True, exist_ok=True)
