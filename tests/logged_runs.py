"""Read what a run logged, with the tools' own readers."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

Figures = dict[str, dict[int, float]]  # by name and step


def tensorboard_figures(folder: Path) -> Figures:
    """All scalars of all runs in a folder."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    found: Figures = {}
    for run in sorted(folder.iterdir()):
        events = EventAccumulator(str(run))
        events.Reload()
        for name in events.Tags()["scalars"]:
            found.setdefault(name, {}).update({e.step: e.value for e in events.Scalars(name)})
    return found


def mlflow_figures(folder: Path) -> Figures:
    """All metrics of all runs in a folder."""
    os.environ["MLFLOW_DISABLE_TELEMETRY"] = "true"
    os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from mlflow.tracking import MlflowClient

        client = MlflowClient(tracking_uri=folder.resolve().as_uri())
        experiment = client.get_experiment_by_name("withhold")
        assert experiment is not None
        found: Figures = {}
        for run in client.search_runs([experiment.experiment_id]):
            for name in run.data.metrics:
                history = client.get_metric_history(run.info.run_id, name)
                found.setdefault(name, {}).update({m.step: m.value for m in history})
    return found
