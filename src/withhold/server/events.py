"""Server-sent events: how far a job is, until it is over."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator

from withhold.server.api_models import JobAnswer
from withhold.server.service import Service, in_thread

EVERY = 0.4  # seconds between two looks
BEAT = 15.0  # seconds after which a comment keeps the connection open


async def job_events(service: Service, id: str) -> AsyncIterator[bytes]:
    """`progress` whenever something changed, then `end`; each has the job as JSON."""
    before, beat = "", time.monotonic()
    while True:
        job = await in_thread(service.jobs.find, id)
        if job is None:
            yield _event("end", json.dumps({"error": "the job was removed"}))
            return
        text = JobAnswer.of(job, await in_thread(service.jobs.messages, id)).model_dump_json()
        if job.is_over:
            yield _event("end", text)
            return
        if text != before:
            before, beat = text, time.monotonic()
            yield _event("progress", text)
        elif time.monotonic() - beat > BEAT:
            beat = time.monotonic()
            yield b": waiting\n\n"
        await asyncio.sleep(EVERY)


def _event(name: str, text: str) -> bytes:
    return f"event: {name}\ndata: {text}\n\n".encode()
