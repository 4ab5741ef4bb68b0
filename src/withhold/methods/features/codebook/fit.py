"""The fitter of `codebook`: classes, codes, channel, and the budget."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import torch

from withhold.core.errors import UserError
from withhold.core.progress import Progress
from withhold.learn.journal import Journal
from withhold.learn.training import tensor_digest
from withhold.methods.channel import IntArray
from withhold.methods.features.codebook.assemble import enough_people
from withhold.methods.features.codebook.barycentre import barycentre
from withhold.methods.features.codebook.budget import read_budget
from withhold.methods.features.codebook.calibrate import Calibration, meet
from withhold.methods.features.codebook.cells import Classes, cells_of, joint_classes
from withhold.methods.features.codebook.choose import Labelled, choose
from withhold.methods.features.codebook.config import CodebookConfig
from withhold.methods.features.codebook.learner import FEWEST, Solver, Task
from withhold.methods.features.codebook.modifier import CodebookModifier
from withhold.methods.features.codebook.self_label import self_label
from withhold.methods.features.codebook.substitute import substitute
from withhold.methods.modifier import FloatArray
from withhold.methods.registry import method
from withhold.records.attribute import Attribute
from withhold.records.dataset import Dataset
from withhold.records.feasibility import guess_rate
from withhold.records.roles import Roles

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
        held, learn = _held_out(dataset, train, classes, learn, seed, every=4 if limits else 10)
        calibration = None
        if limits:
            fitted = train.rows(np.flatnonzero(learn))
            calibration = Calibration.of(
                held, fitted, roles, limits, labelled=config.use_labels, dataset=dataset.name
            )
        rows = np.flatnonzero(learn)
        part = train if len(rows) == len(train) else train.rows(rows)  # all rows: no copy
        s, u = classes.codes[rows], _preserved(part, roles)
        task = _task(part, s, u, len(classes.names), config, progress, seed, journal)
        needs = roles.suppress if config.use_labels else ()
        person = _person(part, roles, config, progress)
        key = journal.key

        def solve(relax: float | None) -> CodebookModifier:
            """The channel at one value of `relax`."""
            tagged = "codebook" if relax == config.relax else f"codebook (relax {relax:g})"
            settings = config.model_copy(update={"relax": relax})
            here = replace(task, config=settings, name=tagged)
            return enough_people(
                SOLVERS[config.solver](here),
                here,
                part,
                lambda book: CodebookModifier(book, key, needs, classes.names, person),
                progress,
            )

        made = solve(config.relax)
        if calibration is not None:
            return meet(made, solve, calibration, config, progress)
        held = held.rows(np.flatnonzero(classes.of(held, roles.suppress) >= 0))
        kept = [a for n in roles.preserve if not (a := part.attribute(n)).multilabel]
        return choose(
            made,
            Labelled(part, s, u),
            Labelled(held, classes.of(held, roles.suppress), np.zeros(len(held), np.int64)),
            floor=_floor(part, s, kept),
            units=_units(dataset, held),
            sharpness=config.sharpness,
            merge=config.codes is None,
            least=config.least,
            seed=seed,
            progress=progress,
        )


def _units(dataset: Dataset, held: Dataset) -> int:
    """How many units the certificate will count: people or records of the test part."""
    test = dataset.part("test") if dataset.parts is not None else held
    test = test if len(test) else held
    groups = test.group_codes
    return max(len(test) if groups is None else len(np.unique(groups)), 1)


def _floor(part: Dataset, s: IntArray, kept: list[Attribute]) -> float:
    """The best guess of the joint class without the codes."""
    names = tuple(map(str, range(int(s.max()) + 1)))
    return guess_rate(Attribute("class", "categorical", names, s), kept)


def _person(part: Dataset, roles: Roles, config: CodebookConfig, progress: Progress) -> str | None:
    """The column that decides draws together with the record, if there is one and it helps.

    Equal records share a draw, so their channel is deterministic. If a group column names the
    person, each person has a separate draw. The same person who asks again gets the same code.
    """
    group = part.group
    if config.draw_by == "record" or group is None or group in roles.suppress:
        if config.draw_by == "person":
            why = "no group is named" if group is None else f"'{group}' is suppressed itself"
            raise UserError(f"draw_by: person is not possible: {why}; name the person with --group")
        return None
    twins = _twins(part.x)
    if config.draw_by is None and not twins:
        return None
    try:
        part.attribute(group)
    except UserError as error:
        if config.draw_by == "person":
            raise
        progress.say(f"draws depend on the record and not on '{group}': {error}")
        return None
    progress.say(
        f"{twins:,} records equal another one, so draws depend on the record and '{group}':"
        f" every transformed record must have '{group}' (setting draw_by)"
    )
    return group


def _twins(x: FloatArray) -> int:
    """How many records equal an earlier one."""
    rows = np.ascontiguousarray(x).view(np.dtype((np.void, x.itemsize * x.shape[1])))
    return len(x) - len(np.unique(rows))


def _classes(train: Dataset, roles: Roles, smallest: int, progress: Progress) -> Classes:
    """The joint suppressed classes."""
    classes = joint_classes([train.attribute(n) for n in roles.suppress], smallest)
    if len(classes.names) < 2:
        raise UserError(
            f"the training part of {train.name} has no two classes with labels of all of"
            f" {', '.join(roles.suppress)}; suppress them one by one"
        )
    if classes.merged:
        share = 100 * classes.in_merged / max(int((classes.codes >= 0).sum()), 1)
        progress.say(
            f"warning: {classes.merged:,} joint classes of {', '.join(roles.suppress)} with fewer"
            f" than {smallest} records are merged: their {classes.in_merged:,} records ({share:.1f}"
            " %) are hidden among the others, but not from each other (setting smallest)"
        )
    return classes


def _preserved(part: Dataset, roles: Roles) -> IntArray:
    """The joint preserved value of each record, (n,). A missing label is a separate value."""
    if not roles.preserve:
        return np.zeros(len(part), np.int64)
    whole = joint_classes([part.attribute(n) for n in roles.preserve])
    return np.unique(whole.codes, return_inverse=True)[1].reshape(-1)


def _held_out(
    dataset: Dataset, train: Dataset, classes: Classes, learn: Any, seed: int, *, every: int
) -> tuple[Dataset, Any]:
    """Calibration records: the val part, or one in `every` records of each class of train.

    Records of one person stay together if a group is named and is not itself a class.
    """
    val = dataset.part("val")
    if len(val):
        return val, learn
    groups = train.group_codes
    units = np.arange(len(train)) if groups is None else groups
    of_class = len(np.unique(units)) < every or _divides(classes.codes, units)
    units = np.arange(len(train)) if of_class else units
    names, member = np.unique(units, return_inverse=True)
    first = np.zeros(len(names), np.int64)
    first[member.reshape(-1)] = classes.codes  # the class of one record of the unit
    order = np.random.default_rng([seed, 0xCA]).permutation(len(names))
    order = order[np.argsort(first[order], kind="stable")]
    chosen = np.zeros(len(names), bool)
    chosen[order[::every]] = True
    taken = chosen[member.reshape(-1)] & learn
    return train.rows(np.flatnonzero(taken)), learn & ~taken


def _divides(classes: IntArray, units: IntArray) -> bool:
    """Whether every class is in only one unit: holding out a person would hold out a class."""
    pairs = np.unique(np.stack([classes, units]), axis=1)
    return bool(pairs.shape[1] == len(np.unique(pairs[0])))


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
    # On average, twice the people that a code must have.
    codes = max(min(wanted, n // (2 * config.least)), 2, values)
    if config.codes is not None and codes != config.codes:
        why = f"{values:,} preserved values" if codes > config.codes else f"{n:,} records"
        progress.say(f"{codes:,} codes are used instead of {config.codes:,}: there are {why}")
    # torch needs writable arrays, so a read-only one is copied.
    x = torch.from_numpy(part.x if part.x.flags.writeable else np.array(part.x))
    digest = tensor_digest(x) + tensor_digest(torch.from_numpy(np.stack([s, u])))
    one, two, three, four = map(torch.from_numpy, (s, u, cells.cell, cells.preserved))
    return Task(
        x, one, two, three, four, classes, values, config, codes, seed, progress, journal, digest
    )
