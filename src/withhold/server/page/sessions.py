"""Logins of the page: a cookie that scripts cannot read and that other sites cannot send."""

from __future__ import annotations

import secrets
import time
from urllib.parse import urlsplit

from fastapi import Request
from fastapi.responses import RedirectResponse, Response

from withhold.server.access_token import digest, matches, read_digest
from withhold.server.problems import Problem
from withhold.server.request_checks import COOKIE
from withhold.server.service import Service


def has_session(service: Service, session: str) -> bool:
    """Whether a cookie is that of a login which has not ended."""
    known = digest(session)
    rows = service.database.rows("SELECT ends FROM sessions WHERE digest = ?", known)
    return bool(rows) and rows[0][0] >= time.time()


def end_sessions(service: Service) -> None:
    """End all logins: they were made with a token that is no longer valid."""
    service.database.change("DELETE FROM sessions")


def same_origin(request: Request) -> None:
    """A form must come from this very page. Every browser sends `Origin` with a form."""
    if request.method in ("GET", "HEAD"):
        return
    origin = urlsplit(request.headers.get("origin", ""))
    if not origin.netloc or origin.netloc != request.headers.get("host"):
        raise Problem(403, "this form was not sent by this page; open the page again")


def sign_in(service: Service, token: str) -> Response:
    """Start a session if the token is right, and go to the first page."""
    if not matches(token.strip(), read_digest(service.folder.token)):
        raise Problem(401, "this is not the token of this server")
    session = secrets.token_urlsafe(32)
    seconds = 3600 * service.settings.session_hours
    now = time.time()
    service.database.change("DELETE FROM sessions WHERE ends < ?", now)
    service.database.change("INSERT INTO sessions VALUES (?, ?)", digest(session), now + seconds)
    answer = RedirectResponse("/", 303)
    answer.set_cookie(
        COOKIE, session, max_age=int(seconds), path="/", httponly=True, samesite="strict"
    )
    return answer


def sign_out(service: Service, session: str) -> Response:
    """End a session."""
    service.database.change("DELETE FROM sessions WHERE digest = ?", digest(session))
    answer = RedirectResponse("/login", 303)
    answer.delete_cookie(COOKIE, path="/", httponly=True, samesite="strict")
    return answer
