"""From what a client asked to an action: look up the files, call it, and say what came out.

An action that was interrupted is called again and resumes. What may be downloaded goes to the
job's output folder, and everything else to its private folder.
"""

from __future__ import annotations

import json
import math
import os
import shutil
from pathlib import Path
from typing import Any

from withhold.actions.request import DataOptions
from withhold.core.atomic import write_bytes
from withhold.core.errors import UserError
from withhold.core.lists import as_names
from withhold.core.progress import Progress
from withhold.server.arrow_stream import arrow_to_parquet, parquet_to_arrow
from withhold.server.dataset_store import SUFFIXES
from withhold.server.job_requests import (
    AnyJob,
    AuditJob,
    CertifyJob,
    CompareJob,
    FitJob,
    InspectJob,
    ReadingOptions,
    ReleaseJob,
    TransformJob,
)
from withhold.server.job_store import Job
from withhold.server.private_folder import BUDGETS, PrivateFolder


def run_job(folder: PrivateFolder, job: Job, progress: Progress) -> dict[str, Any]:
    """Run the action of a job; returns its result as JSON values, with None for NaN."""
    found: dict[str, Any] = finite(_run(JobPlace(folder, job.id), job.request, progress))
    return found


def _run(place: JobPlace, asked: AnyJob, progress: Progress) -> dict[str, Any]:
    match asked:
        case InspectJob():
            return _inspect(place, asked, progress)
        case ReleaseJob():
            return _release(place, asked, progress)
        case FitJob():
            return _fit(place, asked, progress)
        case CompareJob():
            return _compare(place, asked, progress)
        case AuditJob():
            return _audit(place, asked, progress)
        case TransformJob():
            return _transform(place, asked, progress)
        case CertifyJob():
            return _certify(place, asked, progress)


class JobPlace:
    """The files of one job."""

    def __init__(self, folder: PrivateFolder, id: str) -> None:
        self.folder = folder
        self.output, self.private = folder.output(id), folder.private(id)
        self.bundle, self.scratch = folder.bundle(id), folder.scratch(id)

    def data(self, dataset: str) -> Path:
        """The file of an upload; an Arrow stream is converted once for this job."""
        found = list(self.folder.upload(dataset).glob("data.*"))
        if not found:
            raise UserError("the uploaded file has been removed; upload it again")
        if found[0].suffix != SUFFIXES["arrow"]:
            return found[0]
        place = self.scratch / dataset  # not kept: it is a copy of the records
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        made = place / "data.parquet"
        if not made.exists():
            arrow_to_parquet(found[0], made)
        return made

    def known_bundle(self, id: str) -> Path:
        """The bundle of another job."""
        found = self.folder.bundle(id)
        if not found.is_dir():
            raise UserError("there is no such bundle; it may have been removed")
        return found


def _inspect(place: JobPlace, asked: InspectJob, progress: Progress) -> dict[str, Any]:
    from withhold.actions.inspect import InspectRequest, inspect

    request = InspectRequest(
        data=place.data(asked.dataset),
        suppress=as_names(asked.suppress),
        preserve=as_names(asked.preserve),
        reading=_reading(asked.reading),
    )
    return inspect(request, progress).to_dict()


def _release(place: JobPlace, asked: ReleaseJob, progress: Progress) -> dict[str, Any]:
    from withhold.actions.given_request import GivenRequest
    from withhold.actions.release_given import release_given
    from withhold.release.wishes import Wishes
    from withhold.server.job_results import audit_words, leaving

    # The folder is whole or absent, and the bundle beside it is kept: the bytes are the same.
    shutil.rmtree(place.output, ignore_errors=True)
    made = release_given(
        GivenRequest(
            data=place.data(asked.dataset),
            output=place.output,
            suppress=tuple(asked.suppress),
            preserve=tuple(asked.preserve),
            bundle=place.bundle,
            config=dict(asked.config),
            seed=asked.seed,
            reading=_reading(asked.reading),
            wishes=Wishes(
                tuple(asked.keep),
                tuple(asked.drop),
                same_order=asked.same_order,
                hold_back=asked.hold_back,
            ),
            fail_if=tuple(asked.fail_if),
            quick=asked.quick,
        ),
        progress,
    )
    return {
        **leaving(made.written),
        "certificate": made.certificate.model_dump(mode="json")["attributes"],
        "verdict": made.audit.verdict,
        "alarming": made.audit.alarming,
        "passed": made.passed,
        "bundle": place.bundle.parent.parent.name,
        "words": audit_words(made.audit),
    }


def _fit(place: JobPlace, asked: FitJob, progress: Progress) -> dict[str, Any]:
    from withhold.actions.fit import FitRequest, fit_to
    from withhold.methods.registry import get_method

    if not {"features", "table"} & set(get_method(asked.method).modifier_type.kinds):
        raise UserError(f"method '{asked.method}' is for media; the server takes files of records")
    made = fit_to(
        FitRequest(
            data=place.data(asked.dataset),
            output=place.bundle,
            suppress=tuple(asked.suppress),
            preserve=tuple(asked.preserve),
            method=asked.method,
            config=dict(asked.config),
            seed=asked.seed,
            reading=_reading(asked.reading),
        ),
        progress,
    )
    return {
        "bundle": place.bundle.parent.parent.name,
        "sha256": made.sha256,
        "method": made.bundle.method,
        "certificate": (made.bundle.certificate or {}).get("attributes"),
    }


def _compare(place: JobPlace, asked: CompareJob, progress: Progress) -> dict[str, Any]:
    from withhold.actions.compare import ROWS, CompareRequest, compare
    from withhold.server.job_results import budgets

    work = place.private / "compare"  # finished rows stay there, so that it resumes
    found = compare(
        CompareRequest(
            data=place.data(asked.dataset),
            output=work,
            suppress=tuple(asked.suppress),
            preserve=tuple(asked.preserve),
            budget=asked.budget,
            time_limit=asked.minutes,
            methods=tuple(asked.methods),
            seeds=asked.seeds,
            read=tuple(asked.read),
            reading=_reading(asked.reading),
        ),
        progress,
    )
    write_bytes(place.private / BUDGETS, json.dumps(finite(budgets(found))).encode())
    _publish(place, [path for path in work.iterdir() if path.name != ROWS])
    return found.to_dict()


def _audit(place: JobPlace, asked: AuditJob, progress: Progress) -> dict[str, Any]:
    from withhold.actions.audit_files import audit_files
    from withhold.actions.audit_request import AuditRequest
    from withhold.audit.audit_settings import AuditSettings
    from withhold.server.job_results import audit_words

    found = audit_files(
        AuditRequest(
            original=place.data(asked.dataset),
            release=None if asked.release is None else place.data(asked.release),
            output=place.output,
            settings=AuditSettings(
                suppress=tuple(asked.suppress),
                preserve=tuple(asked.preserve),
                fail_if=tuple(asked.fail_if),
                quick=asked.quick,
                id=asked.id,
                group=asked.reading.group,
                seed=asked.seed,
            ),
            reading=_reading(asked.reading),
            same_order=asked.same_order,
        ),
        progress,
    )
    return {
        "verdict": found.verdict,
        "alarming": found.alarming,
        "passed": found.gate is None or found.gate.passed,
        "words": audit_words(found),
    }


def _transform(place: JobPlace, asked: TransformJob, progress: Progress) -> dict[str, Any]:
    from withhold.actions.release import ReleaseRequest, release_files
    from withhold.release.wishes import Wishes
    from withhold.server.job_results import leaving

    # The list of rows is written beside the release, so that it is made in the private folder.
    arrow = asked.format == "arrow"
    work = place.private / f"release{SUFFIXES['parquet' if arrow else asked.format]}"
    _, written = release_files(
        ReleaseRequest(
            bundle=place.known_bundle(asked.bundle),
            data=place.data(asked.dataset),
            output=work,
            wishes=Wishes(tuple(asked.keep), tuple(asked.drop), same_order=asked.same_order),
        ),
        progress,
    )
    if arrow:
        made = place.private / f"release{SUFFIXES['arrow']}"
        parquet_to_arrow(work, made)
        work.unlink()
        work = made
    proof = [] if written.certificate is None else [written.certificate]
    _publish(place, [work, *proof])
    return {**leaving(written), "file": work.name}


def _certify(place: JobPlace, asked: CertifyJob, progress: Progress) -> dict[str, Any]:
    from withhold.actions.certify import CertifyRequest, certify

    place.output.mkdir(mode=0o700, exist_ok=True)
    found = certify(
        CertifyRequest(
            bundle=place.known_bundle(asked.bundle),
            data=place.data(asked.dataset),
            output=place.output / "certificate.json",
            confidence=asked.confidence,
            features=asked.reading.features,
            reading=_reading(asked.reading),
        ),
        progress,
    )
    return {"attributes": found.to_dict()["attributes"]}


def _publish(place: JobPlace, files: list[Path]) -> None:
    """Move finished files to the output folder, which is whole or absent."""
    shutil.rmtree(place.output, ignore_errors=True)
    made = place.private / "publish"
    shutil.rmtree(made, ignore_errors=True)
    made.mkdir(mode=0o700)
    for path in files:
        os.replace(path, made / path.name)
    os.rename(made, place.output)


def finite(value: Any) -> Any:
    """The same JSON value with None for NaN and infinities, which JSON does not have."""
    if isinstance(value, dict):
        return {name: finite(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _reading(asked: ReadingOptions) -> DataOptions:
    given = asked.model_dump(exclude=set() if asked.features else {"features"})
    return DataOptions.model_validate(given)
