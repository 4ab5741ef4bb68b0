"""A job on the page: its progress, its result, and what can be downloaded."""

from __future__ import annotations

import json
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import RedirectResponse, Response, StreamingResponse

from withhold.core.safe_read import read_json
from withhold.server.api_jobs import file_answer, report_answer, zip_answer
from withhold.server.events import job_events
from withhold.server.job_requests import Id
from withhold.server.job_store import Job
from withhold.server.page.rendering import page
from withhold.server.page.sessions import same_origin
from withhold.server.private_folder import BUDGETS
from withhold.server.route_support import service_of
from withhold.server.service import Service, in_thread

router = APIRouter(prefix="/jobs", include_in_schema=False, dependencies=[Depends(same_origin)])
_MOST_BUDGETS = 2**26  # bytes of a file of our own
Place = Annotated[int, Query(ge=0, le=1000)]
DEFAULT = 3  # the place of one point above the floor among the budgets


@router.get("/{id}")
def job(request: Request, id: Id, budget: Place = DEFAULT) -> Response:
    """Progress while it runs, then what came out."""
    service = service_of(request)
    found = service.job(id)
    upload = service.datasets.find(found.request.dataset)
    values: dict[str, Any] = {
        "job": found,
        "name": "a file that was removed" if upload is None else upload.name,
        "messages": service.jobs.messages(id),
        "files": [],
        "signed": True,
    }
    if found.state != "done":
        return page("job.html", **values)
    values["files"] = [(n, p.stat().st_size) for n, p in service.files(found).items()]
    if found.kind == "compare":
        return page("compared.html", **values, **_budget(service, found, budget))
    return page("result.html", **values)


@router.get("/{id}/budget")
def budget_part(request: Request, id: Id, budget: Place = DEFAULT) -> Response:
    """The part of a comparison that depends on the budget, for the slider."""
    service = service_of(request)
    found = service.job(id)
    service.files(found)  # a 409 if it is not done
    return page("budget.html", job=found, **_budget(service, found, budget))


@router.get("/{id}/events")
async def events(request: Request, id: Id) -> StreamingResponse:
    """How far the job is."""
    service = service_of(request)
    await in_thread(service.job, id)
    return StreamingResponse(job_events(service, id), media_type="text/event-stream")


@router.get("/{id}/report")
def report(request: Request, id: Id) -> Response:
    """The report, as a page of its own."""
    service = service_of(request)
    return report_answer(service, service.job(id))


@router.get("/{id}/zip")
def archive(request: Request, id: Id) -> Response:
    """The folder to hand over."""
    service = service_of(request)
    return zip_answer(service, service.job(id))


@router.get("/{id}/files/{name}")
def file(request: Request, id: Id, name: str) -> Response:
    """One file."""
    service = service_of(request)
    return file_answer(service, service.job(id), name)


@router.post("/{id}/cancel")
def cancel(request: Request, id: Id) -> Response:
    """Stop a job."""
    service = service_of(request)
    service.job(id)
    service.workers.cancel(id)
    return RedirectResponse(f"/jobs/{id}", 303)


@router.post("/{id}/remove")
def remove(request: Request, id: Id) -> Response:
    """Forget a job and all its files."""
    service_of(request).remove_job(id)
    return RedirectResponse("/", 303)


def _budget(service: Service, found: Job, place: int) -> dict[str, Any]:
    """The comparison at one budget of the slider."""
    every = read_json(service.folder.private(found.id) / BUDGETS, _MOST_BUDGETS)
    chosen = min(place, len(every) - 1)
    points = [one["points"] for one in every]
    return {
        "shown": every[chosen],
        "place": chosen,
        "points": points,
        "steps": json.dumps(points),
        "suppress": (found.result or {})["suppress"],
    }
