"""What every request passes before a handler sees it.

In this order: the number of requests at a time (429), the Host header (400, against DNS
rebinding), the token (401), the size (413) and pace (408) of the body. The body of a request
without a token is never read. Afterwards the answer gets its security headers, and the request is
logged and counted by its route.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import MutableMapping
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from withhold.server.access_token import matches
from withhold.server.metrics import Metrics
from withhold.server.problems import Problem
from withhold.server.server_log import ServerLog
from withhold.server.server_settings import ServerSettings

API = "/api/"
GUARDED = (API, "/metrics")  # a token is needed; the page has sessions of its own
MOST_BODY = 2**20  # bytes of a body that is not an upload
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
UPLOADS = ("/api/v1/datasets", "/upload")  # and the transform of a stream


class Gate:
    """ASGI middleware."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        settings: ServerSettings,
        digest: str,
        log: ServerLog,
        metrics: Metrics,
    ) -> None:
        self.app, self.settings, self.digest = app, settings, digest
        self.log, self.metrics = log, metrics
        self._now = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let one request pass, or answer it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        answer = _Answer(send)
        started = time.perf_counter()
        self._now += 1
        try:
            self._check(scope)
            body = _Body(receive, _limit(scope, self.settings), self.settings.idle_seconds)
            await self.app(scope, body.receive, answer.send)
        except Problem as problem:
            if answer.status:
                raise
            await answer.problem(problem)
        except Exception as error:
            self.log.event("server_error", error=type(error).__name__)
            if answer.status:
                raise
            await answer.problem(Problem(500, "this is a bug in withhold; see the log"))
            raise
        finally:
            self._now -= 1
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

    def _check(self, scope: Scope) -> None:
        headers = Headers(scope=scope)
        if self._now > self.settings.most_requests and scope["path"] != "/healthz":
            raise Problem(
                429, "too many requests at the same time; try again", headers={"retry-after": "1"}
            )
        if _host(headers.get("host", "")) not in self.settings.host_names:
            raise Problem(400, "the Host header names another server; see --allow-host")
        if scope["path"].startswith(GUARDED):
            scheme, _, token = headers.get("authorization", "").partition(" ")
            # The comparison comes first, so that its time is always spent.
            if not matches(token.strip(), self.digest) or scheme.lower() != "bearer":
                raise Problem(
                    401,
                    "the token is missing or wrong; send it as Authorization: Bearer TOKEN",
                    headers={"www-authenticate": "Bearer"},
                )


_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE")


class _Answer:
    """Counts an answer, and adds the security headers."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.status, self.sent = 0, 0

    async def send(self, message: Message) -> None:
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
        await self.send(start)
        await self.send({"type": "http.response.body", "body": body})


class _Body:
    """Reads a body up to a size, with no pause longer than the limit."""

    def __init__(self, receive: Receive, most: int | None, idle: float) -> None:
        self._receive, self.most, self.idle = receive, most, idle
        self.size, self.ended = 0, False

    async def receive(self) -> Message:
        if self.ended:
            return await self._receive()  # waits for the client to leave
        try:
            message = await asyncio.wait_for(self._receive(), self.idle)
        except TimeoutError:
            raise Problem(408, f"no data came for {self.idle:.0f} s") from None
        if message["type"] == "http.request":
            self.size += len(message.get("body", b""))
            self.ended = not message.get("more_body", False)
            if self.most is not None and self.size > self.most:
                raise Problem(413, f"the request is larger than {self.most:,} bytes")
        return message


def _limit(scope: Scope, settings: ServerSettings) -> int | None:
    """The size limit of the body. Handlers of uploads count by themselves, and add their forms."""
    path = scope["path"]
    uploads = path in UPLOADS or (
        path.startswith("/api/v1/bundles/") and path.endswith("/transform")
    )
    most = settings.upload_bytes + MOST_BODY if uploads else MOST_BODY
    declared = Headers(scope=scope).get("content-length", "")
    if declared.isdecimal() and int(declared[:20]) > most:
        raise Problem(413, f"the request is larger than {most:,} bytes")
    return most


def _host(header: str) -> str:
    """The name in a Host header, without the port and the brackets of IPv6."""
    name = header.strip().lower()
    if name.startswith("["):
        return name[1:].partition("]")[0]
    return name.partition(":")[0]


def _route(scope: MutableMapping[str, Any]) -> str:
    """The pattern of the address; never the address itself, which the client chose."""
    return str(getattr(scope.get("route"), "path", "none"))
