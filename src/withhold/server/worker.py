"""The process that runs one job: `python -m withhold.server.worker FOLDER JOB`.

It holds a lock for as long as it lives, so that a job never runs twice at the same time, even if
the server was killed and started again. It can be killed at any moment: the actions resume.
"""

from __future__ import annotations

import os
import shutil
import sys
import traceback
from contextlib import suppress
from functools import partial
from pathlib import Path

from withhold.core.errors import UserError
from withhold.server.database import Database
from withhold.server.job_progress import JobProgress
from withhold.server.job_store import Job, JobStore
from withhold.server.private_folder import PrivateFolder, take_lock, without_paths

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
        shutil.rmtree(folder.scratch(id), ignore_errors=True)  # copies of records
        database.close()
        os.close(lock)


def lock_path(folder: PrivateFolder, id: str) -> Path:
    """The file that the worker of a job locks."""
    return folder.job(id) / "lock"


def _run(store: JobStore, folder: PrivateFolder, job: Job) -> None:
    from withhold.server.run_job import run_job  # imports the actions, which takes time

    progress = JobProgress(store, job.id, clean=partial(without_paths, folder=folder))
    try:
        store.finish(job.id, run_job(folder, job, progress))
    except UserError as error:
        store.fail(job.id, without_paths(str(error), folder)[:_LONGEST])
    except MemoryError:
        store.fail(job.id, NO_MEMORY)
    except Exception as error:
        traceback.print_exc()
        out_of_memory = "can't allocate memory" in str(error)  # how torch reports it
        store.fail(job.id, NO_MEMORY if out_of_memory else BUG)


def _expendable() -> None:
    """If memory runs out, the system should stop this process, and not the server."""
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("800")


if __name__ == "__main__":
    _expendable()
    with suppress(KeyboardInterrupt):
        sys.exit(run_worker(Path(sys.argv[1]), sys.argv[2]))
