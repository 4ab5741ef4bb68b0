"""From a learned channel to a codebook: code vectors, weights, spread, and people behind a code."""

from __future__ import annotations

import numpy as np
import torch

from withhold.dataset import Dataset
from withhold.errors import UserError
from withhold.methods.codebook.learner import Learned, Task
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
    total, mass = None, None
    for x, s in zip(task.x.split(_ROWS), task.s.split(_ROWS), strict=True):
        scores = reader.scores(x, s)
        w = torch.softmax(scores if g is None else scores + g[s], dim=1)
        total = w.T.double() @ x.double() if total is None else total + w.T.double() @ x.double()
        mass = w.sum(dim=0).double() if mass is None else mass + w.sum(dim=0).double()
    assert total is not None
    assert mass is not None
    codes = (total / mass.clamp_min(1e-12)[:, None]).float()
    weights = (mass / mass.sum()).float()
    some = torch.randperm(len(task.x), generator=seeded(task.seed, "spread"))[:_AROUND]
    scores = reader.scores(task.x[some], task.s[some])
    scores = scores if g is None else scores + g[task.s[some]]
    around = task.x[some] - codes[scores.argmax(dim=1)]
    directions, deviation = principal(around, _SPREAD, stage_seed(task.seed, "spread"))
    spread = (directions * deviation).T.contiguous().numpy()
    potentials = None if g is None else g.numpy()
    return Codebook(reader, codes.numpy(), weights.numpy(), potentials, 0.0, spread)


def enough_people(
    made: CodebookModifier, part: Dataset, least: int, progress: Progress
) -> CodebookModifier:
    """Leave out codes that fewer than `least` people (groups; records where none are named) of the
    fitted records are given; their records then get other codes."""
    groups = part.group_codes
    who = np.arange(len(part)) if groups is None else groups
    labels = {n: part.attribute(n) for n in made.needs}
    pieces = np.array_split(np.arange(len(part)), -(-len(part) // _ROWS))
    first = len(made.codes)
    while True:
        drawn = np.concatenate(
            [made.draw(part.x[i], {n: a.rows(i) for n, a in labels.items()}) for i in pieces]
        )
        pairs = np.unique(np.stack([drawn, who]), axis=1)
        behind = np.bincount(pairs[0], minlength=len(made.codes))
        kept = np.flatnonzero(behind >= least)
        if len(kept) == len(made.codes):
            break
        if len(kept) < 2:
            raise UserError(
                f"fewer than two codes have {least} people behind them; give more records, or"
                " lower least"
            )
        made = CodebookModifier(made.book.keep(kept), made.key, made.needs, made.classes)
    if len(made.codes) < first:
        progress.say(
            f"{first - len(made.codes)} of {first} codes had fewer than {least} people behind them"
            " and are left out"
        )
    return made
