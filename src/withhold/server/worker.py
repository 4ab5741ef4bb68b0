"""The process that runs one job: `python -m withhold.server.worker FOLDER JOB`.

It holds a lock for as long as it lives, so that a job never runs twice at the same time, even if
the server was killed and started again. It can be killed at any moment: the actions resume.
"""

from __future__ import annotations

import os
import sys
import traceback
from contextlib import suppress
from pathlib import Path

from withhold.core.errors import UserError
from withhold.server.database import Database
from withhold.server.job_progress import JobProgress
from withhold.server.job_store import Job, JobStore
from withhold.server.private_folder import PrivateFolder, take_lock

BUSY = 75  # exit code: another process runs this job
NO_MEMORY = "there is not enough memory for this job; use fewer records"
BUG = "this is a bug in withhold; the log of the worker is in the folder of the job"
_LONGEST = 2000  # characters of an error


def run_worker(root: Path, id: str) -> int:
    """Run the job to its end, and write its result or its error; returns the exit code."""
    folder = PrivateFolder(root)
    lock = take_lock(lock_path(folder, id))
    if lock is None:
        return BUSY
    database = Database(folder.database)
    try:
        store = JobStore(database)
        if not store.run_by(id, os.getpid()):
            return 0  # it was cancelled before it began
        job = store.find(id)
        assert job is not None
        _run(store, folder, job)
        return 0
    finally:
        database.close()
        os.close(lock)


def lock_path(folder: PrivateFolder, id: str) -> Path:
    """The file that the worker of a job locks."""
    return folder.job(id) / "lock"


def _run(store: JobStore, folder: PrivateFolder, job: Job) -> None:
    from withhold.server.run_job import run_job  # imports the actions, which takes time

    try:
        store.finish(job.id, run_job(folder, job, JobProgress(store, job.id)))
    except UserError as error:
        store.fail(job.id, _without_paths(str(error), folder, job.id))
    except MemoryError:
        store.fail(job.id, NO_MEMORY)
    except Exception as error:
        traceback.print_exc()
        out_of_memory = "can't allocate memory" in str(error)  # how torch reports it
        store.fail(job.id, NO_MEMORY if out_of_memory else BUG)


def _without_paths(line: str, folder: PrivateFolder, id: str) -> str:
    """An error for the client: file names instead of paths of this machine, on one line."""
    for place in (folder.output(id), folder.private(id), folder.job(id), folder.root):
        line = line.replace(f"{place}/", "").replace(str(place), place.name)
    words = [w.rpartition("/")[2] if w.startswith("uploads/") else w for w in line.split()]
    return " ".join(words)[:_LONGEST]


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        sys.exit(run_worker(Path(sys.argv[1]), sys.argv[2]))
