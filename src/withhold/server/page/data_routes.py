"""The columns of a file, what can be had, and the start of a job."""

from __future__ import annotations

import math
from typing import Annotated

from fastapi import APIRouter, Depends, Form, Query, Request
from fastapi.responses import RedirectResponse, Response

from withhold.server.api_models import InspectionAnswer
from withhold.server.job_requests import CompareJob, Id, InspectJob, Name, Names, ReleaseJob
from withhold.server.job_store import Job
from withhold.server.page.rendering import page
from withhold.server.page.sessions import same_origin
from withhold.server.problems import Problem
from withhold.server.route_support import service_of
from withhold.server.service import Service, in_thread

router = APIRouter(prefix="/data", include_in_schema=False, dependencies=[Depends(same_origin)])
PATIENCE = 3.0  # seconds before the page says that it is still at work
MOST_MINUTES = 30.0  # of a comparison that the page starts
_LEAST_BITS = 0.02  # shared by two columns that the table names


@router.get("/{id}")
async def columns(request: Request, id: Id) -> Response:
    """Every column, and what it tells of the others."""
    service = service_of(request)
    upload = await in_thread(service.upload, id)
    job = await _inspected(service, InspectJob(kind="inspect", dataset=id))
    if job.state != "done":
        return _waiting(job, f"Reading {upload.name}")
    found = InspectionAnswer.model_validate(job.result)
    return page("data.html", upload=upload, found=found, tells=_tells(found), signed=True)


@router.get("/{id}/plan")
async def plan(
    request: Request,
    id: Id,
    hide: Annotated[list[Name] | None, Query(max_length=500)] = None,
    keep: Annotated[list[Name] | None, Query(max_length=500)] = None,
) -> Response:
    """What can be had for this choice, before anything is trained."""
    service = service_of(request)
    upload = await in_thread(service.upload, id)
    hidden, kept = _roles(hide, keep)
    asked = InspectJob(kind="inspect", dataset=id, suppress=hidden, preserve=kept)
    job = await _inspected(service, asked)
    if job.state != "done":
        return _waiting(job, "Measuring what each column reveals")
    found = InspectionAnswer.model_validate(job.result)
    return page("plan.html", upload=upload, found=found, hide=hidden, keep=kept, signed=True)


@router.post("/{id}/release")
def release(
    request: Request,
    id: Id,
    hide: Annotated[list[Name] | None, Form()] = None,
    keep: Annotated[list[Name] | None, Form()] = None,
    quick: Annotated[bool, Form()] = False,
    hold_back: Annotated[bool, Form()] = False,
) -> Response:
    """Start a release."""
    hidden, kept = _roles(hide, keep)
    asked = ReleaseJob(
        kind="release",
        dataset=id,
        suppress=hidden,
        preserve=kept,
        quick=quick,
        hold_back=0.1 if hold_back else 0.0,
    )
    return RedirectResponse(f"/jobs/{service_of(request).add(asked).id}", 303)


@router.post("/{id}/compare")
def compare(
    request: Request,
    id: Id,
    hide: Annotated[list[Name] | None, Form()] = None,
    keep: Annotated[list[Name] | None, Form()] = None,
) -> Response:
    """Start a comparison of methods."""
    hidden, kept = _roles(hide, keep)
    asked = CompareJob(
        kind="compare", dataset=id, suppress=hidden, preserve=kept, minutes=MOST_MINUTES
    )
    return RedirectResponse(f"/jobs/{service_of(request).add(asked).id}", 303)


@router.post("/{id}/remove")
def remove(request: Request, id: Id) -> Response:
    """Remove a file."""
    service_of(request).remove_upload(id)
    return RedirectResponse("/", 303)


async def _inspected(service: Service, asked: InspectJob) -> Job:
    job = await service.waited((await in_thread(service.once, asked)).id, PATIENCE)
    if job.state == "failed":
        raise Problem(422, job.error or "the file cannot be read")
    return job


def _waiting(job: Job, what: str) -> Response:
    return page("waiting.html", job=job, what=what, signed=True)


def _roles(hide: Names | None, keep: Names | None) -> tuple[list[str], list[str]]:
    """What to hide and what to keep; a column cannot be both."""
    hidden, kept = hide or [], keep or []
    if not hidden:
        raise Problem(422, "choose at least one column to hide")
    both = [name for name in hidden if name in kept]
    if both:
        raise Problem(422, f"'{both[0]}' cannot be hidden and kept; choose one of them")
    return hidden, kept


def _tells(found: InspectionAnswer) -> dict[str, list[tuple[str, float]]]:
    """For each column the others that it says most about, with the bits that they share.

    Two columns with many values share bits in a small table by chance alone: about
    (k - 1)(l - 1) / (2 n ln 2) for k and l values and n rows (Miller and Madow), which are
    subtracted.
    """
    told: dict[str, list[tuple[str, float]]] = {name: [] for name in found.attributes}
    values = {name: (column.classes or 1) - 1 for name, column in found.attributes.items()}
    for pair in found.feasibility.pairs:
        chance = values[pair.one] * values[pair.two] / (2 * found.records * math.log(2))
        bits = pair.shared_bits - chance
        if bits >= _LEAST_BITS:
            told[pair.one].append((pair.two, bits))
            told[pair.two].append((pair.one, bits))
    return {name: sorted(others, key=lambda o: -o[1])[:3] for name, others in told.items()}
