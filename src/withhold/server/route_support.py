"""What the routes share: how to find the service, and how their answers are described."""

from __future__ import annotations

from typing import Any

from fastapi import Request

from withhold.server.problems import ProblemBody
from withhold.server.service import Service

_SAID = {
    400: "The Host header names another server.",
    401: "The token is missing or wrong.",
    404: "There is no such thing.",
    408: "The body stopped coming.",
    409: "The job is not in a state for this.",
    413: "The request is too large.",
    422: "The request, or the data, is not valid.",
    429: "Too many requests or jobs.",
    504: "The answer takes too long; the job goes on.",
    507: "The disk is full.",
}
_BODY = ProblemBody.__name__
FILE = {"type": "string", "format": "binary", "minLength": 1}
BINARY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {"application/octet-stream": {"schema": FILE}},
    }
}


def service_of(request: Request) -> Service:
    """The service of the app that got the request."""
    found: Service = request.app.state.service
    return found


def answers(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The answers of a route that are not a success, for OpenAPI."""
    # By reference, because FastAPI would give a `model` the content type of the success.
    content = {"application/json": {"schema": {"$ref": f"#/components/schemas/{_BODY}"}}}
    return {status: {"description": _SAID[status], "content": content} for status in statuses}


def stream(kind: str) -> dict[str, Any]:
    """An answer that does not end at once, for OpenAPI."""
    return {"description": "The stream.", "content": {kind: {}}}


def binary(*types: str) -> dict[str, Any]:
    """An answer that is a file of one of these types, for OpenAPI."""
    schema = {"schema": {"type": "string", "format": "binary"}}
    return {"description": "The file.", "content": dict.fromkeys(types, schema)}
