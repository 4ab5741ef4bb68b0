"""The action `release`: the only way to write a release, for every kind of record."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from withhold.actions.engine_options import EngineOptions
from withhold.actions.fit import fit_bundle
from withhold.actions.release_audit import audit_of
from withhold.actions.request import DataOptions, Opening, Request
from withhold.bundle.bundle import Bundle, load_bundle
from withhold.certificate.release_file import certificate_path
from withhold.core.errors import UserError
from withhold.core.output_targets import check_target
from withhold.core.progress import Progress, Silent
from withhold.media.text_columns import ENDING, open_with_texts, with_texts
from withhold.methods.features.exact import ExactModifier
from withhold.records.dataset import Dataset
from withhold.records.readers import Source, open_media, open_source
from withhold.records.roles import Roles
from withhold.records.writers import check_sink
from withhold.records.writers.row_list import rows_path
from withhold.release.media_stream import release_media
from withhold.release.modify import check_shape
from withhold.release.release_files import Written, codes_path
from withhold.release.released_dataset import ReleasedDataset, release_dataset
from withhold.release.stream import release_features
from withhold.release.wishes import Wishes


class FeatureOptions(Request):
    """Options of a release of features."""

    features: str | None = None  # None: those of the fit
    shape: str = "code"


class MediaOptions(Opening):
    """Options of a release of media."""

    keep_names: bool = False
    strict: bool = False
    to: dict[str, str] = Field(default_factory=dict)  # new classes that the user chose


class ReleaseRequest(Request):
    """A bundle, the records to release with it, and where to write the release.

    By default media are opened like those of the fit.
    """

    bundle: Path
    data: Path
    output: Path
    wishes: Wishes = Wishes()
    of_features: FeatureOptions = FeatureOptions()
    of_media: MediaOptions = MediaOptions()
    of_engine: EngineOptions = EngineOptions()
    key: Path | None = None


def release(
    bundle: Any,
    data: Any = None,
    *,
    suppress: Sequence[str] | str = (),
    preserve: Sequence[str] | str = (),
    config: dict[str, Any] | None = None,
    seed: int = 0,
    key: bytes | str | Path | None = None,
    to: Mapping[str, str] | None = None,
    keep: Sequence[str] = (),
    drop: Sequence[str] = (),
    keep_labels: bool = False,
    same_order: bool = False,
    hold_back: float | str = 0.0,
    text: Literal["minilm"] | None = None,
    progress: Progress | None = None,
) -> ReleasedDataset:
    """The records that may leave, as a Dataset; `write(path)` writes them.

    `release("people.csv", suppress="sex")` fits method `exact` on these very records and releases
    them: `.certificate` says what is proved, and `.audit()` attacks them. The data is a file, a
    frame, or a Dataset; files without features are mixed tables. With `text="minilm"` the sentence
    embedding of every free-text column NAME helps to choose the codes, and each row gets the mean
    embedding of its code as NAME_embedding. The text itself never leaves. With `hold_back=0.1` a
    random tenth of the rows stays, so that whoever knows the labels of others cannot count who is
    missing.

    `release(bundle, data)` releases records with the Bundle of an earlier fit, or its folder. See
    `Bundle.release` for the other options.
    """
    if data is None:
        return _release_given(
            bundle, Roles.of(suppress, preserve), config, seed, key, text, progress,
            Wishes.of(
                keep=keep, drop=drop, keep_labels=keep_labels, same_order=same_order,
                hold_back=hold_back,
            ),
        )  # fmt: skip
    if suppress or preserve or config or text or hold_back:
        raise UserError(
            "a bundle has its roles and settings already; leave out suppress, preserve, config,"
            " text and hold_back"
        )
    loaded = bundle if isinstance(bundle, Bundle) else load_bundle(bundle)
    return loaded.release(
        data if isinstance(data, Dataset) else Dataset.read(data, progress=progress),
        to=to,
        keep=keep,
        drop=drop,
        keep_labels=keep_labels,
        same_order=same_order,
        progress=progress,
    )


def _release_given(
    data: Any,
    roles: Roles,
    config: dict[str, Any] | None,
    seed: int,
    key: bytes | str | Path | None,
    text: Literal["minilm"] | None,
    progress: Progress | None,
    wishes: Wishes,
) -> ReleasedDataset:
    """Fit `exact` on these records, and release them."""
    if isinstance(data, Bundle):
        raise UserError("give the records to release with the bundle: release(bundle, data)")
    apart = (*wishes.keep, *wishes.drop)
    if isinstance(data, Dataset):
        if text is not None:
            raise UserError("text is for a file or a frame; this is a Dataset already")
        original = replace(data, exclude=data.exclude | set(apart))
    elif isinstance(data, str | Path):
        reading = DataOptions(exclude=apart, text=text).resolved(Path(data))
        original = reading.read(Path(data), progress or Silent())
    else:
        source = open_source(data)
        source = source if text is None else with_texts(source, text, progress)
        original = Dataset.read(source, kind="table", exclude=apart, progress=progress)
    fitted = fit_bundle(
        original, roles, method="exact", config=config, seed=seed, key=key, progress=progress
    )
    made = release_dataset(fitted, original, wishes, progress=progress)
    attack = audit_of(original, roles.suppress, roles.preserve, fitted.modifier.key)
    return replace(made, attack=attack)


def release_files(
    request: ReleaseRequest, progress: Progress | None = None
) -> tuple[Bundle, Written]:
    """Write the release of a file of features, or of a folder or table of media."""
    output = request.output
    if output.name in ("", ".."):  # `.` has a name only when resolved
        output = Path(os.path.realpath(output))
        request = request.model_copy(update={"output": output})
    check_target(output, request.data)
    bundle = load_bundle(request.bundle, key=request.key)
    progress = progress or Silent()
    if bundle.kind in ("features", "table"):
        _refuse(bundle, request, request.of_media, "features")
        return bundle, _features(bundle, request, progress)
    _refuse(bundle, request, request.of_features, "media")
    _refuse(bundle, request, request.of_engine, "media")
    bundle = bundle.directed(request.of_media.to)
    return bundle, _media(bundle, request, progress)


def _refuse(bundle: Bundle, request: ReleaseRequest, unused: Request, changes: str) -> None:
    """Refuse options that do not apply to this bundle."""
    for name in unused.model_fields_set:
        if getattr(unused, name) != type(unused).model_fields[name].get_default(
            call_default_factory=True
        ):
            option = "--as" if name == "shape" else f"--{name.replace('_', '-')}"
            raise UserError(
                f"bundle {request.bundle} changes {changes}; {option} does not apply to it"
            )


def _features(bundle: Bundle, request: ReleaseRequest, progress: Progress) -> Written:
    data, output = request.data, request.output
    check_sink(output)
    if data.is_dir():
        raise UserError(
            f"{data} is a folder of media, and {request.bundle} changes features; make them with:"
            f" withhold extract {data} --like DATA -o FEATURES, where DATA is the data of the fit"
        )
    shape = check_shape(bundle, request.of_features.shape)
    source = _opened(bundle, data, progress)
    for beside in (certificate_path(output), rows_path(output), codes_path(output)):
        check_target(beside, data, output)
    with request.of_engine.open(progress) as engine:
        return release_features(
            bundle,
            source,
            output,
            request.wishes,
            features=request.of_features.features or bundle.feature_spec,
            progress=progress,
            shape=shape,
            engine=engine,
        )


def _opened(bundle: Bundle, data: Path, progress: Progress) -> Source:
    """The file; with the embeddings of its free text if the bundle was fitted with them."""
    source = open_source(data)
    rows = bundle.modifier.rows if isinstance(bundle.modifier, ExactModifier) else None
    if rows is None:
        return source
    lost = [
        c.name.removesuffix(ENDING)
        for c in rows.encoder.columns
        if c.kind == "vector" and c.name.endswith(ENDING) and c.name not in source.schema.names
    ]
    if not lost or not set(lost) <= set(source.schema.names):
        return source
    return open_with_texts(data, "minilm", progress=progress)


def _media(bundle: Bundle, request: ReleaseRequest, progress: Progress) -> Written:
    data, output, how = request.data, request.output, request.of_media
    assert bundle.kind != "features"
    assert bundle.kind != "table"
    # By default as in the fit: a label that is read under another name would be released.
    other = "column" if data.is_dir() else "pattern"  # does not apply to these media
    known = {"pattern", "column", "rate"} - {other}  # ignore anything else in the bundle
    opened = {k: v for k, v in bundle.input["opened"].items() if k in known}
    opened |= {k: v for k, v in how.given().items() if k in (*known, other, "allow_outside")}
    return release_media(
        bundle,
        Dataset.of_media(open_media(data, bundle.kind, stills=False, **opened)),
        output,
        wishes=request.wishes,
        keep_names=how.keep_names,
        strict=how.strict,
        progress=progress,
    )
