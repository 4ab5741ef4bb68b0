"""uvicorn with our limits and our log: HTTP/1.1 alone, headers in time, no text of errors."""

from __future__ import annotations

import asyncio
import logging
import socket

import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol

from withhold.server.server_log import ServerLog


def run_http(app: FastAPI, listening: socket.socket, *, header_seconds: float) -> None:
    """Answer requests on a socket until the process is interrupted."""
    logger = logging.getLogger("uvicorn")
    logger.handlers = [_Structured(app.state.service.log)]
    logger.propagate = False
    logging.getLogger("python_multipart").setLevel(logging.CRITICAL)  # it logs bytes of forms

    class Protocol(_TimelyProtocol):
        seconds = header_seconds

    config = uvicorn.Config(
        app,
        # h11 limits the size of the headers (64 KiB); the faster parser has no limit.
        http=Protocol,
        ws="none",
        access_log=False,
        log_config=None,
        log_level="warning",
        timeout_graceful_shutdown=3,  # events of jobs never end by themselves
        timeout_keep_alive=30,
        server_header=False,
    )
    uvicorn.Server(config).run(sockets=[listening])


class _TimelyProtocol(H11Protocol):
    """Closes a connection whose first request does not begin in time (slow headers)."""

    seconds: float
    _late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._late = self.loop.call_later(self.seconds, transport.close)

    def handle_events(self) -> None:
        super().handle_events()
        if self.cycle is not None and self._late is not None:
            self._late.cancel()
            self._late = None

    def connection_lost(self, exc: Exception | None) -> None:
        if self._late is not None:
            self._late.cancel()
        super().connection_lost(exc)


class _Structured(logging.Handler):
    """Warnings of uvicorn as events: the constant part of the message, and the kind of error."""

    def __init__(self, log: ServerLog) -> None:
        super().__init__()
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        kind = record.exc_info[0] if record.exc_info else None
        said = str(record.msg).strip() if kind is None else kind.__name__
        self._log.event("http", error=said)
