"""What `fit` and `transform` do where the data are media."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from withhold.cli.options import check_dataset_target, check_target, choose_progress, print_json
from withhold.errors import UserError, did_you_mean

if TYPE_CHECKING:
    from withhold.media.collect import Collection
    from withhold.media.samples import Kind
    from withhold.media_bundle import MediaBundle
    from withhold.progress import Progress
    from withhold.roles import Roles


def is_classical(method: str) -> bool:
    """Whether a method changes media."""
    from withhold.methods.classical import CLASSICAL

    return method in CLASSICAL


def make_media_bundle(
    media: Path,
    roles: Roles,
    method: str,
    settings: dict[str, Any],
    seed: int,
    *,
    target: Path,
    overwrite: bool,
    where: dict[str, Any],
) -> MediaBundle:
    """Fit an anonymiser, and save it where nothing else is lost by that."""
    from withhold.bundle_files import is_bundle
    from withhold.media_bundle import fit_media, load_media_bundle, save_media_bundle
    from withhold.methods.classical import CLASSICAL, classical_config

    config = classical_config(method, settings)  # a mistake here costs no reading of media
    collection = open_either(media, CLASSICAL[method].kinds, where)
    made = fit_media(collection, roles, method=method, config=config.model_dump(), seed=seed)
    if is_bundle(target) and not overwrite:
        try:
            old = load_media_bundle(target)
            same = (
                old.method == method
                and old.modifier.settings() == made.modifier.settings()
                and (old.roles, old.seed, old.input) == (made.roles, made.seed, made.input)
            )
        except (UserError, KeyError):
            same = False
        if not same:
            raise UserError(
                f"{target} holds a bundle of another fit; choose another -o, or add --overwrite"
            )
        return made
    save_media_bundle(made, target)
    return made


def tell_media_bundle(
    made: MediaBundle, output: Path, media: Path, *, quiet: bool, as_json: bool
) -> None:
    """Say what was fitted."""
    from withhold.bundle_files import bundle_digest

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


def open_either(media: Path, kinds: tuple[Kind, ...], where: dict[str, Any]) -> Collection:
    """The media, as the first of `kinds` that they can be read as."""
    from withhold.media.collect import open_media

    first: UserError | None = None
    for kind in kinds:
        try:
            return open_media(media, kind, stills=False, **where)
        except UserError as error:
            first = first or error
    raise first or UserError(f"{media} cannot be read")


def transform_media(
    folder: Path,
    media: Path,
    output: Path,
    *,
    where: dict[str, Any],
    drop: list[str],
    keep_labels: bool,
    keep_names: bool,
    strict: bool,
    quiet: bool,
    as_json: bool,
) -> None:
    """Write a release of media."""
    from withhold.media.collect import open_media
    from withhold.media.sinks import FolderSink, names_path, open_media_sink
    from withhold.media.to_file import list_skipped
    from withhold.media_bundle import load_media_bundle
    from withhold.media_streaming import release_media

    check_target(output, media)
    bundle = load_media_bundle(folder)
    collection = open_media(media, bundle.kind, stills=False, **where)
    names = collection.schema.names
    for column in drop:
        if column not in names:
            raise UserError(
                f"column '{column}' is not in {collection.name}{did_you_mean(column, names)}"
            )
    gone = {*drop, *(() if keep_labels else bundle.roles.suppress)}
    files = isinstance(open_media_sink(collection, output, {}, frozenset()), FolderSink)
    if not files:
        check_dataset_target(output, media)
    progress = choose_progress(quiet)
    records, skipped = release_media(
        bundle,
        collection,
        output,
        drop=frozenset(gone),
        keep_names=keep_names,
        strict=strict,
        progress=progress,
    )
    listed = list_skipped(skipped, output.with_name(f"{output.name}.left-out.csv"))
    left_out = [c for c in names if c in gone]
    if as_json:
        print_json(
            {
                "release": str(output),
                "records": records,
                "dropped": left_out,
                "skipped": len(skipped),
                "left_out": None if listed is None else str(listed),
                "names": str(names_path(output)) if files and not keep_names else None,
            }
        )
    elif not quiet:
        without = f" (left out: {', '.join(left_out)})" if left_out else ""
        typer.echo(f"{output}: {records:,} {bundle.kind}s{without}")
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
    from withhold.atomic import writing_to
    from withhold.media.extract import plan
    from withhold.media.to_file import extract_to

    media = extractor is not None or original.is_dir()
    if not media and not (release is not None and release.is_dir()):
        return original, release
    if media and extractor is None:
        raise UserError(f"{original} is a folder of media; name the features with --extractor")
    with writing_to(output):
        output.mkdir(parents=True, exist_ok=True)
    features = original
    if media:
        features = output / "original.parquet"
        job = plan(original, extractor=extractor, settings=settings, **where)
        extract_to(job, features, progress=progress)
    if release is None or not (media or release.is_dir()):
        return features, release
    changed = output / "release.parquet"
    where = where | {"pattern": None}
    extract_to(plan(release, like=features, names=names, **where), changed, progress=progress)
    return features, changed
