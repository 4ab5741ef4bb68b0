"""The action `compare`: several methods on the user's own data, judged alike in one run."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from pydantic import Field

from withhold import __version__
from withhold.actions.compare_case import CompareCase, CompareKind, read_data
from withhold.actions.compare_plans import METHODS, RowPlan, in_running_order, row_plans, with_part
from withhold.actions.compare_run import CONFIDENCE, run_once
from withhold.actions.request import DataOptions, Request
from withhold.actions.saved_runs import SavedRuns
from withhold.audit.comparison import ComparedRow, ComparedRun, Comparison, limits_of
from withhold.audit.read_features import FEW, MANY, ladder_names
from withhold.core.errors import UserError
from withhold.core.output_targets import check_folder_target, write_into
from withhold.core.progress import Progress, Silent
from withhold.methods import read_config
from withhold.methods.features.codebook.budget import read_budget
from withhold.records.roles import Roles

ROWS = "runs"  # the folder of finished runs
CERTIFIED = ("codebook", "pass")  # methods with a bound for later records


class CompareRequest(Request):
    """Data, roles and budget of a comparison, and the folder to write."""

    data: Path
    output: Path
    suppress: tuple[str, ...] | str  # names, or text with commas
    preserve: tuple[str, ...] | str = ()
    budget: str | None = None
    time_limit: float | None = Field(None, gt=0, description="minutes; no row is started later")
    methods: tuple[str, ...] = Field((), description="methods to try; empty: all that fit")
    seeds: int = Field(1, ge=1, le=20, description="fits of every row, with seeds 0, 1, ...")
    read: tuple[str, ...] = Field((), description="attributes to read; empty: all that can be")
    kind: CompareKind | None = None
    reading: DataOptions = DataOptions()
    tune: str | None = Field(None, description="a method whose settings are searched")
    trials: int = Field(20, ge=1, le=1000, description="settings that the search tries")


def compare(request: CompareRequest, progress: Progress | None = None) -> Comparison:
    """Compare methods on the data, and write compare.json and compare.html to `output`.

    Call it again to resume: finished runs are kept in the output folder.
    """
    progress = progress or Silent()
    work = Comparing.of(request, progress)
    rows = work.rows(row_plans(work.case, tried_methods(request), request.budget))
    if request.tune is not None:
        from withhold.actions.tune import tune  # needs the extra `tune`

        rows += tune(work, request.tune, trials=request.trials, before=rows)
    if work.not_run:
        progress.say(f"not run, the time limit has passed: {'; '.join(work.not_run)}")
    found = work.comparison(rows)
    write(found, request.output)
    return found


def tried_methods(request: CompareRequest) -> tuple[str, ...]:
    """The methods of the rows; a search tries no others unless they are named."""
    return request.methods or (METHODS if request.tune is None else METHODS[:1])


def write(found: Comparison, output: Path) -> None:
    """Write the figures and the page, both or none."""
    from withhold.report.compare_page import render_comparison

    figures = json.dumps(found.to_dict(), indent=1).encode() + b"\n"
    page = render_comparison(found).encode()
    write_into(output, {"compare.json": figures, "compare.html": page})


class Comparing:
    """A comparison at work: the data, the finished runs on disk, and the clock."""

    def __init__(
        self, request: CompareRequest, case: CompareCase, saved: SavedRuns, progress: Progress
    ) -> None:
        self.request, self.case, self.saved, self.progress = request, case, saved, progress
        self.seeds = tuple(range(request.seeds))
        self.started = time.monotonic()
        self.not_run: list[str] = []
        limits = () if request.budget is None else read_budget(request.budget, case.roles.suppress)
        self.limits = limits_of(limits, case.roles.suppress)
        # Bonferroni: the best of k certified fits is kept, so each is certified at 1 - (1 - c) / k.
        tried = sum(name in CERTIFIED for name in tried_methods(request))
        tried += request.trials if request.tune in CERTIFIED else 0
        self.confidence = 1 - (1 - CONFIDENCE) / max(tried * request.seeds, 1)

    @classmethod
    def of(cls, request: CompareRequest, progress: Progress) -> Comparing:
        """Check everything that can be wrong before the first fit."""
        check_folder_target(request.output)
        roles = Roles.of(request.suppress, request.preserve)
        if request.budget is not None:
            read_budget(request.budget, roles.suppress)
        if request.tune is not None:
            from withhold.actions.tune import check_tune

            check_tune(request.tune)
        data = read_data(request.data, request.kind, request.reading, progress)
        case = CompareCase.of(data, roles, request.read, progress)
        facts: list[Any] = [
            case.data.digest(),
            roles.suppress,
            roles.preserve,
            case.kind,
            case.read,
        ]
        facts += [case.data.group, sorted(case.data.exclude), repr((FEW, MANY))]
        return cls(request, case, SavedRuns(request.output / ROWS, *facts), progress)

    @property
    def late(self) -> bool:
        """Whether the time limit has passed."""
        limit = self.request.time_limit
        return limit is not None and time.monotonic() - self.started >= 60 * limit

    def rows(self, plans: tuple[RowPlan, ...]) -> list[ComparedRow]:
        """Every row, in the order of `plans`. All rows get the first seed before the second."""
        runs: dict[str, list[ComparedRun]] = {plan.label: [] for plan in plans}
        why: dict[str, str] = {}
        known = {plan.label: plan for plan in plans}
        with self.progress.stage("comparing", len(plans) * len(self.seeds)) as bar:
            for seed in self.seeds:
                for plan in in_running_order(plans):
                    plan = known[plan.label] = self._sized(known[plan.label], runs, known)
                    made = plan.skipped or self.run(plan, seed)
                    if isinstance(made, ComparedRun):
                        runs[plan.label].append(made)
                    elif made is not None:
                        why[plan.label] = made
                    bar.advance(note=plan.label)
        for plan in plans:
            if not runs[plan.label] and plan.label in why:
                self.progress.say(f"{plan.label} is skipped: {why[plan.label]}")
        return [
            row_of(known[p.label], runs[p.label], why.get(p.label))
            for p in plans
            if runs[p.label] or p.label in why
        ]

    def run(self, plan: RowPlan, seed: int) -> ComparedRun | str | None:
        """A run, from disk or made now; a text says why there is none; None: the time is over."""
        config = read_config(plan.method, plan.config).model_dump(mode="json")
        confidence = self.confidence if plan.method in CERTIFIED else None
        key = self.saved.key(plan.method, config, seed, confidence)
        found = self.saved.find(plan.label, key)
        if found is not None:
            return found
        reference = plan.method == "identity" and seed == 0  # nothing can be said without it
        if self.late and not reference:
            self.not_run.append(
                plan.label if len(self.seeds) == 1 else f"{plan.label}, seed {seed}"
            )
            return None
        try:
            found = run_once(
                self.case, plan.method, config,
                seed=seed, confidence=confidence or CONFIDENCE, progress=self.progress,
            )  # fmt: skip
        except UserError as error:
            if reference:
                raise
            return str(error)
        self.saved.save(plan.label, key, found)
        return found

    def comparison(self, rows: list[ComparedRow]) -> Comparison:
        """The rows with what they are about."""
        case, parts = self.case, self.case.data.parts
        return Comparison(
            version=__version__,
            data=case.data.name,
            kind=case.kind,
            records=len(case.data),
            test_records=0 if parts is None else int((parts == "test").sum()),
            suppress=case.roles.suppress,
            preserve=case.roles.preserve,
            budget=self.request.budget,
            limits=self.limits,
            seeds=self.seeds,
            attackers=ladder_names(),
            confidence=self.confidence,
            rows=tuple(rows),
            not_run=tuple(self.not_run),
            notes=case.notes,
            tuned=self.request.tune,
        )

    @staticmethod
    def _sized(
        plan: RowPlan, runs: dict[str, list[ComparedRun]], known: dict[str, RowPlan]
    ) -> RowPlan:
        """The plan with its number of codes, if that depends on the row of `exact`."""
        if plan.part is None or plan.config or plan.skipped:
            return plan
        default = runs.get("exact")
        taken = [p.config["codes"] for p in known.values() if p.part and "codes" in p.config]
        return with_part(plan, default[0].codes if default else None, taken)


def row_of(plan: RowPlan, runs: list[ComparedRun], why: str | None) -> ComparedRow:
    """The row of a plan."""
    skipped = None if runs else why
    return ComparedRow(
        label=plan.label, method=plan.method, config=plan.config, runs=tuple(runs), skipped=skipped
    )
