"""`/api/v1/jobs`: start jobs, follow them, cancel them, and get what they made."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request, Response
from fastapi.responses import FileResponse, StreamingResponse

from withhold.server.api_models import FileAnswer, JobAnswer, JobLine
from withhold.server.events import job_events
from withhold.server.job_requests import AnyJob, Id
from withhold.server.job_store import Job, State
from withhold.server.problems import Problem, missing
from withhold.server.route_support import answers, binary, service_of, stream
from withhold.server.service import Service, in_thread
from withhold.server.zip_stream import zip_stream

router = APIRouter(prefix="/api/v1/jobs", tags=["jobs"])
REPORTS = ("report.html", "compare.html")
# A report is one page with its style inside. It runs nothing and loads nothing.
REPORT_POLICY = "sandbox; default-src 'none'; style-src 'unsafe-inline'"
FileName = Annotated[str, Path(max_length=300)]
TYPES = {
    ".csv": "text/csv",
    ".jsonl": "application/x-ndjson",
    ".json": "application/json",
    ".html": "text/html",
    ".md": "text/markdown",
    ".parquet": "application/vnd.apache.parquet",
    ".arrow": "application/vnd.apache.arrow.stream",
}
OTHER = "application/octet-stream"


@router.post("", status_code=202, responses=answers(400, 401, 404, 413, 422, 429))
def start(request: Request, asked: AnyJob) -> JobAnswer:
    """Queue a job."""
    service = service_of(request)
    return _answer(service, service.add(asked))


@router.get("", responses=answers(400, 401, 422, 429))
def jobs(
    request: Request,
    state: Annotated[State | None, Query()] = None,
    most: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> list[JobLine]:
    """The newest jobs."""
    found = service_of(request).jobs.jobs(state=state, most=most)
    return [
        JobLine(id=j.id, kind=j.kind, state=j.state, created=j.created, ended=j.ended)
        for j in found
    ]


@router.get("/{id}", responses=answers(400, 401, 404, 422, 429))
def job(request: Request, id: Id) -> JobAnswer:
    """One job: its state, how far it is, and its result."""
    service = service_of(request)
    return _answer(service, service.job(id))


@router.delete("/{id}", status_code=204, responses=answers(400, 401, 404, 409, 422, 429))
def remove(request: Request, id: Id) -> Response:
    """Forget a job that is over, with its bundle and its results."""
    service_of(request).remove_job(id)
    return Response(status_code=204)


@router.post("/{id}/cancel", responses=answers(400, 401, 404, 409, 422, 429))
def cancel(request: Request, id: Id) -> JobAnswer:
    """Stop a job and all its processes."""
    service = service_of(request)
    service.job(id)
    if not service.workers.cancel(id):
        raise Problem(409, "the job is over already")
    return _answer(service, service.job(id))


@router.get(
    "/{id}/events",
    response_class=StreamingResponse,
    responses={200: stream("text/event-stream"), **answers(400, 401, 404, 422, 429)},
)
async def events(request: Request, id: Id) -> StreamingResponse:
    """Server-sent events: `progress` until the job is over, then `end`."""
    service = service_of(request)
    await in_thread(service.job, id)
    return StreamingResponse(job_events(service, id), media_type="text/event-stream")


@router.get("/{id}/files", responses=answers(400, 401, 404, 409, 422, 429))
def files(request: Request, id: Id) -> list[FileAnswer]:
    """The files that a finished job made."""
    service = service_of(request)
    found = service.files(service.job(id))
    return [FileAnswer(name=name, bytes=path.stat().st_size) for name, path in found.items()]


@router.get(
    "/{id}/files/{name}",
    response_class=FileResponse,
    responses={
        200: binary(OTHER, *dict.fromkeys(TYPES.values())),
        **answers(400, 401, 404, 409, 422, 429),
    },
)
def file(request: Request, id: Id, name: FileName) -> FileResponse:
    """One of these files."""
    service = service_of(request)
    return file_answer(service, service.job(id), name)


@router.get(
    "/{id}/zip",
    response_class=StreamingResponse,
    responses={200: binary("application/zip"), **answers(400, 401, 404, 409, 422, 429)},
)
def archive(request: Request, id: Id) -> StreamingResponse:
    """All files of a finished job, as one zip: the folder to hand over."""
    service = service_of(request)
    return zip_answer(service, service.job(id))


@router.get(
    "/{id}/report",
    response_class=FileResponse,
    responses={200: binary("text/html"), **answers(400, 401, 404, 409, 422, 429)},
)
def report(request: Request, id: Id) -> FileResponse:
    """The report of a release, an audit or a comparison."""
    service = service_of(request)
    return report_answer(service, service.job(id))


def file_answer(service: Service, job: Job, name: str) -> FileResponse:
    """A file by its name, which must be one of those that are there."""
    found = service.files(job)
    if name not in found:
        raise missing("file")
    kind = TYPES.get(found[name].suffix, OTHER)
    return FileResponse(
        found[name],
        media_type=kind,
        filename=name,
        headers={"content-security-policy": REPORT_POLICY},
    )


def zip_answer(service: Service, job: Job) -> StreamingResponse:
    """All files as an archive."""
    found = service.files(job)
    if not found:
        raise missing("file")
    title = f"withhold-{job.kind}-{job.id[:8]}"
    return StreamingResponse(
        zip_stream(found, title),
        media_type="application/zip",
        headers={"content-disposition": f'attachment; filename="{title}.zip"'},
    )


def report_answer(service: Service, job: Job) -> FileResponse:
    """The report, shown in the browser."""
    found = service.files(job)
    name = next((name for name in REPORTS if name in found), None)
    if name is None:
        raise missing("report")
    headers = {"content-security-policy": REPORT_POLICY}
    return FileResponse(found[name], media_type="text/html", headers=headers)


def _answer(service: Service, job: Job) -> JobAnswer:
    return JobAnswer.of(job, service.jobs.messages(job.id))
