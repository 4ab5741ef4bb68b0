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
from typing import Any

from pydantic import Field

from withhold.actions.audit import Audit, audit
from withhold.actions.engine_options import EngineOptions
from withhold.actions.fit import FitRequest, Fitted, fit_to
from withhold.actions.request import DataOptions, Request
from withhold.audit.gate import parse_gate
from withhold.audit.handed_over import handed_over
from withhold.audit.whole_release import WholeRelease
from withhold.bundle.bundle import Bundle
from withhold.certificate.release_file import ReleaseCertificate, certificate_path
from withhold.core.atomic import replace_folder, write_bytes, writing_to
from withhold.core.errors import UserError
from withhold.core.output_targets import check_folder_target, check_target
from withhold.core.progress import Progress, Silent
from withhold.media.folder_sink import DATE
from withhold.records.dataset import Dataset
from withhold.records.readers import open_source
from withhold.records.roles import Roles
from withhold.records.table_features import attack_tables
from withhold.records.writers.row_list import find_rows
from withhold.release.held_back import refuse_people
from withhold.release.release_files import Written
from withhold.release.released_dataset import with_rows
from withhold.release.stream import release_features
from withhold.release.wishes import Wishes
from withhold.report.data_card import data_card
from withhold.report.page import render

CERTIFICATE, CARD = "certificate.json", "README.md"
_FEWEST = 48  # rows; an interval needs 10 in the test part
_SMALL = 2**16  # bytes of a file that may hold so few rows


class GivenRequest(Request):
    """Records to release, roles, and where to write the folder and the bundle."""

    data: Path
    output: Path
    suppress: tuple[str, ...] | str
    preserve: tuple[str, ...] | str = ()
    bundle: Path | None = None  # default: OUTPUT.bundle beside the folder
    config: dict[str, Any] = Field(default_factory=dict)
    seed: int = Field(0, ge=0)
    reading: DataOptions = DataOptions()
    wishes: Wishes = Wishes()
    fail_if: tuple[str, ...] = ()
    quick: bool = False
    of_engine: EngineOptions = EngineOptions()
    key: Path | None = None
    overwrite: bool = False


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
    _check_places(request, target)
    private = request.bundle or target.with_name(f"{target.name}.bundle")
    reading = _reading(request)
    _check_gate(request, reading)
    _check_size(request, reading)
    refuse_people(request.wishes, people_draw=request.config.get("per") == "person")
    if request.wishes.hold_back and reading.is_large(request.data):
        raise UserError(
            f"{request.data.name} is too large to hold rows back: its audit reads it in blocks;"
            " leave out --hold-back"
        )
    fitted = fit_to(
        FitRequest(
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
        ),
        progress,
    )
    work = target.with_name(f".{target.name}.partial")
    with writing_to(target):
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir(parents=True)
    try:
        made = _make(request, reading, fitted, work, private, progress)
        replace_folder(work, target)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return replace(made, folder=target, release=target / made.release.name)


def _check_places(request: GivenRequest, target: Path) -> None:
    check_folder_target(target)
    check_target(target, request.data)
    if request.data.is_dir():
        raise UserError(
            f"{request.data} is a folder of media: make features of them with withhold extract, or"
            " use withhold fit and withhold transform with a method for media"
        )
    if Path(os.path.realpath(request.data)).is_relative_to(target):
        raise UserError(
            f"{request.data} lies inside {request.output}, which would be replaced; choose another"
            " -o"
        )
    if target.exists() and any(target.iterdir()):
        ours = (target / CARD).is_file() and (target / CERTIFICATE).is_file()
        if not (ours and request.overwrite):
            way_out = "add --overwrite to replace it" if ours else "choose another -o"
            what = "holds another release" if ours else "is not empty"
            raise UserError(f"folder {request.output} {what}; {way_out}")
    inside = request.bundle is not None and Path(os.path.realpath(request.bundle)).is_relative_to(
        target
    )
    if inside:
        raise UserError(
            f"--bundle {request.bundle} lies inside {request.output}, which is handed over: the"
            " bundle holds the key; choose a folder elsewhere"
        )


def _reading(request: GivenRequest) -> DataOptions:
    """How to read the data: as features if it has some, otherwise as a mixed table."""
    reading = request.reading
    roles, wishes = Roles.of(request.suppress, request.preserve), request.wishes
    resolved = reading.resolved(request.data)
    for name in (*wishes.keep, *wishes.drop):
        if name in roles.suppress and name in wishes.keep:
            raise UserError(f"column '{name}' is suppressed, so it cannot leave; do not --keep it")
        if name in roles.preserve and resolved.kind == "table":
            raise UserError(
                f"column '{name}' is preserved, so its values are made for every row; leave it out"
                " of --keep and --drop, or of --preserve"
            )
    # An excluded column is no attribute, so those with a role stay: they are no features anyway.
    apart = [n for n in (*wishes.keep, *wishes.drop) if n not in roles.named]
    exclude = tuple(dict.fromkeys((*reading.exclude, *apart)))
    return resolved.model_copy(update={"exclude": exclude})


def _check_gate(request: GivenRequest, reading: DataOptions) -> None:
    """Refuse a gate that cannot be read, before the fit. The audit checks the rest."""
    if request.fail_if:
        roles = Roles.of(request.suppress, request.preserve)
        columns = open_source(request.data, delimiter=reading.delimiter).schema.names
        parse_gate(request.fail_if, [*columns, ",".join(roles.suppress), *roles.named])


def _check_size(request: GivenRequest, reading: DataOptions) -> None:
    """Refuse a table that is too small to be audited, before the fit."""
    if request.data.stat().st_size > _SMALL:  # opening a large file again takes time
        return
    rows = open_source(request.data, delimiter=reading.delimiter).num_rows
    leave = rows - round(request.wishes.hold_back * rows)
    if leave < _FEWEST:
        stay = f", of which {leave} leave with --hold-back" if leave < rows else ""
        raise UserError(
            f"{request.data.name} has {rows} row{'' if rows == 1 else 's'}{stay}, and a release"
            f" needs at least {_FEWEST}: a fifth of them test the attackers"
        )


def _make(
    request: GivenRequest,
    reading: DataOptions,
    fitted: Fitted,
    work: Path,
    private: Path,
    progress: Progress,
) -> Given:
    """Write all files of the folder into `work`."""
    bundle = fitted.bundle
    file = work / request.data.name
    source = reading.open(request.data, progress)
    with request.of_engine.open(progress) as engine:
        written = release_features(
            bundle,
            source,
            file,
            request.wishes,
            features=bundle.feature_spec,
            progress=progress,
            engine=engine,
        )
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
