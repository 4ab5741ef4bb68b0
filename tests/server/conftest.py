"""A server in this process with its own folder; its workers are real processes."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.csv as pc
import pytest
from starlette.testclient import TestClient

from withhold.datasets.worlds import census
from withhold.server.access_token import make_token
from withhold.server.app import create_app
from withhold.server.dataset_store import format_of
from withhold.server.private_folder import PrivateFolder
from withhold.server.server_log import ServerLog
from withhold.server.server_settings import ServerSettings
from withhold.server.service import Service


@dataclass
class Served:
    """A running server and a client that has its token."""

    client: TestClient
    service: Service
    token: str
    log: io.StringIO

    def upload(self, data: bytes, name: str = "people.csv") -> str:
        params = {"name": name, "format": format_of(name)}
        made = self.client.post("/api/v1/datasets", params=params, content=data)
        assert made.status_code == 201, made.text
        found: str = made.json()["id"]
        return found

    def start(self, **asked: Any) -> str:
        made = self.client.post("/api/v1/jobs", json=asked)
        assert made.status_code == 202, made.text
        found: str = made.json()["id"]
        return found

    def job(self, id: str) -> dict[str, Any]:
        found: dict[str, Any] = self.client.get(f"/api/v1/jobs/{id}").json()
        return found


Serve = Callable[..., Served]


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """Start a server with these settings; `work=False`: without looking after jobs."""
    running: list[TestClient] = []

    def start(*, work: bool = True, **settings: Any) -> Served:
        chosen = ServerSettings(folder=tmp_path / "served", **settings)
        folder = PrivateFolder(chosen.folder)
        folder.make()
        token = make_token(folder.token)
        log = io.StringIO()
        app = create_app(chosen, log=ServerLog(log))
        client = TestClient(
            app, base_url="http://127.0.0.1", headers={"Authorization": f"Bearer {token}"}
        )
        if work:
            client.__enter__()
            running.append(client)
        return Served(client, app.state.service, token, log)

    yield start
    for client in running:
        client.__exit__(None, None, None)


def people(
    n: int = 200, *, columns: tuple[str, ...] = ("sex", "income", "hours_per_week")
) -> bytes:
    """A small census as CSV."""
    out = io.BytesIO()
    pc.write_csv(census(n, seed=1).select(columns), out)
    return out.getvalue()
