"""What every request passes before a handler sees it.

In this order: the Host header (400, against DNS rebinding), the token of the API (401) or the
session of the page (to the login), the number of requests at a time (429), the size (413) and pace
(408) of the body. The body of a request without a token or a session is never read, except that
of the login, which has places of its own: strangers cannot take those of others. Afterwards the
answer gets its security headers, and the request is logged and counted by its route.
"""

from __future__ import annotations

import asyncio
import json
import time
import traceback
from collections import Counter
from collections.abc import Callable, MutableMapping
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect, cookie_parser
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from withhold.server.access_token import matches
from withhold.server.problems import Problem
from withhold.server.request_body import RequestBody
from withhold.server.server_figures import Metrics
from withhold.server.server_log import ServerLog
from withhold.server.server_settings import ServerSettings

API = "/api/"
GUARDED = (API, "/metrics")  # a token is needed; the page has sessions of its own
OPEN = ("/login", "/static/")  # for everybody
COOKIE = "withhold_session"
MOST_STRANGERS = 16  # requests at a time for what is open
LEFT = 499  # in logs and metrics: the client left before it had its answer
POLICY = (
    "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none';"
    " object-src 'none'"
)
_HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "x-frame-options": "DENY",
    "cache-control": "no-store",
}


class Gate:
    """ASGI middleware."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        settings: ServerSettings,
        digest: str,
        has_session: Callable[[str], bool],
        log: ServerLog,
        metrics: Metrics,
    ) -> None:
        self.app, self.settings = app, settings
        self.digest, self.has_session = digest, has_session
        self.log, self.metrics = log, metrics
        self._now: Counter[bool] = Counter()  # requests of strangers, and of others

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let one request pass, or answer it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        answer = _Answer(send)
        started = time.perf_counter()
        try:
            await self._pass(scope, receive, answer)
        except Problem as problem:
            if answer.status:
                raise
            await answer.problem(problem)
        except ClientDisconnect:
            answer.status = answer.status or LEFT
        except Exception as error:
            # Not the text of the error, which may hold data.
            self.log.event("server_error", error=type(error).__name__, where=_where(error))
            if answer.status:
                raise
            await answer.problem(Problem(500, "this is a bug in withhold; see the log"))
        finally:
            took = time.perf_counter() - started
            method = scope["method"] if scope["method"] in _METHODS else "other"
            route = _route(scope)
            self.metrics.request(method, route, answer.status, took)
            self.log.event(
                "request",
                method=method,
                route=route,
                status=answer.status,
                seconds=round(took, 4),
                sent=answer.sent,
            )

    async def _pass(self, scope: Scope, receive: Receive, answer: _Answer) -> None:
        """Check a request, find a place for it, and hand it to the handlers."""
        if _host(Headers(scope=scope).get("host", "")) not in self.settings.host_names:
            raise Problem(400, "the Host header names another server; see --allow-host")
        stranger = scope["path"].startswith(OPEN)
        free = scope["path"] == "/healthz"
        if not (stranger or free):
            await self._identify(scope)
        most = MOST_STRANGERS if stranger else self.settings.most_requests
        if self._now[stranger] >= most and not free:
            raise Problem(
                429, "too many requests at the same time; try again", headers={"retry-after": "1"}
            )
        self._now[stranger] += not free
        try:
            answer.body = body = RequestBody(receive, scope, self.settings)
            await self.app(scope, body.receive, answer.send)
        finally:
            self._now[stranger] -= not free

    async def _identify(self, scope: Scope) -> None:
        """Refuse a request without the token, or send a visitor without a session to the login."""
        headers = Headers(scope=scope)
        if scope["path"].startswith(GUARDED):
            scheme, _, token = headers.get("authorization", "").partition(" ")
            # The comparison comes first, so that its time is always spent.
            if not matches(token.strip(), self.digest) or scheme.lower() != "bearer":
                raise Problem(
                    401,
                    "the token is missing or wrong; send it as Authorization: Bearer TOKEN",
                    headers={"www-authenticate": "Bearer"},
                )
        else:
            session = cookie_parser(headers.get("cookie", "")).get(COOKIE, "")
            if not await asyncio.to_thread(self.has_session, session):
                raise Problem(303, "log in first", headers={"location": "/login"})


_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE")


class _Answer:
    """Counts an answer, and adds the security headers."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.status, self.sent = 0, 0
        self.body: RequestBody | None = None
        self._replaced = False

    async def send(self, message: Message) -> None:
        """Send what a handler answers, unless the body of its request was refused.

        The parsers of forms and JSON would turn what is wrong with a body into a 400 of theirs.
        """
        refused = self.body.refused if self.body is not None else None
        if refused is None or self.status:
            if not self._replaced:
                await self._write(message)
        else:
            self._replaced = True
            await self.problem(refused)

    async def _write(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers.setdefault(name, value)
        elif message["type"] == "http.response.body":
            self.sent += len(message.get("body", b""))
        await self._send(message)

    async def problem(self, problem: Problem) -> None:
        body = json.dumps({"error": problem.line}).encode()
        headers = {
            "content-type": "application/json",
            "content-length": str(len(body)),
            # The rest of the body is not read.
            "connection": "close",
            **problem.headers,
        }
        raw = [(k.encode(), v.encode()) for k, v in headers.items()]
        start = {"type": "http.response.start", "status": problem.status, "headers": raw}
        await self._write(start)
        await self._write({"type": "http.response.body", "body": body})


def _host(header: str) -> str:
    """The name in a Host header, without the port and the brackets of IPv6."""
    name = header.strip().lower()
    if name.startswith("["):
        return name[1:].partition("]")[0]
    return name.partition(":")[0]


def _route(scope: MutableMapping[str, Any]) -> str:
    """The pattern of the address; never the address itself, which the client chose."""
    return str(getattr(scope.get("route"), "path", "none"))


def _where(error: Exception) -> str:
    """The line of code that raised an error."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{last.filename.rpartition('/')[2]}:{last.lineno}"
