"""Requests made from the OpenAPI document, valid and not, with ids that exist mixed in."""

from __future__ import annotations

import random
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from withhold.bench.server_process import ServerProcess
from withhold.core.errors import UserError
from withhold.core.progress import Progress

DOCUMENTED = (504, 507)  # the answer takes too long; the disk is full
_REAL = 8  # one of so many requests with an id names something that exists


@dataclass(frozen=True)
class Fuzzed:
    """What the server answered. errors: answers of 5xx that are not documented."""

    requests: int
    operations: int
    errors: int
    answers: dict[int, int]


def fuzz(
    server: ServerProcess, ids: dict[str, str], *, requests: int, seconds: float, progress: Progress
) -> Fuzzed:
    """Ask this many times, but no longer than `seconds`.

    ids: something that exists, by the part of the path before its id, e.g. {"datasets": id}.
    """
    try:
        import schemathesis
        from hypothesis import HealthCheck, given, settings
        from hypothesis.errors import HypothesisException
    except ImportError as error:
        raise UserError(
            "fuzzing needs schemathesis; install it with pip install schemathesis, or set fuzzed: 0"
        ) from error
    bearer = {"Authorization": f"Bearer {server.token}"}
    address = server.address.rstrip("/")
    schema = schemathesis.openapi.from_url(f"{address}/api/v1/openapi.json", headers=bearer)
    results: Any = schema.get_all_operations()
    operations = [found.ok() for found in results]
    modes = [schemathesis.GenerationMode.POSITIVE, schemathesis.GenerationMode.NEGATIVE]
    answers: Counter[int] = Counter()
    choice = random.Random(0)
    end = time.monotonic() + seconds

    class Enough(Exception):
        """As many requests as were asked for, or as much time."""

    def ask(case: Any) -> None:
        if sum(answers.values()) >= requests or time.monotonic() > end:
            raise Enough
        part = case.operation.path.split("/")[3:4]
        kept = case.operation.method.upper() != "DELETE"  # what exists must stay for the others
        if kept and part and part[0] in ids and not choice.randrange(_REAL):
            parameters = dict(case.path_parameters or {})
            if "id" in parameters:
                case.path_parameters = parameters | {"id": ids[part[0]]}
        answer = case.call(base_url=address, headers=bearer, timeout=60)
        answers[answer.status_code] += 1
        stage.advance()

    with progress.stage("fuzzing", requests) as stage, suppress(Enough):
        while True:  # an operation without parameters has few different requests: go round again
            for operation in operations:
                for mode in modes:
                    tried = given(case=operation.as_strategy(generation_mode=mode))(ask)
                    tried = settings(
                        max_examples=max(requests // (2 * len(operations)), 1),
                        deadline=None,
                        database=None,
                        derandomize=True,
                        suppress_health_check=list(HealthCheck),
                    )(tried)
                    with suppress(HypothesisException):  # it cannot be asked wrongly
                        tried()
    errors = sum(n for status, n in answers.items() if status >= 500 and status not in DOCUMENTED)
    return Fuzzed(sum(answers.values()), len(operations), errors, dict(answers))
