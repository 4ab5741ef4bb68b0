"""Logs of a run that other tools show: TensorBoard and MLflow. Off unless the user names one.

Only numbers and short names are logged: no record, no label, no key.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from withhold.core.atomic import writing_to
from withhold.core.errors import UserError, did_you_mean

_ODD = re.compile(r"[^\w./ -]", re.ASCII)  # what MLflow refuses in the name of a metric
_EXPERIMENT = "withhold"


class RunLog(Protocol):
    """Where the numbers of one run go."""

    def number(self, name: str, value: float, step: int) -> None:
        """One figure, e.g. the loss of an epoch."""

    def facts(self, found: Mapping[str, str | float]) -> None:
        """What the run was: method, seed, settings."""

    def close(self) -> None:
        """Write what is left."""


def open_log(spec: str, run: str) -> RunLog:
    """The log that a user named: tensorboard:DIR or mlflow:DIR. `run` is the name of the run."""
    kind, _, folder = spec.partition(":")
    if kind not in _KINDS:
        raise UserError(
            f"--log {spec}: there is no log '{kind}'{did_you_mean(kind, _KINDS)}; use"
            " tensorboard:DIR or mlflow:DIR"
        )
    if not folder or "://" in spec:
        raise UserError(f"--log {spec}: name a folder, e.g. {kind}:runs")
    target = Path(folder)
    if target.exists() and not target.is_dir():
        raise UserError(f"--log {spec}: {folder} is a file; name a folder")
    with writing_to(target):
        target.mkdir(parents=True, exist_ok=True)
    made: RunLog = _KINDS[kind](target, run)
    return made


class RunLogs:
    """Several logs as one; none of them is the default. Names are made safe here."""

    def __init__(self, specs: Sequence[str] | str, run: str) -> None:
        given = [specs] if isinstance(specs, str) else specs
        self._logs = [open_log(spec, run) for spec in given]

    def number(self, name: str, value: float, step: int = 0) -> None:
        """One figure, in every log."""
        for log in self._logs:
            log.number(_ODD.sub("_", name)[:200], float(value), step)

    def facts(self, found: Mapping[str, str | float]) -> None:
        """What the run was, in every log."""
        for log in self._logs:
            log.facts(found)

    def __enter__(self) -> RunLogs:
        return self

    def __exit__(self, *error: object) -> None:
        for log in self._logs:
            log.close()


class TensorBoardLog:
    """Event files, in a folder of their own for every run."""

    def __init__(self, folder: Path, run: str) -> None:
        tensorboard = _needed("torch.utils.tensorboard", "tensorboard")
        self._writer: Any = tensorboard.SummaryWriter(str(_new_folder(folder, run)))

    def number(self, name: str, value: float, step: int) -> None:
        """A scalar."""
        self._writer.add_scalar(name, value, step)

    def facts(self, found: Mapping[str, str | float]) -> None:
        """A text: a table of names and values."""
        lines = [f"| {name} | {value} |" for name, value in found.items()]
        self._writer.add_text("run", "\n".join(["| | |", "|---|---|", *lines]))

    def close(self) -> None:
        """Write what is left."""
        self._writer.close()


class MlflowLog:
    """A run of the experiment `withhold`, in MLflow's files; no user or file name is stored."""

    def __init__(self, folder: Path, run: str) -> None:
        # MLflow sends usage figures unless told not to, and asks before it uses plain files.
        os.environ["MLFLOW_DISABLE_TELEMETRY"] = "true"
        os.environ.setdefault("MLFLOW_ALLOW_FILE_STORE", "true")
        tracking = _needed("mlflow.tracking", "mlflow-skinny")
        self._client: Any = tracking.MlflowClient(tracking_uri=folder.resolve().as_uri())
        known = self._client.get_experiment_by_name(_EXPERIMENT)
        where = (
            self._client.create_experiment(_EXPERIMENT) if known is None else known.experiment_id
        )
        self._run: str = self._client.create_run(where, run_name=run).info.run_id

    def number(self, name: str, value: float, step: int) -> None:
        """A metric."""
        self._client.log_metric(self._run, name, value, step=step)

    def facts(self, found: Mapping[str, str | float]) -> None:
        """Parameters."""
        for name, value in found.items():
            self._client.log_param(self._run, _ODD.sub("_", name), value)

    def close(self) -> None:
        """Mark the run as finished."""
        self._client.set_terminated(self._run)


_KINDS: dict[str, Any] = {"tensorboard": TensorBoardLog, "mlflow": MlflowLog}


def _new_folder(folder: Path, run: str) -> Path:
    """RUN-1, RUN-2, …: TensorBoard draws all events of one folder as one line."""
    number = 1
    while True:
        made = folder / f"{_ODD.sub('_', run).replace('/', '_')}-{number}"
        try:
            made.mkdir()
        except FileExistsError:
            number += 1
        else:
            return made


def _needed(module: str, package: str) -> Any:
    try:
        return import_module(module)
    except ImportError as error:
        raise UserError(
            f"--log needs the package {package}: pip install 'withhold[log]'"
        ) from error
