"""The fitter of `codebook`: classes, codes, channel, and the budget."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import torch

from withhold.dataset import Dataset
from withhold.errors import UserError
from withhold.keyed import make_key
from withhold.methods.channel import IntArray
from withhold.methods.codebook.assemble import assemble, enough_people
from withhold.methods.codebook.barycentre import barycentre
from withhold.methods.codebook.budget import read_budget
from withhold.methods.codebook.calibrate import Calibration, meet
from withhold.methods.codebook.cells import Classes, as_one, cells_of, joint_classes
from withhold.methods.codebook.config import CodebookConfig
from withhold.methods.codebook.learner import Solver, Task
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
_FEWEST = 4  # records of a pair (suppressed, preserved) that is balanced by itself


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
        limits = read_budget(config.budget, roles.suppress) if config.budget else ()
        train = dataset.part("train")
        classes = _classes(train, roles, config.smallest)
        if classes.merged:
            progress.say(
                f"{classes.merged} joint classes of {', '.join(roles.suppress)} with fewer than"
                f" {config.smallest} records are merged into one"
            )
        preserved = _preserved(train, roles)
        learn = classes.codes >= 0
        calibration = None
        if limits:
            held, learn = _held_out(dataset, train, classes, learn, seed)
            calibration = Calibration.of(held, train.rows(np.flatnonzero(learn)), roles, limits)
        rows = np.flatnonzero(learn)
        part = train.rows(rows)
        task = _task(
            part, classes.codes[rows], preserved.codes[rows], config, progress, seed, journal
        )
        needs = roles.suppress if config.use_labels else ()
        key = make_key(seed, train.x)

        def solve(relax: float | None) -> CodebookModifier:
            """The channel at one place of the dial."""
            tagged = f"codebook (relax {relax:g})" if relax != config.relax else "codebook"
            settings = config.model_copy(update={"relax": relax})
            learned = SOLVERS[config.solver](replace(task, config=settings, name=tagged))
            with torch.no_grad():
                book = assemble(learned, task)
            return CodebookModifier(book, key, needs, classes.names)

        made = solve(config.relax)
        if calibration is not None:
            made = meet(made, solve, calibration, config, progress)
        return enough_people(made, part, config.least, progress)


def _classes(train: Dataset, roles: Roles, smallest: int) -> Classes:
    """The joint suppressed classes; none are merged where fewer than two would be left."""
    labels = [train.attribute(n) for n in roles.suppress]
    merged = joint_classes(labels, smallest)
    classes = merged if len(merged.names) > 1 else joint_classes(labels)
    if len(classes.names) < 2:
        raise UserError(
            f"no two classes of {', '.join(roles.suppress)} are labelled together in the training"
            f" part of {train.name}; suppress them one by one"
        )
    return classes


@dataclass(frozen=True, eq=False)
class _Preserved:
    codes: IntArray
    count: int


def _preserved(train: Dataset, roles: Roles) -> _Preserved:
    """The joint preserved value of each record; a record without one has a value of its own."""
    if not roles.preserve:
        return _Preserved(np.zeros(len(train), np.int64), 1)
    whole = joint_classes([as_one(train.attribute(n)) for n in roles.preserve])
    codes = np.where(whole.codes >= 0, whole.codes, len(whole.names))
    return _Preserved(np.unique(codes, return_inverse=True)[1].reshape(-1), int(codes.max()) + 1)


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
    config: CodebookConfig,
    progress: Progress,
    seed: int,
    journal: Journal,
) -> Task:
    u = np.unique(u, return_inverse=True)[1].reshape(-1)
    cells = cells_of(s, u, _FEWEST)
    values, n = int(u.max()) + 1, len(part)
    wanted = config.codes or max(int(np.clip(n // (5 * (int(s.max()) + 1)), 16, 256)), 2 * values)
    # Twice the people that a code must have behind it, on average.
    codes = max(min(wanted, n // (2 * config.least)), 2, values)
    if config.codes and codes > config.codes:
        progress.say(
            f"{codes} codes are used, and not {config.codes}: there are {values} preserved values"
        )
    x = torch.from_numpy(np.array(part.x))
    digest = tensor_digest(x) + tensor_digest(torch.from_numpy(np.stack([s, u])))
    one, two, three, four = map(torch.from_numpy, (s, u, cells.cell, cells.preserved))
    return Task(x, one, two, three, four, config, codes, seed, progress, journal, digest)
