"""The application: routes behind the gate, errors as one line, workers beside it."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any

from fastapi import Depends, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import PlainTextResponse
from fastapi.security import HTTPBearer
from starlette.exceptions import HTTPException

from withhold import __version__
from withhold.core.errors import UserError
from withhold.server import api_bundles, api_datasets, api_jobs
from withhold.server.access_token import read_digest
from withhold.server.api_models import Health
from withhold.server.page import data_routes, home_routes, job_routes
from withhold.server.page.rendering import page
from withhold.server.page.sessions import has_session
from withhold.server.private_folder import without_paths
from withhold.server.problems import Problem, ProblemBody
from withhold.server.request_checks import Gate
from withhold.server.route_support import answers, service_of
from withhold.server.server_log import ServerLog
from withhold.server.server_settings import ServerSettings
from withhold.server.service import Service, TooLong

# The gate checks the token before the body is read; this only describes it in OpenAPI.
_DESCRIBED = Depends(HTTPBearer(auto_error=False, description="The token of the first start."))


def create_app(settings: ServerSettings, *, log: ServerLog | None = None) -> FastAPI:
    """The application for a folder that has a token. Workers run while the app does."""
    log = log or ServerLog()
    service = Service(settings, log)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        looking = asyncio.create_task(service.workers.run())
        try:
            yield
        finally:
            looking.cancel()
            with suppress(asyncio.CancelledError):
                await looking
            await asyncio.to_thread(service.workers.stop)

    app = FastAPI(
        title="Withhold",
        version=__version__,
        summary="Suppress chosen attributes of a dataset, and prove what can still be inferred.",
        docs_url=None,  # these pages load scripts from elsewhere
        redoc_url=None,
        openapi_url="/api/v1/openapi.json",
        redirect_slashes=False,
        lifespan=lifespan,
    )
    app.state.service = service
    for router in (api_datasets.router, api_jobs.router, api_bundles.router):
        app.include_router(router, dependencies=[_DESCRIBED])
    for page_router in (
        home_routes.open_router,
        home_routes.router,
        data_routes.router,
        job_routes.router,
    ):
        app.include_router(page_router)
    # The model is named here once; all other routes refer to it.
    refused: dict[int | str, dict[str, Any]] = {
        400: {"model": ProblemBody, "description": "The Host header names another server."}
    }
    app.add_api_route("/healthz", _health, response_model=Health, responses=refused)
    app.add_api_route(
        "/metrics",
        _metrics,
        response_class=PlainTextResponse,
        dependencies=[_DESCRIBED],
        responses=answers(400, 401, 429),
    )
    _explain_errors(app, service)
    app.add_middleware(
        Gate,
        settings=settings,
        digest=read_digest(service.folder.token),
        has_session=partial(has_session, service),
        log=log,
        metrics=service.metrics,
    )
    return app


def _health() -> Health:
    """Whether the server answers."""
    return Health(status="ok", version=__version__)


def _metrics(request: Request) -> PlainTextResponse:
    """Figures for Prometheus."""
    service = service_of(request)
    return PlainTextResponse(service.metrics.text(service.jobs, service.datasets))


def _explain_errors(app: FastAPI, service: Service) -> None:
    """Every error as `{"error": one line}`, or as a page where people look."""

    async def problem(request: Request, error: Exception) -> Response:
        assert isinstance(error, Problem)
        if _of_page(request):
            return page("error.html", status=error.status, line=error.line, signed=True)
        more = {"job": error.job} if isinstance(error, TooLong) else {}
        return _line(error.status, error.line, error.headers, **more)

    async def mistake(request: Request, error: Exception) -> Response:
        line = without_paths(str(error), service.folder)
        if _of_page(request):
            return page("error.html", status=422, line=line, signed=True)
        return _line(422, line)

    async def invalid(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"] if part != "body")
        line = f"{where or 'the body'}: {first['msg']}"
        if _of_page(request):
            return page("error.html", status=422, line=line, signed=True)
        return _line(422, line)

    async def other(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        headers = dict(error.headers or {})
        if _of_page(request):
            line = str(error.detail).lower()
            return page("error.html", status=error.status_code, line=line, signed=True)
        if error.status_code == 405:
            headers["allow"] = ", ".join(sorted(_methods(app, request.url.path)))
        return _line(error.status_code, error.detail.lower(), headers)

    app.add_exception_handler(Problem, problem)
    app.add_exception_handler(UserError, mistake)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(HTTPException, other)


def _of_page(request: Request) -> bool:
    return not request.url.path.startswith(("/api/", "/healthz", "/metrics"))


def _methods(app: FastAPI, path: str) -> set[str]:
    """The methods of all routes with this address; each route alone knows only its own."""
    known = (app.openapi()["paths"]).items()
    return {
        method.upper()
        for pattern, operations in known
        if re.fullmatch(re.sub(r"\{[a-z]+\}", "[^/]+", pattern), path)
        for method in operations
    }


def _line(status: int, line: str, headers: dict[str, str] | None = None, **more: Any) -> Response:
    # ASCII only, so that half a surrogate pair in a name cannot break the answer.
    text = json.dumps({"error": line, **more})
    return Response(text, status, media_type="application/json", headers=headers)
