"""The engine `spark`: tasks on the Python workers of a Spark session.

The session of this program is used as it is. Otherwise one is started, on the master that
WITHHOLD_SPARK_MASTER names or on this machine, and stopped at the end. Spark needs Java 17.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import Any, Self

from withhold.core.errors import UserError
from withhold.learn.nets.device import core_count
from withhold.release.engines.engine import AHEAD, Engine, InWorker, Made, Task, opened
from withhold.release.engines.optional_engine import needed

MASTER = "WITHHOLD_SPARK_MASTER"
_TRIES = 4  # times that a task is run before the job fails; a killed worker costs one
_WAVES = 2  # jobs at a time, so that no worker waits for the end of another job


class SparkEngine(Engine):
    """Waves of tasks, one Spark job each. Spark repeats the task of a killed worker."""

    name = "spark"

    def __init__(self, workers: int | None = None) -> None:
        self._asked, self.workers = workers, workers or core_count()
        self.session: Any = None
        self._started: str | None = None

    def __enter__(self) -> Self:
        self.session, self._started = start_spark(self._asked)
        self.workers = self._asked or int(self.session.sparkContext.defaultParallelism)
        return self

    def stop(self) -> None:
        """End the session that was started here."""
        stop_spark(self.session, self._started)
        self.session = None

    def map(self, function: Callable[[Task], Made], tasks: Iterable[Task]) -> Iterator[Made]:
        """`workers` times three tasks are a job; two jobs run at a time."""
        context = self.session.sparkContext
        shared = context.broadcast(InWorker(function))  # a worker loads it once
        left = iter(tasks)
        jobs: deque[Future[list[Any]]] = deque()

        def collected(wave: list[Task]) -> list[Any]:
            numbered = context.parallelize(wave, len(wave))
            found: list[Any] = numbered.map(lambda task: shared.value(task)).collect()
            return found

        pool = ThreadPoolExecutor(_WAVES)
        try:
            while True:
                while len(jobs) < _WAVES and (wave := list(islice(left, AHEAD * self.workers))):
                    jobs.append(pool.submit(collected, wave))
                if not jobs:
                    break
                for found in jobs.popleft().result():
                    yield opened(found)
        except needed("py4j.protocol").Py4JJavaError as error:
            why = str(error.java_exception).splitlines()[0][:200]
            raise UserError(
                f"Spark could not run a task ({why}); see its logs, or use --engine local"
            ) from error
        finally:
            if jobs:  # not all were read
                context.cancelAllJobs()
            pool.shutdown()
            shared.destroy()


def start_spark(cpus: int | None = None) -> tuple[Any, str | None]:
    """The active session and None, or a new session and the folder of its files."""
    sql = needed("pyspark.sql")
    active = sql.SparkSession.getActiveSession()
    if active is not None:
        return active, None
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    folder = tempfile.mkdtemp(prefix="withhold-spark-")
    master = os.environ.get(MASTER) or f"local[{cpus or core_count()},{_TRIES}]"
    settings = {
        "spark.app.name": "withhold",
        "spark.master": master,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.local.dir": folder,
        "spark.sql.warehouse.dir": os.path.join(folder, "warehouse"),
        "spark.driver.memory": "2g",
        "spark.log.level": "ERROR",
    }
    if master.startswith("local"):
        settings |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    builder = sql.SparkSession.builder
    for name, value in settings.items():
        builder = builder.config(name, value)
    try:
        return builder.getOrCreate(), folder
    except Exception as error:
        shutil.rmtree(folder, ignore_errors=True)
        first = str(error).strip().splitlines()[0][:200]
        raise UserError(
            f"Spark could not be started ({first}); it needs Java 17 or newer"
        ) from error


def stop_spark(session: Any, started: str | None) -> None:
    """Stop the session that `start_spark` started."""
    if started is not None:
        session.stop()
        shutil.rmtree(started, ignore_errors=True)
