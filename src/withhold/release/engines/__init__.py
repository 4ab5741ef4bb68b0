"""Where the passes over all records run: in this process, on Ray, or on Spark.

`open_engine` starts one by name for the commands. `ray`, `spark`, `dask` and `hugging_face` release
the datasets of those libraries where they are: `withhold.engines.ray.release(dataset, bundle)`.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from withhold.core.errors import UserError, did_you_mean
from withhold.release.engines.engine import Engine

# The module and the class of each engine, imported when it is chosen.
ENGINES = {
    "local": ("local_engine", "LocalEngine"),
    "ray": ("ray_engine", "RayEngine"),
    "spark": ("spark_engine", "SparkEngine"),
}
_OBJECTS = ("dask", "hugging_face", "ray", "spark")

__all__ = ["ENGINES", "Engine", "open_engine"]


def open_engine(name: str = "local", *, workers: int | None = None) -> Engine:
    """The engine of this name; a context manager that stops whatever it has started.

    workers: processes of Ray or Spark, or threads of this process; None: one for every core.
    """
    if name not in ENGINES:
        hint = did_you_mean(name, ENGINES) or f"; choose one of {', '.join(ENGINES)}"
        raise UserError(f"there is no engine '{name}'{hint}")
    if workers is not None and workers < 1:
        raise UserError(f"--workers {workers}: an engine needs at least 1")
    module, kind = ENGINES[name]
    made: Engine = getattr(import_module(f"{__name__}.{module}"), kind)(workers)
    return made


def __getattr__(name: str) -> Any:
    if name not in _OBJECTS:
        raise AttributeError(f"module 'withhold.engines' has no attribute '{name}'")
    return import_module(f"{__name__}.{name}")
