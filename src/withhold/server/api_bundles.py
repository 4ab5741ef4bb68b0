"""`/api/v1/bundles`: what fits and releases left behind, and transforming records with it.

A bundle holds a secret key. Nothing here returns a file of a bundle.
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import FileResponse
from starlette.background import BackgroundTask

from withhold.server.api_jobs import TYPES
from withhold.server.api_models import BundleAnswer
from withhold.server.job_requests import FitJob, Id, OutputFormat, ReleaseJob, TransformJob
from withhold.server.job_store import Job
from withhold.server.problems import Problem
from withhold.server.route_support import FILE, answers, binary, service_of
from withhold.server.service import Service, TooLong, in_thread

router = APIRouter(prefix="/api/v1/bundles", tags=["bundles"])
FORMATS: dict[str, OutputFormat] = {
    "text/csv": "csv",
    "application/x-ndjson": "jsonl",
    "application/vnd.apache.parquet": "parquet",
    "application/vnd.apache.arrow.stream": "arrow",
}
_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {name: {"schema": FILE} for name in FORMATS},
    }
}


@router.get("", responses=answers(400, 401, 429))
def bundles(request: Request) -> list[BundleAnswer]:
    """All bundles, the newest first."""
    return [_answer(job) for job in service_of(request).bundles()]


@router.get("/{id}", responses=answers(400, 401, 404, 422, 429))
def bundle(request: Request, id: Id) -> BundleAnswer:
    """One bundle."""
    return _answer(service_of(request).bundle(id))


@router.post(
    "/{id}/transform",
    response_class=FileResponse,
    responses={200: binary(*FORMATS), **answers(400, 401, 404, 408, 409, 413, 422, 429, 504, 507)},
    openapi_extra=_BODY,
)
async def transform(
    request: Request,
    id: Id,
    to: Annotated[OutputFormat | None, Query(description="by default that of the body")] = None,
    same_order: Annotated[bool, Query(description="keep the order of the rows")] = False,
) -> FileResponse:
    """Release the records in the body with a bundle; the answer is the release.

    Body and answer are streamed through files, so that memory does not grow with them. Both are
    removed once the answer is sent. Records that take longer than the time limit of an answer:
    the job goes on, and its release can be downloaded by its id.
    """
    service = service_of(request)
    await in_thread(service.bundle, id)
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in FORMATS:
        raise Problem(422, f"the Content-Type must be one of {', '.join(FORMATS)}")
    limits = service.settings
    data = await service.datasets.receive(
        request.stream(),
        name="records",
        format=FORMATS[kind],
        most=limits.upload_bytes,
        stored=limits.stored_bytes,
    )
    job: Job | None = None
    try:
        asked = TransformJob(
            kind="transform",
            bundle=id,
            dataset=data.id,
            format=to or FORMATS[kind],
            same_order=same_order,
        )
        job = await in_thread(service.add, asked)
        done = await service.finished(job.id)
        found = await in_thread(service.files, done)
        path = found[(done.result or {})["file"]]
    except TooLong:
        raise
    except BaseException:
        await in_thread(_forget, service, data.id, job)
        raise
    return FileResponse(
        path,
        media_type=TYPES[path.suffix],
        background=BackgroundTask(_forget, service, data.id, job),
    )


def _forget(service: Service, dataset: str, job: Job | None) -> None:
    """Remove what a transform left: the records, the release, the list of rows."""
    if job is not None:
        service.workers.cancel(job.id)
        if service.jobs.remove(job.id):
            service.folder.remove_job(job.id)
    service.datasets.remove(dataset)


def _answer(job: Job) -> BundleAnswer:
    asked = job.request
    assert isinstance(asked, FitJob | ReleaseJob)
    return BundleAnswer(
        id=job.id,
        kind=job.kind,
        created=job.created,
        suppress=asked.suppress,
        preserve=asked.preserve,
        method=asked.method if isinstance(asked, FitJob) else "exact",
    )
