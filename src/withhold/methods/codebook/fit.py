"""The fitter of `codebook`: classes, codes, channel, and the budget."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import torch

from withhold.dataset import Dataset
from withhold.errors import UserError
from withhold.methods.channel import IntArray
from withhold.methods.codebook.assemble import enough_people
from withhold.methods.codebook.barycentre import barycentre
from withhold.methods.codebook.budget import read_budget
from withhold.methods.codebook.calibrate import Calibration, meet
from withhold.methods.codebook.cells import Classes, cells_of, joint_classes
from withhold.methods.codebook.config import CodebookConfig
from withhold.methods.codebook.learner import FEWEST, Solver, Task
from withhold.methods.codebook.modifier import CodebookModifier
from withhold.methods.codebook.self_label import self_label
from withhold.methods.codebook.substitute import substitute
from withhold.methods.journal import Journal
from withhold.methods.registry import method
from withhold.methods.training import tensor_digest
from withhold.progress import Progress
from withhold.roles import Roles

SOLVERS: dict[str, Solver] = {
    "self-label": self_label,
    "barycentre": barycentre,
    "substitute": substitute,
}


@method
class CodebookMethod:
    """The fitter."""

    name = "codebook"
    config_type = CodebookConfig
    presets: ClassVar[dict[str, dict[str, Any]]] = {}
    modifier_type = CodebookModifier

    def fit(
        self,
        dataset: Dataset,
        roles: Roles,
        config: CodebookConfig,
        progress: Progress,
        *,
        seed: int,
        journal: Journal,
    ) -> CodebookModifier:
        """Learn codes and channel on the training part; meet the budget on the calibration part."""
        limits = () if config.budget is None else read_budget(config.budget, roles.suppress)
        train = dataset.part("train")
        classes = _classes(train, roles, config.smallest, progress)
        learn = classes.codes >= 0
        calibration = None
        if limits:
            held, learn = _held_out(dataset, train, classes, learn, seed)
            fitted = train.rows(np.flatnonzero(learn))
            calibration = Calibration.of(
                held, fitted, roles, limits, labelled=config.use_labels, dataset=dataset.name
            )
        rows = np.flatnonzero(learn)
        part = train if len(rows) == len(train) else train.rows(rows)  # no copy without need
        s, u = classes.codes[rows], _preserved(part, roles)
        task = _task(part, s, u, len(classes.names), config, progress, seed, journal)
        needs = roles.suppress if config.use_labels else ()
        key = journal.key

        def solve(relax: float | None) -> CodebookModifier:
            """The channel at one place of the dial."""
            tagged = "codebook" if relax == config.relax else f"codebook (relax {relax:g})"
            settings = config.model_copy(update={"relax": relax})
            here = replace(task, config=settings, name=tagged)
            return enough_people(
                SOLVERS[config.solver](here),
                here,
                part,
                lambda book: CodebookModifier(book, key, needs, classes.names),
                progress,
            )

        made = solve(config.relax)
        return made if calibration is None else meet(made, solve, calibration, config, progress)


def _classes(train: Dataset, roles: Roles, smallest: int, progress: Progress) -> Classes:
    """The joint suppressed classes."""
    classes = joint_classes([train.attribute(n) for n in roles.suppress], smallest)
    if len(classes.names) < 2:
        raise UserError(
            f"no two classes of {', '.join(roles.suppress)} are labelled together in the training"
            f" part of {train.name}; suppress them one by one"
        )
    if classes.merged:
        share = 100 * classes.in_merged / max(int((classes.codes >= 0).sum()), 1)
        progress.say(
            f"warning: {classes.merged:,} joint classes of {', '.join(roles.suppress)} with fewer"
            f" than {smallest} records are merged: their {classes.in_merged:,} records ({share:.1f}"
            " %) are hidden from the others, and not from each other (setting smallest)"
        )
    return classes


def _preserved(part: Dataset, roles: Roles) -> IntArray:
    """The joint preserved value of each record, (n,); no label is a value of its own."""
    if not roles.preserve:
        return np.zeros(len(part), np.int64)
    whole = joint_classes([part.attribute(n) for n in roles.preserve])
    return np.unique(whole.codes, return_inverse=True)[1].reshape(-1)


def _held_out(
    dataset: Dataset, train: Dataset, classes: Classes, learn: Any, seed: int
) -> tuple[Dataset, Any]:
    """Calibration records: the val part, or else every fourth record of each class of train."""
    val = dataset.part("val")
    if len(val):
        return val, learn
    order = np.random.default_rng([seed, 0xCA]).permutation(len(train))
    order = order[np.argsort(classes.codes[order], kind="stable")]
    taken = np.zeros(len(train), bool)
    taken[order[::4]] = True
    taken &= learn
    return train.rows(np.flatnonzero(taken)), learn & ~taken


def _task(
    part: Dataset,
    s: IntArray,
    u: IntArray,
    classes: int,
    config: CodebookConfig,
    progress: Progress,
    seed: int,
    journal: Journal,
) -> Task:
    cells = cells_of(s, u, FEWEST)
    values, n = int(u.max()) + 1, len(part)
    wanted = config.codes or max(int(np.clip(n // (5 * classes), 16, 256)), 2 * values)
    # Twice the people that a code must have behind it, on average.
    codes = max(min(wanted, n // (2 * config.least)), 2, values)
    if config.codes is not None and codes != config.codes:
        why = f"{values:,} preserved values" if codes > config.codes else f"{n:,} records"
        progress.say(f"{codes:,} codes are used, and not {config.codes:,}: there are {why}")
    # A copy only where it must be: torch takes no array that cannot be written to.
    x = torch.from_numpy(part.x if part.x.flags.writeable else np.array(part.x))
    digest = tensor_digest(x) + tensor_digest(torch.from_numpy(np.stack([s, u])))
    one, two, three, four = map(torch.from_numpy, (s, u, cells.cell, cells.preserved))
    return Task(
        x, one, two, three, four, classes, values, config, codes, seed, progress, journal, digest
    )
