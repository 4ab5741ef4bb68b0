"""Run the server: the token at the first start, one server for each folder, then uvicorn."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable

from withhold.core.errors import UserError
from withhold.server.access_token import make_token
from withhold.server.private_folder import PrivateFolder, take_lock
from withhold.server.server_settings import ServerSettings


def serve(
    settings: ServerSettings,
    *,
    new_token: bool = False,
    tell: Callable[[str, str | None], None],
) -> None:
    """Serve until the process is interrupted.

    `tell` gets the address, and the token if it was made now: it is shown once and stored nowhere.
    """
    try:
        from withhold.server.app import create_app
        from withhold.server.http_server import run_http
        from withhold.server.page.sessions import end_sessions
    except ImportError as error:
        raise UserError(
            f"the server needs {error.name}; install it with: pip install 'withhold[serve]'"
        ) from error
    folder = PrivateFolder(settings.folder.absolute())
    folder.make()
    lock = take_lock(folder.root / "server.lock")
    if lock is None:
        raise UserError(f"another server uses {settings.folder}; stop it, or name another --folder")
    try:
        listening = _listen(settings)
        token = None
        if new_token or not folder.token.exists():
            token = make_token(folder.token)
        app = create_app(settings)
        if token is not None:
            end_sessions(app.state.service)
        host, port = listening.getsockname()[:2]
        tell(f"http://{f'[{host}]' if ':' in host else host}:{port}/", token)
        run_http(app, listening, header_seconds=settings.header_seconds)
    finally:
        os.close(lock)


def _listen(settings: ServerSettings) -> socket.socket:
    """The socket of the server, so that a port that is taken is reported before anything starts."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    # With the protocol named, asyncio turns off Nagle's algorithm, which costs 40 ms per answer.
    made = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((settings.host, settings.port))
        made.listen(256)
    except OSError as error:
        made.close()
        raise UserError(
            f"cannot listen on {settings.host} port {settings.port}: {error.strerror or error};"
            " choose another --host or --port"
        ) from error
    return made
