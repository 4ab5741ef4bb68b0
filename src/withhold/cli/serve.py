"""`withhold serve`: the HTTP API and the page, on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from withhold.cli.help import option
from withhold.core.errors import UserError

LIMITS = "Limits"


def serve(
    folder: Annotated[
        Path, option("Private folder for uploads, jobs and bundles.", None, "--folder")
    ] = Path("withhold-server"),
    host: Annotated[str, option("Address to listen on.", None)] = "127.0.0.1",
    port: Annotated[int, option("Port to listen on; 0: any free one.", None, min=0)] = 8765,
    allow_host: Annotated[
        list[str] | None,
        option("A further name under which browsers may reach the server. Repeatable.", None),
    ] = None,
    new_token: Annotated[
        bool, option("Make a new token; the old one is no longer valid.", None, "--new-token")
    ] = False,
    workers: Annotated[int, option("Jobs that run at the same time.", LIMITS, min=1)] = 1,
    most_queued: Annotated[int, option("Jobs that may wait; more get 429.", LIMITS, min=1)] = 32,
    upload_mebibytes: Annotated[
        int, option("Size limit of one upload, in MiB; more gets 413.", LIMITS, min=1)
    ] = 1024,
    stored_mebibytes: Annotated[
        int, option("Size limit of all uploads together, in MiB.", LIMITS, min=1)
    ] = 10_240,
    job_minutes: Annotated[float, option("Time limit of a job.", LIMITS)] = 360,
    answer_seconds: Annotated[
        float, option("Longest wait for an inspection or a transform; then 504.", LIMITS)
    ] = 60,
    keep_hours: Annotated[float, option("Age at which uploads are removed.", LIMITS)] = 24,
) -> None:
    """Serve the HTTP API and the page.

    The access token is made at the first start and shown once; only its hash is stored. Stop the
    server with Ctrl-C: jobs that were running resume at the next start.
    """
    from pydantic import ValidationError

    from withhold.server.serve import serve as run_server
    from withhold.server.server_settings import ServerSettings

    try:
        settings = ServerSettings(
            folder=folder,
            host=host,
            port=port,
            hosts=tuple(allow_host or ()),
            workers=workers,
            most_queued=most_queued,
            upload_mebibytes=upload_mebibytes,
            stored_mebibytes=stored_mebibytes,
            job_seconds=60 * job_minutes,
            answer_seconds=answer_seconds,
            keep_hours=keep_hours,
        )
    except ValidationError as error:
        first = error.errors()[0]
        flag = str(first["loc"][0]).replace("job_seconds", "job_minutes").replace("_", "-")
        raise UserError(f"--{flag} {first['input']}: {first['msg'].lower()}") from error
    run_server(settings, new_token=new_token, tell=_tell)


def _tell(address: str, token: str | None) -> None:
    typer.echo(f"serving on {address}")
    if token is not None:
        typer.echo(f"token (shown only once): {token}")
