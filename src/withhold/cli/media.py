"""What `fit` and `transform` do where the data are media."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from withhold.cli.options import check_target, choose_progress, print_json
from withhold.cli.released import said, tell_columns
from withhold.core.errors import UserError, did_you_mean, listing

if TYPE_CHECKING:
    from withhold.bundle.media import MediaBundle
    from withhold.core.progress import Progress
    from withhold.records.readers import Collection
    from withhold.records.roles import Roles
    from withhold.records.samples import Kind
    from withhold.release import Wishes


_OTHER = "{} holds a bundle of another fit; choose another -o, or add --overwrite"


def is_classical(method: str) -> bool:
    """Whether a method changes media."""
    from withhold.methods.classical import CLASSICAL

    return method in CLASSICAL


def check_method(method: str) -> None:
    """Refuse what is neither a method for features nor an anonymiser of media."""
    from withhold.methods import method_names
    from withhold.methods.classical import CLASSICAL

    known = [*method_names(), *CLASSICAL]
    if method not in known:
        raise UserError(
            f"there is no method '{method}'{did_you_mean(method, known)}"
            f" (for features: {listing(method_names(), most=20)}; for media: {listing(CLASSICAL)})"
        )


def make_media_bundle(
    media: Path,
    roles: Roles,
    method: str,
    settings: dict[str, Any],
    seed: int,
    *,
    key: bytes | None,
    target: Path,
    overwrite: bool,
    where: dict[str, Any],
    allow_outside: bool = False,
) -> MediaBundle:
    """Fit an anonymiser, and save it where nothing else is lost by that."""
    from withhold.bundle.files import is_bundle
    from withhold.bundle.media import fit_media, load_media_bundle, save_media_bundle
    from withhold.methods.classical import classical_config

    config = classical_config(method, settings)  # a mistake here costs no reading of media
    # Not part of `where`, which the bundle keeps: a bundle may not give leave for other tables.
    collection = open_either(media, method, where | {"allow_outside": allow_outside})
    old = None
    if is_bundle(target) and not overwrite:
        with suppress(UserError):
            old = load_media_bundle(target, key=key)
        if old is None:
            raise UserError(_OTHER.format(target))
    made = fit_media(
        collection,
        roles,
        method=method,
        config=config.model_dump(),
        seed=seed,
        key=key if old is None else old.modifier.key,
        where=where,
    )
    if old is None:
        save_media_bundle(made, target)
        return made
    same = (
        old.method == method
        and old.modifier.settings() == made.modifier.settings()
        and (old.roles, old.seed, old.input) == (made.roles, made.seed, made.input)
    )
    if not same:
        raise UserError(_OTHER.format(target))
    return old


def tell_media_bundle(
    made: MediaBundle,
    output: Path,
    media: Path,
    *,
    quiet: bool,
    as_json: bool,
) -> None:
    """Say what was fitted."""
    from withhold.bundle.files import bundle_digest

    if as_json:
        print_json(
            {
                "bundle": str(output),
                "sha256": bundle_digest(output),
                "method": made.method,
                "kind": made.kind,
                "config": made.modifier.settings(),
                "seed": made.seed,
            }
        )
    elif not quiet:
        typer.echo(
            f"{output}: {made.method} for {made.input['items']:,} {made.kind}s; next:"
            f" withhold transform {output} {media} -o RELEASE"
        )


def open_either(media: Path, method: str, where: dict[str, Any]) -> Collection:
    """The media, as the first kind of the method that they can be read as and look like."""
    from withhold.methods.classical import CLASSICAL, is_for
    from withhold.records.readers import open_media
    from withhold.records.samples import KINDS

    kinds = CLASSICAL[method].kinds
    found: dict[Kind, Collection] = {}
    mistakes: list[UserError] = []
    for kind in (*kinds, *(k for k in KINDS if k not in kinds)):
        try:
            found[kind] = open_media(media, kind, stills=False, **where)
        except UserError as error:
            mistakes.append(error)
            continue
        if kind in kinds and looks_like(found[kind]):
            return found[kind]
    for kind in kinds:
        if kind in found:
            return found[kind]  # what is wrong with it is said of every medium
    for kind, other in found.items():
        if media.is_dir() or looks_like(other):
            raise UserError(is_for(method, f"{media} holds {kind}s"))
    raise mistakes[0]


def looks_like(collection: Collection) -> bool:
    """Whether the first medium that says what it is says the collection's kind.

    A table of paths or bytes opens as any kind.
    """
    from itertools import islice

    from withhold.media.cutting import decode
    from withhold.records.samples import BadMedia, kind_of

    for item in islice(collection.items(), 16):
        named = kind_of(item.name)
        if named is not None:
            return named == collection.kind
        if isinstance(item.content, BadMedia):
            continue
        try:
            decode(item.content, collection.kind)
        except BadMedia:
            continue
        return True
    return False


def transform_media(
    folder: Path,
    media: Path,
    output: Path,
    *,
    where: dict[str, Any],
    allow_outside: bool,
    wishes: Wishes,
    keep_names: bool,
    strict: bool,
    key: Path | None,
    quiet: bool,
    as_json: bool,
) -> None:
    """Write a release of media."""
    from withhold.bundle.media import load_media_bundle
    from withhold.media.folder_sink import names_path
    from withhold.media.sinks import is_of_files
    from withhold.media.to_file import list_skipped
    from withhold.records.files.rows import rows_path
    from withhold.records.readers import open_media
    from withhold.release import Written
    from withhold.release.media import decide_media
    from withhold.release.media_stream import release_media

    if output.name in ("", ".."):  # `.` has a name only in full
        output = Path(os.path.realpath(output))
    check_target(output, media)
    bundle = load_media_bundle(folder, key=key)
    # As in the fit, where nothing else is said: a label that is read under another name gets out.
    other = "column" if media.is_dir() else "pattern"  # of the fit, but not of these media
    known_ways = {"pattern", "column", "rate"} - {other}  # whatever else a bundle says
    fitted = {k: v for k, v in bundle.input["where"].items() if k in known_ways}
    where = fitted | {k: v for k, v in where.items() if v is not None}
    collection = open_media(media, bundle.kind, stills=False, allow_outside=allow_outside, **where)
    files = is_of_files(collection)
    decision = decide_media(bundle, collection, wishes, keep_names=keep_names)
    progress = choose_progress(quiet)
    records, skipped = release_media(
        bundle,
        collection,
        output,
        wishes=wishes,
        decision=decision,
        keep_names=keep_names,
        strict=strict,
        progress=progress,
    )
    rows = None if files or wishes.same_order else rows_path(output)
    written = Written(records, decision, decision.leaving, wishes.same_order, rows, None, None)
    listed = list_skipped(skipped, output.with_name(f"{output.name}.left-out.csv"))
    if as_json:
        print_json(
            {"release": str(output), "records": records}
            | said(written)
            | {
                "skipped": len(skipped),
                "left_out": None if listed is None else str(listed),
                "names": str(names_path(output)) if files and not keep_names else None,
            }
        )
    elif not quiet:
        tell_columns(f"{output}: {records:,} {bundle.kind}s", written, files=files)
        if files and not keep_names:
            typer.echo(f"{names_path(output)}: which file became which; it stays in the house")
        if skipped:
            typer.echo(f"{len(skipped):,} could not be released, see {listed}")


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
    """Datasets for an audit that was given media: features go to files in its folder.

    A release is extracted as its original was, whatever its own names say of labels.
    """
    from withhold.media.extract import plan
    from withhold.media.to_file import extract_to
    from withhold.records.readers import open_media

    media = extractor is not None or original.is_dir()
    if not media and not (release is not None and release.is_dir()):
        return original, release
    if media and extractor is None:
        raise UserError(f"{original} is a folder of media; name the features with --extractor")
    features: Path = original
    theirs: Any = None
    later = where | {"pattern": None}
    if media:
        features = output / "original.parquet"
        job = plan(original, extractor=extractor, settings=settings, **where)
        if release is not None:  # a mistake here costs no extraction
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
    from withhold.core.atomic import writing_to

    with writing_to(folder):
        folder.mkdir(parents=True, exist_ok=True)
