"""The body of a request: how large it may be, how long it may pause, and how slowly it may come."""

from __future__ import annotations

import asyncio
import time

from starlette.datastructures import Headers
from starlette.types import Message, Receive, Scope

from withhold.server.problems import Problem
from withhold.server.server_settings import ServerSettings

MOST_BODY = 2**20  # bytes of a body that is not an upload
SLOWEST = 4096  # bytes a second, on average, after the first pause
UPLOADS = ("/api/v1/datasets", "/upload")  # and the transform of a stream


class RequestBody:
    """Reads a body up to a size.

    No pause is longer than `idle` seconds, and n bytes take at most `idle` + n / SLOWEST seconds:
    a client that sends one byte now and then cannot hold its place among the requests for ever.
    """

    def __init__(self, receive: Receive, scope: Scope, settings: ServerSettings) -> None:
        self._receive = receive
        self._most, self._idle = _limit(scope, settings), settings.idle_seconds
        self._size, self._ended = 0, False
        self._started = time.monotonic()
        self.refused: Problem | None = None

    async def receive(self) -> Message:
        """The next message of the client; a `Problem`, which is also kept, if it is refused."""
        if self._ended:
            return await self._receive()  # waits for the client to leave
        try:
            return await self._checked()
        except Problem as problem:
            self.refused = problem
            raise

    async def _checked(self) -> Message:
        left = self._started + self._idle + self._size / SLOWEST - time.monotonic()
        try:
            message = await asyncio.wait_for(self._receive(), min(self._idle, max(left, 0)))
        except TimeoutError:
            raise Problem(
                408, f"the body came too slowly; no pause may be longer than {self._idle:.0f} s"
            ) from None
        if message["type"] == "http.request":
            self._size += len(message.get("body", b""))
            self._ended = not message.get("more_body", False)
            if self._size > self._most:
                raise Problem(413, f"the request is larger than {self._most:,} bytes")
        return message


def _limit(scope: Scope, settings: ServerSettings) -> int:
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
