"""From a learned channel to a codebook: code vectors, weights, spread, and people behind a code."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

from withhold.dataset import Dataset
from withhold.errors import UserError
from withhold.methods.channel import IntArray
from withhold.methods.codebook.learner import Learned, Task, label_potentials, scores_of
from withhold.methods.codebook.metric import principal
from withhold.methods.codebook.modifier import Codebook, CodebookModifier
from withhold.methods.training import seeded, stage_seed
from withhold.progress import Progress

_ROWS = 4096
_AROUND = 10_000  # records that tell how records lie around their codes
_SPREAD = 32  # directions in which they do


def assemble(learned: Learned, task: Task) -> Codebook:
    """Code vectors c_j = sum_i W(j|x_i) x_i / sum_i W(j|x_i): means over many people."""
    reader, g = learned.reader, learned.potentials
    total = mass = torch.zeros(())
    for x, s in zip(task.x.split(_ROWS), task.s.split(_ROWS), strict=True):
        scores = reader.scores(x, s)
        w = torch.softmax(scores if g is None else scores + g[s], dim=1).double()
        total, mass = total + w.T @ x.double(), mass + w.sum(dim=0)
    codes = (total / mass.clamp_min(1e-12)[:, None]).float()
    weights = (mass / mass.sum()).float()
    some = torch.randperm(len(task.x), generator=seeded(task.seed, "spread"))[:_AROUND]
    scores = scores_of(reader, task, some)
    scores = scores if g is None else scores + g[task.s[some]]
    around = task.x[some] - codes[scores.argmax(dim=1)]
    directions, deviation = principal(around, _SPREAD, stage_seed(task.seed, "spread"))
    spread = (directions * deviation).T.contiguous().numpy()
    potentials = None if g is None else g.numpy()
    return Codebook(reader, codes.numpy(), weights.numpy(), potentials, 0.0, spread)


def without(learned: Learned, task: Task, kept: IntArray) -> Learned:
    """The channel with some codes only; its potentials are made anew for them."""
    mask = torch.zeros(len(learned.reader), dtype=torch.bool)
    mask[torch.from_numpy(kept)] = True
    reader = learned.reader.keep(mask)
    if learned.wanted is None:
        return Learned(reader)
    wanted = torch.log_softmax(learned.wanted[:, mask].clamp_min(-1e4), dim=1)
    rows = task.some(task.plan_rows, "without", len(kept))
    return Learned(reader, label_potentials(reader, task, rows, wanted), wanted)


def people_behind(made: CodebookModifier, part: Dataset) -> IntArray:
    """How many people (groups; records where none are named) of the fitted records are given each
    code, (N,)."""
    groups = part.group_codes
    who = np.arange(len(part)) if groups is None else groups
    labels = {n: part.attribute(n) for n in made.needs}
    pairs = np.unique(np.stack([made.draw(part.x, labels), who]), axis=1)
    return np.bincount(pairs[0], minlength=len(made.codes))


def enough_people(
    learned: Learned,
    task: Task,
    part: Dataset,
    make: Callable[[Codebook], CodebookModifier],
    progress: Progress,
) -> CodebookModifier:
    """The modifier of a channel, without codes that fewer than `least` people are given; their
    records then get other codes."""
    least, first = task.config.least, len(learned.reader)
    while True:
        with torch.no_grad():
            made = make(assemble(learned, task))
        kept = np.flatnonzero(people_behind(made, part) >= least)
        if len(kept) == len(made.codes):
            break
        if len(kept) < 2:
            raise UserError(
                f"fewer than two codes have {least} people behind them; give more records, or"
                " lower least"
            )
        with torch.no_grad():
            learned = without(learned, task, kept)
    if len(made.codes) < first:
        progress.say(
            f"{first - len(made.codes)} of {first} codes had fewer than {least} people behind them"
            " and are left out"
        )
    return made
