"""schemathesis: requests made from the OpenAPI schema, valid and not, find no server error."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable

from withhold.server.access_token import make_token
from withhold.server.app import create_app
from withhold.server.private_folder import PrivateFolder
from withhold.server.server_log import ServerLog
from withhold.server.server_settings import ServerSettings

schemathesis = pytest.importorskip("schemathesis", reason="schemathesis is not installed")
EXAMPLES = int(os.environ.get("WITHHOLD_FUZZ", "12"))  # for each of the operations


@pytest.fixture(scope="module")
def schema(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The schema of a server that starts no jobs, with one upload and one job."""
    chosen = ServerSettings(
        folder=tmp_path_factory.mktemp("served") / "folder",
        answer_seconds=0.05,
        most_queued=10_000,
        hosts=("testserver",),
    )
    folder = PrivateFolder(chosen.folder)
    folder.make()
    token = make_token(folder.token)
    with open(os.devnull, "w") as nowhere:
        app = create_app(chosen, log=ServerLog(nowhere))
        loaded = schemathesis.openapi.from_asgi(
            "/api/v1/openapi.json", app, headers={"Authorization": f"Bearer {token}"}
        )
        loaded.config.update(headers={"Authorization": f"Bearer {token}"})
        yield loaded


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["POSITIVE", "NEGATIVE"])
def test_no_server_error(schema: Any, mode: str) -> None:
    """Every check of schemathesis; a 504 is documented, and means that the job goes on."""
    from schemathesis.checks import not_a_server_error

    tried = 0
    for found in schema.get_all_operations():
        operation = found.ok()
        chosen = schemathesis.GenerationMode[mode]

        @settings(
            max_examples=EXAMPLES,
            deadline=None,
            derandomize=True,
            database=None,
            suppress_health_check=list(HealthCheck),
        )
        @given(case=operation.as_strategy(generation_mode=chosen))
        def ask(case: Any) -> None:
            nonlocal tried
            answer = case.call_and_validate(excluded_checks=[not_a_server_error])
            assert answer.status_code < 500 or answer.status_code == 504
            tried += 1

        with suppress(Unsatisfiable):  # an operation without parameters cannot be asked wrongly
            ask()
    assert tried > 10 * EXAMPLES
