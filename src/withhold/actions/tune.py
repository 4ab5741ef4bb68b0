"""Search the settings of one method with Optuna, judged like every row of a comparison.

The search maximises what is kept among settings that meet the limits. A setting that does not meet
them scores minus its excess, so that the search finds its way to those that do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from withhold.actions.compare_case import CompareCase
from withhold.actions.compare_plans import RowPlan
from withhold.audit.comparison import ComparedRow, ComparedRun
from withhold.core.errors import UserError, did_you_mean, listing
from withhold.core.output_targets import make_folder

if TYPE_CHECKING:
    from optuna import Study, Trial

    from withhold.actions.compare import Comparing

JOURNAL = "tune.journal"
MOST_CODES = 2048
Suggest = Callable[["Trial", int], dict[str, Any]]  # the trial and the most codes, to settings


def _codebook(trial: Trial, most: int) -> dict[str, Any]:
    return {
        "codes": trial.suggest_int("codes", 4, max(most, 5), log=True),
        "sharpness": trial.suggest_float("sharpness", 0.25, 8.0, log=True),
    }


def _exact(trial: Trial, most: int) -> dict[str, Any]:
    return {
        "codes": trial.suggest_int("codes", 4, max(most, 5), log=True),
        "softness": trial.suggest_float("softness", 0.05, 4.0, log=True),
    }


def _noise(trial: Trial, most: int) -> dict[str, Any]:
    return {"sigma": trial.suggest_float("sigma", 0.1, 30.0, log=True)}


def _pass(trial: Trial, most: int) -> dict[str, Any]:
    return {"suppression": trial.suggest_float("suppression", 0.1, 30.0, log=True)}


def _mass_it(trial: Trial, most: int) -> dict[str, Any]:
    return {"suppression": trial.suggest_float("suppression", 1.0, 300.0, log=True)}


SETTINGS: dict[str, Suggest] = {
    "codebook": _codebook,
    "exact": _exact,
    "noise": _noise,
    "pass": _pass,
    "mass-it": _mass_it,
}


class _TimeOver(Exception):
    """The time limit passed during a trial: it does not count, and is tried again."""


def check_tune(method: str) -> None:
    """Refuse a method without settings to search, and a missing Optuna."""
    if method not in SETTINGS:
        hint = did_you_mean(method, SETTINGS) or f" (methods: {listing(SETTINGS)})"
        raise UserError(f"--tune: no settings of '{method}' can be searched{hint}")
    try:
        import optuna  # noqa: F401
    except ImportError as error:
        raise UserError("--tune needs the package optuna: pip install 'withhold[tune]'") from error


def tune(
    work: Comparing, method: str, *, trials: int, before: Sequence[ComparedRow]
) -> list[ComparedRow]:
    """The rows of all trials, those of an interrupted search included.

    `before` are the rows that are there already, the data as they are among them.
    """
    study = _study(work, method)
    most = most_codes(work.case)
    rows = [row for t in study.get_trials(deepcopy=False) if (row := _row(work, t)) is not None]

    def objective(trial: Trial) -> float:
        config = SETTINGS[method](trial, most)
        plan = RowPlan(_label(method, config), method, config)
        made = [work.run(plan, seed) for seed in work.seeds]
        runs = [run for run in made if isinstance(run, ComparedRun)]
        why = next((run for run in made if isinstance(run, str)), None)
        if why is not None:
            work.progress.say(f"{plan.label} is skipped: {why}")
            raise _pruned()
        if len(runs) < len(made):
            raise _TimeOver
        row = ComparedRow(label=plan.label, method=method, config=plan.config, runs=tuple(runs))
        trial.set_user_attr("row", row.model_dump_json())
        if all(row.label != known.label for known in rows):
            rows.append(row)
        found = work.comparison([*before, row])
        kept = found.kept(row)
        over = found.excess(row)
        return -over if over > 0 else (kept or 0.0)

    with work.progress.stage(f"tuning {method}", trials) as bar:
        for _ in range(_finished(study)):
            bar.advance()
        while _finished(study) < trials and not work.late:
            study.optimize(objective, n_trials=1, catch=(_TimeOver,))
            bar.advance(note=f"{len(rows)} rows")
    missing = trials - _finished(study)
    if missing > 0:
        work.not_run.append(f"{missing:,} of {trials:,} trials of {method}")
    return rows


def most_codes(case: CompareCase) -> int:
    """The largest number of codes to try: two records of every class that is not rare."""
    sizes = []
    for name in case.roles.suppress:
        codes = case.data.attribute(name).codes
        if codes.ndim == 1:
            counts = np.bincount(codes[codes >= 0])
            sizes.append(int(counts[counts > 0.01 * len(case.data)].min(initial=len(case.data))))
    return min([MOST_CODES, *(size // 2 for size in sizes)])


def _study(work: Comparing, method: str) -> Study:
    """The search of these data, roles and limits: a new one, or the one on disk."""
    import optuna
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    make_folder(work.request.output)
    storage = JournalStorage(JournalFileBackend(str(work.request.output / JOURNAL)))
    name = work.saved.key(method, work.request.budget, work.seeds, work.confidence)
    study = optuna.create_study(
        storage=storage, study_name=name, direction="maximize", load_if_exists=True
    )
    # Seeded by what is there: a resumed search must not draw its first settings again.
    study.sampler = optuna.samplers.TPESampler(seed=len(study.get_trials(deepcopy=False)))
    return study


def _finished(study: Study) -> int:
    """Trials with a result; those that a kill cut short do not count."""
    return sum(t.state.name in ("COMPLETE", "PRUNED") for t in study.get_trials(deepcopy=False))


def _row(work: Comparing, trial: Any) -> ComparedRow | None:
    text = trial.user_attrs.get("row") if trial.state.name == "COMPLETE" else None
    return None if text is None else ComparedRow.model_validate_json(text)


def _pruned() -> Exception:
    import optuna

    return optuna.TrialPruned()


def _label(method: str, config: dict[str, Any]) -> str:
    told = ", ".join(
        f"{n} {v:.3g}" if isinstance(v, float) else f"{n} {v}" for n, v in config.items()
    )
    return f"{method}, {told}"
