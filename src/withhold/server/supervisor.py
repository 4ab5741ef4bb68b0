"""Starts a worker process for each queued job, watches it, and stops what takes too long.

A worker outlives the server if the server is killed. The next server finds it by its lock and
waits for it; a running job without a living worker is queued again.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress

from withhold.server.dataset_store import DatasetStore
from withhold.server.job_store import Job, JobStore
from withhold.server.private_folder import PrivateFolder, is_locked
from withhold.server.server_log import ServerLog
from withhold.server.server_settings import ServerSettings
from withhold.server.worker import BUSY, lock_path

TICK = 0.2  # seconds between two looks at the workers
SWEEP = 60.0  # seconds between two removals of old uploads


class Supervisor:
    """The workers of one server."""

    def __init__(
        self,
        settings: ServerSettings,
        folder: PrivateFolder,
        jobs: JobStore,
        datasets: DatasetStore,
        log: ServerLog,
    ) -> None:
        self.settings, self.folder, self.log = settings, folder, log
        self.jobs, self.datasets = jobs, datasets
        self._own: dict[str, subprocess.Popen[bytes]] = {}
        self._swept = 0.0
        self._turn = threading.Lock()
        self._stopped = False

    async def run(self) -> None:
        """Look at the workers until the task is cancelled."""
        while True:
            try:
                await asyncio.to_thread(self.look)
            except Exception as error:  # a full disk must not stop the server for good
                self.log.event("supervisor_error", error=type(error).__name__)
                await asyncio.sleep(1)
            await asyncio.sleep(TICK)

    def look(self) -> None:
        """One look: collect what ended, stop what is late, start what waits."""
        with self._turn:
            if self._stopped:
                return
            self._collect()
            alive = self._alive()
            while len(alive) < self.settings.workers:
                job = self.jobs.claim()
                if job is None:
                    break
                self._start(job)
                alive.add(job.id)
            if time.monotonic() - self._swept > SWEEP:
                self._swept = time.monotonic()
                removed = self.datasets.remove_older(3600 * self.settings.keep_hours)
                if removed:
                    self.log.event("uploads_removed", count=removed)

    def cancel(self, id: str) -> bool:
        """Cancel a job and stop its worker; False if it was over already."""
        with self._turn:
            job = self.jobs.find(id)
            if job is None or not self.jobs.cancel(id):
                return False
            self._stop(self.jobs.find(id) or job)
            self._tidy(id)
        self.log.event("job_cancelled", job=id, kind=job.kind)
        return True

    def stop(self) -> None:
        """Stop all workers of this server; their jobs are queued and resume at the next start."""
        with self._turn:
            self._stopped = True
            for id in list(self._own):
                job = self.jobs.find(id)
                if job is not None:
                    self._stop(job)
                self._own.pop(id).wait()
                if self.jobs.requeue(id, stopped=True):
                    self.log.event("job_requeued", job=id)

    def _start(self, job: Job) -> None:
        self.folder.make_job(job.id)
        scratch = self.folder.scratch(job.id)
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir(mode=0o700)
        handle = os.open(
            self.folder.private(job.id) / "worker.log",
            os.O_WRONLY | os.O_CREAT | os.O_TRUNC,
            0o600,
        )
        with os.fdopen(handle, "wb") as log:
            self._own[job.id] = subprocess.Popen(
                # -P: no module is imported from the working folder
                [sys.executable, "-P", "-m", "withhold.server.worker", self.folder.root, job.id],
                env={**os.environ, "TMPDIR": str(scratch)},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # a group of its own, which can be stopped as a whole
            )
        self.log.event("job_started", job=job.id, kind=job.kind, attempt=job.attempts)

    def _collect(self) -> None:
        """Workers of ours that ended, and running jobs whose worker vanished or is late."""
        for id, process in list(self._own.items()):
            code = process.poll()
            if code is None:
                job = self.jobs.find(id)
                if job is not None and job.is_over:
                    self._stop(job)  # its libraries may take seconds to leave
                continue
            del self._own[id]
            job = self.jobs.find(id)
            if code != BUSY and job is not None:
                if self.jobs.fail(id, f"the worker ended before its time ({_ending(code)})"):
                    self.log.event("worker_lost", job=id, kind=job.kind, code=code)
                self._tidy(id)
                self._log_end(id)
        for job in self.jobs.jobs(state="running"):
            if job.started is not None and time.time() - job.started > self.settings.job_seconds:
                limit = f"{self.settings.job_seconds:,.0f} s"
                if self.jobs.fail(job.id, f"the job took longer than {limit} and was stopped"):
                    self._stop(job)
                    self._tidy(job.id)
                    self._log_end(job.id)
            elif job.id not in self._own and not is_locked(lock_path(self.folder, job.id)):
                self._take_up(job.id)

    def _take_up(self, id: str) -> None:
        """A running job without a worker: queue it again, unless that happened too often."""
        job = self.jobs.find(id)
        if job is None or job.state != "running":
            return  # its worker has ended it in the meantime
        if job.attempts >= self.settings.attempts:
            self.jobs.fail(id, f"the worker vanished {job.attempts} times; the job was given up")
            self._log_end(id)
        elif self.jobs.requeue(id):
            self.log.event("job_requeued", job=id, kind=job.kind)

    def _alive(self) -> set[str]:
        """Jobs with a living worker, of this server or of one before it."""
        running = {job.id for job in self.jobs.jobs(state="running")}
        return running | set(self._own)

    def _stop(self, job: Job) -> None:
        """Kill the worker and all its processes. Actions can be killed at any moment."""
        own = self._own.get(job.id)
        pid = own.pid if own is not None else job.pid
        held = own is not None or is_locked(lock_path(self.folder, job.id))
        if pid is not None and held:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(pid, signal.SIGKILL)

    def _tidy(self, id: str) -> None:
        """Remove what a job no longer needs; results stay only if it is done."""
        shutil.rmtree(self.folder.scratch(id), ignore_errors=True)
        job = self.jobs.find(id)
        if job is None or job.state != "done":
            shutil.rmtree(self.folder.output(id), ignore_errors=True)

    def _log_end(self, id: str) -> None:
        job = self.jobs.find(id)
        if job is not None and job.ended is not None:
            took = round(job.ended - (job.started or job.ended), 3)
            self.log.event("job_ended", job=id, kind=job.kind, state=job.state, seconds=took)


def _ending(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    hint = "; there may be too little memory" if code == -signal.SIGKILL else ""
    return f"signal {-code}{hint}"
