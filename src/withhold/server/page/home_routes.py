"""The first page: log in, drop a file or open the sample, see earlier data and jobs."""

from __future__ import annotations

import io
from collections.abc import AsyncIterator

from fastapi import APIRouter, Depends, Form, Request
from fastapi.responses import RedirectResponse, Response

from withhold.server.dataset_store import format_of, shown_name
from withhold.server.page.form_upload import FormFile
from withhold.server.page.rendering import page, static
from withhold.server.page.sessions import same_origin, sign_in, sign_out
from withhold.server.problems import Problem
from withhold.server.request_checks import COOKIE
from withhold.server.route_support import service_of
from withhold.server.service import in_thread

open_router = APIRouter(include_in_schema=False)
router = APIRouter(include_in_schema=False, dependencies=[Depends(same_origin)])
SAMPLE, PEOPLE = "sample census.csv", 1000


@open_router.get("/static/{name}")
def static_file(name: str) -> Response:
    """Style, script and icon."""
    return static(name)


@open_router.get("/login")
def login() -> Response:
    """The form for the token."""
    return page("login.html", error=None, signed=False)


@open_router.post("/login", dependencies=[Depends(same_origin)])
def log_in(request: Request, token: str = Form("", max_length=200)) -> Response:
    """Check the token."""
    try:
        return sign_in(service_of(request), token)
    except Problem as problem:
        return page("login.html", status=401, error=problem.line, signed=False)


@router.post("/logout")
def log_out(request: Request) -> Response:
    """End the session."""
    return sign_out(service_of(request), request.cookies.get(COOKIE, ""))


@router.get("/")
def home(request: Request) -> Response:
    """Drop a file, or go on with what is there."""
    service = service_of(request)
    names = {one.id: one.name for one in service.datasets.uploads()}
    shown = [job for job in service.jobs.jobs(most=50) if job.kind != "inspect"]
    return page(
        "home.html",
        uploads=service.datasets.uploads(),
        jobs=shown,
        names=names,
        hours=service.settings.keep_hours,
        most=service.settings.upload_bytes,
        signed=True,
    )


@router.post("/upload")
async def upload(request: Request) -> Response:
    """Take the file of the form."""
    service = service_of(request)
    file = FormFile(request)
    name = await file.open()
    if not shown_name(name):
        raise Problem(422, "no file was chosen")
    made = await service.datasets.receive(
        file.chunks(),
        name=name,
        format=format_of(name),
        most=service.settings.upload_bytes,
        stored=service.settings.stored_bytes,
    )
    return RedirectResponse(f"/data/{made.id}", 303)


@router.post("/sample")
async def sample(request: Request) -> Response:
    """Make the embedded sample: a census whose columns reveal each person's sex."""
    service = service_of(request)
    content = await in_thread(_census)

    async def body() -> AsyncIterator[bytes]:
        yield content

    made = await service.datasets.receive(
        body(),
        name=SAMPLE,
        format="csv",
        most=service.settings.upload_bytes,
        stored=service.settings.stored_bytes,
    )
    return RedirectResponse(f"/data/{made.id}", 303)


def _census() -> bytes:
    import pyarrow.csv as pc

    from withhold.datasets.worlds.census import census

    out = io.BytesIO()
    pc.write_csv(census(PEOPLE, seed=1), out)
    return out.getvalue()
