"""The solver `barycentre`: transport alone. Quick, and it needs the label at transform time."""

from __future__ import annotations

import torch

from withhold.errors import UserError
from withhold.methods.codebook.codes import find_barycentre
from withhold.methods.codebook.learner import Learned, Task
from withhold.methods.codebook.transport import balance


def barycentre(task: Task) -> Learned:
    """The plan of the barycentre, by class."""
    if not task.config.use_labels:
        raise UserError(
            "solver 'barycentre' places a record among its own class, so it needs the suppressed"
            " label of every record it transforms; set use_labels: true, or use solver: self-label"
        )
    start = find_barycentre(task)
    reader = start.reader()
    # By class and not by cell: the preserved value of a new record is not known. A class uses the
    # codes of a preserved value as often as it has that value.
    mixture = torch.zeros(task.classes, task.values).index_put_(
        (task.s, task.u), torch.ones(len(task.s)), accumulate=True
    )
    mixture = mixture / mixture.sum(dim=1, keepdim=True).clamp_min(1)
    wanted = (mixture @ start.log_shares.exp()).log()
    rows = torch.arange(min(len(task.x), max(100_000_000 // task.codes, 1000)))
    if len(rows) < len(task.x):
        from withhold.methods.training import seeded

        draw = torch.randperm(len(task.x), generator=seeded(task.seed, "rows"))
        rows = draw[: len(rows)].sort().values
    scores = reader.scores(task.x[rows], task.s[rows])
    steps = task.config.inner * task.config.outer
    potentials = balance(scores, task.s[rows], wanted, steps=steps, relax=task.config.relax)
    return Learned(reader, potentials.clamp_min(-1e4))
