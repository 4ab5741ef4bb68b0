"""Turn a learned channel into a codebook: the people of each code, and the code vectors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch

from withhold.core.errors import UserError
from withhold.core.progress import Progress
from withhold.learn.training import seeded, stage_seed
from withhold.methods.channel import IntArray
from withhold.methods.features.codebook.learner import Learned, Task, label_potentials
from withhold.methods.features.codebook.metric import principal
from withhold.methods.features.codebook.modifier import Codebook, CodebookModifier
from withhold.methods.features.codebook.robust import robust_means
from withhold.records.dataset import Dataset

_AROUND = 10_000  # records for measuring the spread around the codes
_SPREAD = 32  # directions of that spread

Make = Callable[[Codebook], CodebookModifier]


def enough_people(
    learned: Learned, task: Task, part: Dataset, make: Make, progress: Progress
) -> CodebookModifier:
    """The modifier of a channel, without the codes that fewer than `least` people get.

    Records of a code that is left out get other codes.
    """
    least, first = task.config.least, len(learned.reader)
    while True:
        with torch.no_grad():
            made = make(_unplaced(learned, part.dimension))
            drawn = draws_of(made, part)
        kept = np.flatnonzero(people_behind(drawn, people_of(part), len(made.codes)) >= least)
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
    return placed(made, part, drawn, least=least, seed=task.seed)


def placed(
    made: CodebookModifier, part: Dataset, drawn: IntArray, *, least: int, seed: int
) -> CodebookModifier:
    """The modifier with the code vectors, weights and spread of the records that get each code."""
    book, number = made.book, len(made.codes)
    codes = robust_means(part.x, drawn, people_of(part), codes=number, least=least)
    weights = (np.bincount(drawn, minlength=number) / len(drawn)).astype(np.float32)
    some = torch.randperm(len(part), generator=seeded(seed, "spread"))[:_AROUND].numpy()
    around = torch.from_numpy(part.x[some] - codes[drawn[some]])
    directions, deviation = principal(around, _SPREAD, stage_seed(seed, "spread"))
    spread = (directions * deviation).T.contiguous().numpy()
    return made.with_book(replace(book, codes=codes, weights=weights, spread=spread))


def without(learned: Learned, task: Task, kept: IntArray) -> Learned:
    """The channel with only some codes, and potentials for them."""
    mask = torch.zeros(len(learned.reader), dtype=torch.bool)
    mask[torch.from_numpy(kept)] = True
    reader = learned.reader.keep(mask)
    if learned.wanted is None:
        return Learned(reader)
    wanted = torch.log_softmax(learned.wanted[:, mask].clamp_min(-1e4), dim=1)
    rows = task.some(task.plan_rows, "without", len(kept))
    return Learned(reader, label_potentials(reader, task, rows, wanted), wanted)


def draws_of(made: CodebookModifier, part: Dataset) -> IntArray:
    """The code of each record, (n,)."""
    return made.draw(part.x, {n: part.attribute(n) for n in made.needs})


def people_of(part: Dataset) -> IntArray:
    """The person of each record, (n,): its group or, without a group, the record itself."""
    groups = part.group_codes
    return np.arange(len(part)) if groups is None else groups


def people_behind(drawn: IntArray, people: IntArray, codes: int) -> IntArray:
    """How many people get each code, (N,)."""
    several = int(people.max(initial=0)) + 1
    pairs = np.unique(drawn * np.int64(several) + people)
    return np.bincount(pairs // several, minlength=codes)


def _unplaced(learned: Learned, dimension: int) -> Codebook:
    """A codebook that can draw, before its code vectors are known."""
    number = len(learned.reader)
    potentials = None if learned.potentials is None else learned.potentials.numpy()
    blank = np.zeros((number, dimension), np.float32)
    even = np.full(number, 1 / number, np.float32)
    return Codebook(learned.reader, blank, even, potentials, 0.0, blank[:1])
