"""The action `release`: given records to a folder that can be handed over, with its proof.

It reads, checks what can be had, fits `exact`, releases these records, certifies and audits them.

    DIR/NAME.csv           the release, in the format that came in
    DIR/certificate.json   what is proved about it
    DIR/audit.json         what retrained attackers found
    DIR/report.html        the same as a page
    DIR/README.md          the data card

The bundle with the key, the list of rows and the report with exact figures go elsewhere: they stay
in the house.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass, replace
from pathlib import Path

from withhold.actions.audit import Audit, audit
from withhold.actions.fit import FitRequest, fit_to
from withhold.actions.given_request import CARD, CERTIFICATE, GivenRequest, check_request
from withhold.actions.request import DataOptions
from withhold.audit.handed_over import handed_over
from withhold.audit.whole_release import WholeRelease
from withhold.bundle.bundle import Bundle
from withhold.certificate.release_file import ReleaseCertificate, certificate_path
from withhold.core.atomic import replace_folder, write_bytes, writing_to
from withhold.core.progress import Progress, Silent
from withhold.media.folder_sink import DATE
from withhold.records.dataset import Dataset
from withhold.records.table_features import attack_tables
from withhold.records.writers.row_list import find_rows
from withhold.release.engines import Engine
from withhold.release.release_files import Written
from withhold.release.released_dataset import with_rows
from withhold.release.stream import release_features
from withhold.report.data_card import data_card
from withhold.report.page import render


@dataclass(frozen=True)
class Given:
    """The folder that was written, and what is in it."""

    folder: Path
    release: Path
    bundle: Path
    rows: Path | None
    report: Path  # with all figures; the one in the folder has them in steps
    written: Written
    certificate: ReleaseCertificate
    audit: Audit

    @property
    def passed(self) -> bool:
        """Whether the gate was passed, if there was one."""
        return self.audit.gate is None or self.audit.gate.passed


def release_given(request: GivenRequest, progress: Progress | None = None) -> Given:
    """Make the folder, or resume where an interrupted run stopped."""
    progress = progress or Silent()
    target = Path(os.path.realpath(request.output))
    reading = check_request(request, target)
    private = request.bundle or target.with_name(f"{target.name}.bundle")
    work = target.with_name(f".{target.name}.partial")
    try:
        with request.of_engine.open(progress) as engine:
            bundle = _fitted(request, reading, private, engine, progress)
            with writing_to(target):
                shutil.rmtree(work, ignore_errors=True)
                work.mkdir(parents=True)
            file = work / request.data.name
            written = release_features(
                bundle,
                reading.open(request.data, progress),
                file,
                request.wishes,
                features=bundle.feature_spec,
                progress=progress,
                engine=engine,
            )
        made = _audited(request, reading, bundle, written, file, private, progress)
        replace_folder(work, target)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return replace(made, folder=target, release=target / made.release.name)


def _fitted(
    request: GivenRequest,
    reading: DataOptions,
    private: Path,
    engine: Engine,
    progress: Progress,
) -> Bundle:
    """The bundle of these records, fitted now or by an interrupted run."""
    asked = FitRequest(
        data=request.data,
        output=private,
        suppress=request.suppress,
        preserve=request.preserve,
        method="exact",
        config=request.config,
        seed=request.seed,
        reading=reading,
        key=request.key,
        overwrite=request.overwrite,
    )
    return fit_to(asked, progress, engine=engine).bundle


def _audited(
    request: GivenRequest,
    reading: DataOptions,
    bundle: Bundle,
    written: Written,
    file: Path,
    private: Path,
    progress: Progress,
) -> Given:
    """Audit the release in `file`, and write all other files of the folder beside it."""
    work = file.parent
    beside = certificate_path(file)
    certificate = ReleaseCertificate.from_json(beside)
    before, after, whole = _both(request, reading, bundle, file, progress)
    found = audit(
        before,
        after,
        bundle.roles.suppress,
        bundle.roles.preserve,
        certificate=certificate,
        key=bundle.modifier.key,
        fail_if=request.fail_if or None,
        quick=request.quick,
        same_order=request.wishes.same_order,
        seed=request.seed,
        whole=whole,
        progress=progress,
    )
    rows = find_rows(file)
    kept = None
    if rows is not None:
        kept = private.with_name(f"{private.name}.{rows.name}")
        with writing_to(kept):
            os.replace(rows, kept)
    os.replace(beside, work / CERTIFICATE)
    leaves = handed_over(found)
    page = render(leaves, title=f"Release of {request.data.name}")
    own = private.with_name(f"{private.name}.report.html")
    # It shows records of the original, so it is the owner's alone.
    exact = render(found, title=f"Release of {request.data.name}").encode()
    write_bytes(own, exact, private=True)
    for name, content in (
        ("audit.json", leaves.json_bytes()),
        ("report.html", page.encode()),
        (CARD, data_card(bundle, certificate, leaves, file).encode()),
    ):
        (work / name).write_bytes(content)
    for path in work.iterdir():
        os.utime(path, (DATE, DATE))
    return Given(request.output, file, private, kept, own, written, certificate, found)


def _both(
    request: GivenRequest,
    reading: DataOptions,
    bundle: Bundle,
    file: Path,
    progress: Progress,
) -> tuple[Dataset, Dataset, WholeRelease | None]:
    """The original, and the release as its receiver reads it, ready for an audit.

    Of a large file these are a sample, and the whole has the labels of all rows.
    """
    plain = DataOptions(kind=reading.kind, delimiter=reading.delimiter, features=reading.features)
    if reading.is_large(request.data):
        whole = WholeRelease.of(
            reading.stream(request.data, bundle.roles.named, progress),
            plain.stream(file, (), progress),
            bundle.roles.suppress,
            same_order=request.wishes.same_order,
            seed=request.seed,
        )
        with progress.stage(f"reading {len(whole.rows):,} rows to attack", None):
            some, made = whole.sample()
        if reading.test is not None:
            some = some.with_test_where(reading.test)
        return some, made, whole
    before = reading.read(request.data, progress)
    after = plain.read(file, progress)
    if before.tabular:
        before, after = attack_tables(before, after, bundle.roles.suppress)
    if not request.wishes.same_order:
        after = with_rows(after, file)
    return before, after, None
