"""The action `audit` on files: read them, attack the release, write evidence and report."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np

from withhold.actions.audit import Audit, audit
from withhold.actions.audit_media import AuditFiles, add_facts, add_pixels, features_for_audit
from withhold.actions.audit_request import AuditRequest
from withhold.actions.large_audit import whole_of
from withhold.actions.run_figures import log_audit
from withhold.audit.audit_settings import AuditSettings
from withhold.audit.lost_records import refuse_telling_loss
from withhold.audit.pairing import matching
from withhold.bundle.bundle import load_bundle
from withhold.certificate.claims import Certificate
from withhold.certificate.reading import read_certificate
from withhold.certificate.release_file import ReleaseCertificate, is_release_certificate
from withhold.core.errors import UserError
from withhold.core.key_file import as_key
from withhold.core.output_targets import check_folder_target, write_into
from withhold.core.progress import Progress, Silent
from withhold.core.run_log import RunLogs
from withhold.records.dataset import Dataset
from withhold.records.readers.collection import FILE
from withhold.records.table_features import attack_tables
from withhold.release.released_dataset import released_rows, with_rows
from withhold.report import render


def audit_files(request: AuditRequest, progress: Progress | None = None) -> Audit:
    """Audit the files, and write `audit.json` and `report.html` into the folder."""
    # The logs are opened first, so that a mistake is reported before the work.
    with RunLogs(request.log, "audit") as logs:
        found = _audited(request, progress or Silent())
        log_audit(logs, found)
    return found


def _audited(request: AuditRequest, progress: Progress) -> Audit:
    check_folder_target(request.output)
    settings = request.settings
    # Read first, so that a mistake is reported before the data is read.
    proved, key = _claims(settings, request.key)
    made = features_for_audit(
        request.original,
        request.release,
        request.output,
        extractor=request.media.extractor,
        settings=request.media.settings,
        where=request.media.opening.model_dump(),
        names=request.media.names,
        progress=progress,
    )
    made_here = made.release != request.release  # features that this audit extracted
    if made_here and request.again:
        raise UserError(
            "--again takes files of features: extract each draw with withhold extract --like, and"
            " audit the files of features"
        )
    if made.original == request.original and request.release is not None:
        request = request.model_copy(update={"reading": request.reading.resolved(request.original)})
    whole = None
    if made.original == request.original and not made_here:
        whole = whole_of(request, isinstance(proved, Certificate), progress)
    after: Dataset | None = None
    if whole is not None:
        before, after = whole.sample()
        if request.reading.test is not None:
            before = before.with_test_where(request.reading.test)
    else:
        before = request.reading.read(made.original, progress)
        before = add_pixels(before, made.original_media, settings.pixels, progress)
    if whole is None and made.release is not None:
        after = _read(request, made.release, before, made, progress, rows=request.rows)
        if made_here and not request.same_order and settings.id is None:
            settings = settings.over(id=_shared_names(before, after))
        if settings.id is not None:
            before = _matched(before, after, settings, progress)
        if settings.id == FILE and made_here and request.media.names is not None:
            # The names came from the list beside the release: they did not leave with it.
            after = _paired_by_name(before, after)
            settings = settings.model_copy(update={"id": None})
    if before.tabular and after is not None:
        if request.again:
            raise UserError("--again takes files of features, and these are mixed tables")
        apart = [*settings.suppress, *([settings.id] if settings.id else [])]
        before, after = attack_tables(before, after, apart)
    again = [_read(request, path, before, made, progress) for path in request.again]
    with request.of_engine.open(progress) as engine:
        found = audit(
            before,
            after,
            settings.suppress,
            settings.preserve,
            joint=settings.joint,
            fail_if=settings.fail_if or None,
            certificate=proved,
            key=key,
            again=again,
            quick=settings.quick,
            id=settings.id,
            same_order=request.same_order,
            average=settings.average,
            seed=settings.seed,
            workers=request.of_engine.workers,
            engine=engine,
            whole=whole,
            progress=progress,
        )
    page = render(found, title=f"Audit of {(request.release or request.original).name}")
    contents = {"audit.json": found.json_bytes(), "report.html": page.encode()}
    write_into(request.output, contents)
    return found


def _claims(
    settings: AuditSettings, given: Path | None
) -> tuple[Certificate | ReleaseCertificate | None, bytes | None]:
    """The certificate, and the key that checks its signature.

    The certificate is a file, or a bundle, which also contains the key.
    """
    key = None if given is None else as_key(given)
    if settings.certificate is None:
        if key is not None:
            raise UserError(
                "--key checks the signature of a certificate; name one with --certificate"
            )
        return None, None
    path = Path(settings.certificate)
    if path.is_dir():
        return read_certificate(path), key or load_bundle(path).modifier.key
    if is_release_certificate(path):
        return ReleaseCertificate.from_json(path), key
    return read_certificate(path), key


def _read(
    request: AuditRequest,
    path: Path,
    before: Dataset,
    made: AuditFiles,
    progress: Progress,
    *,
    rows: Path | None = None,
) -> Dataset:
    """A release, its columns in the order of the original, with the list of its rows."""
    features = request.release_features or request.reading.features
    table: Literal["table"] | None = "table" if before.tabular else None
    found = Dataset.read(path, features=features, kind=table, progress=progress)
    found = _same_columns(before, found)
    made_here = made.release != request.release
    if made_here:
        found = add_pixels(found, made.release_media, request.settings.pixels, progress)
        found = add_facts(found, made.release_media, progress)
        # Drop our note on how it was made: it is not part of the release.
        found = replace(found, schema=found.schema.remove_metadata())
    if request.same_order or request.settings.id:
        return found
    if not made_here:
        return with_rows(found, path, rows)
    assert request.release is not None
    if request.release.is_dir():
        return found  # files have names instead of rows
    return with_rows(found, request.release, rows, original=request.original)


def _shared_names(before: Dataset, after: Dataset) -> str | None:
    """The column of file names, if both sides have one."""
    both = FILE in before.table.column_names and FILE in after.table.column_names
    return FILE if both else None


def _paired_by_name(before: Dataset, after: Dataset) -> Dataset:
    """The release without the names of files, and with the original row of each of its rows."""
    place = {name: row for row, name in enumerate(before.table[FILE].to_pylist())}
    rows = [place.get(name, -1) for name in after.table[FILE].to_pylist()]
    if -1 in rows or len(set(rows)) != len(before):
        raise UserError(
            f"the list of names does not say which file of {before.name} each file of"
            f" {after.name} was; give the list of this release with --names"
        )
    return released_rows(after.without([FILE]), np.array(rows, np.int64))


def _matched(
    before: Dataset, after: Dataset, settings: AuditSettings, progress: Progress
) -> Dataset:
    """The records of the original that are in the release."""
    assert settings.id is not None
    kept = matching(before, after, settings.id)
    if len(kept) < len(before):
        left = set(kept.table[settings.id].to_pylist())
        there = np.array([value in left for value in before.table[settings.id].to_pylist()])
        refuse_telling_loss(before, there, settings.suppress)
        progress.say(
            f"warning: {len(before) - len(kept):,} of {len(before):,} records of"
            f" {before.name} are not in {after.name}; only the others are audited"
        )
    return kept


def _same_columns(before: Dataset, after: Dataset) -> Dataset:
    """The release with its wide feature columns in the order of the original, by name."""
    columns, released = before.layout.columns, after.layout.columns
    if columns != released and set(columns) == set(released):
        x = after.x[:, [released.index(c) for c in columns]]
        return replace(after.with_features(x), path=after.path)  # it is still this file
    return after
