"""What the handlers of the API and of the page share: the stores, the workers, and waiting."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from withhold.server.database import Database
from withhold.server.dataset_store import DatasetStore, Upload
from withhold.server.job_requests import AnyJob, AuditJob, CertifyJob, TransformJob
from withhold.server.job_store import Job, JobStore, QueueFull
from withhold.server.private_folder import PrivateFolder
from withhold.server.problems import Problem, missing
from withhold.server.server_figures import Metrics
from withhold.server.server_log import ServerLog
from withhold.server.server_settings import ServerSettings
from withhold.server.supervisor import Supervisor

T = TypeVar("T")
_POLL = 0.1  # seconds between two looks at a job that is waited for


class Service:
    """One server without HTTP."""

    def __init__(self, settings: ServerSettings, log: ServerLog) -> None:
        self.settings, self.log = settings, log
        self.folder = PrivateFolder(settings.folder.absolute())
        self.folder.make()
        self.database = Database(self.folder.database)
        self.jobs = JobStore(self.database)
        self.datasets = DatasetStore(self.database, self.folder)
        self.folder.sweep("uploads", {one.id for one in self.datasets.uploads()})
        self.folder.sweep("jobs", self.jobs.ids())
        self.metrics = Metrics()
        self.workers = Supervisor(settings, self.folder, self.jobs, self.datasets, log)

    def upload(self, id: str) -> Upload:
        """An upload, or a 404."""
        found = self.datasets.find(id)
        if found is None:
            raise missing("dataset")
        return found

    def job(self, id: str) -> Job:
        """A job, or a 404."""
        found = self.jobs.find(id)
        if found is None:
            raise missing("job")
        return found

    def bundles(self) -> list[Job]:
        """Jobs that made a bundle, the newest first."""
        done = self.jobs.jobs(state="done")
        return [job for job in done if job.kind in ("fit", "release") and self._made_bundle(job)]

    def bundle(self, id: str) -> Job:
        """The job that made a bundle, or a 404."""
        found = self.jobs.find(id)
        made = found is not None and found.kind in ("fit", "release") and found.state == "done"
        if found is None or not made or not self._made_bundle(found):
            raise missing("bundle")
        return found

    def add(self, asked: AnyJob) -> Job:
        """Queue a job after a look at the ids that it names; 404 or 429 if that cannot be."""
        self.upload(asked.dataset)
        if isinstance(asked, AuditJob) and asked.release is not None:
            self.upload(asked.release)
        if isinstance(asked, TransformJob | CertifyJob):
            self.bundle(asked.bundle)
        try:
            id = self.jobs.add(asked, most_queued=self.settings.most_queued)
        except QueueFull:
            raise Problem(
                429,
                f"{self.settings.most_queued} jobs are waiting; try again when some are done",
                headers={"retry-after": "10"},
            ) from None
        self.log.event("job_queued", job=id, kind=asked.kind)
        return self.job(id)

    def once(self, asked: AnyJob) -> Job:
        """The job that was asked the same before, or a new one."""
        self.upload(asked.dataset)
        return self.jobs.same(asked) or self.add(asked)

    async def waited(self, id: str, seconds: float) -> Job:
        """The job when it is over, or as it is after so many seconds."""
        end = time.monotonic() + seconds
        while True:
            job = await in_thread(self.job, id)
            if job.is_over or time.monotonic() >= end:
                return job
            await asyncio.sleep(_POLL)

    async def finished(self, id: str) -> Job:
        """The job when it is done; 422 if it failed, 504 if it takes too long."""
        job = await self.waited(id, self.settings.answer_seconds)
        if job.state == "failed":
            raise Problem(422, job.error or "the job failed")
        if job.state == "cancelled":
            raise Problem(409, "the job was cancelled")
        if job.state != "done":
            raise TooLong(job.id, self.settings.answer_seconds)
        return job

    def files(self, job: Job) -> dict[str, Path]:
        """What may be downloaded of a job that is done, by name."""
        if job.state != "done":
            raise Problem(409, f"the job is {job.state}; there are results when it is done")
        place = self.folder.output(job.id)
        found = sorted(place.iterdir()) if place.is_dir() else []
        return {path.name: path for path in found if path.is_file() and not path.is_symlink()}

    def remove_job(self, id: str) -> None:
        """Forget a job that is over, with its bundle and all results."""
        self.job(id)
        if self.jobs.needed(id):
            raise Problem(409, "a job needs this bundle; cancel it first")
        if not self.jobs.remove(id):
            raise Problem(409, "the job is not over; cancel it first")
        self.folder.remove_job(id)

    def remove_upload(self, id: str) -> None:
        """Remove an upload, unless a job needs it."""
        self.upload(id)
        if self.jobs.needed(id):
            raise Problem(409, "a job needs this dataset; cancel it first")
        self.datasets.remove(id)

    def _made_bundle(self, job: Job) -> bool:
        return self.folder.bundle(job.id).is_dir()


class TooLong(Problem):
    """The answer takes longer than the limit; the job goes on."""

    def __init__(self, job: str, seconds: float) -> None:
        super().__init__(
            504, f"this takes longer than {seconds:.0f} s; the job goes on: ask for it by its id"
        )
        self.job = job


async def in_thread(call: Callable[..., T], *values: Any) -> T:
    """A call that waits for the disk, outside the event loop."""
    return await asyncio.to_thread(call, *values)
