"""The solver `barycentre`: transport alone. Quick, and it needs the label at transform time."""

from __future__ import annotations

from withhold.core.errors import UserError
from withhold.methods.features.codebook.codes import find_barycentre
from withhold.methods.features.codebook.learner import Learned, Task, label_potentials


def barycentre(task: Task) -> Learned:
    """The plan of the barycentre, by class.

    By class and not by cell, because the preserved value of a new record is not known. A class
    should use the codes of a preserved value as often as it has that value: sum_u P(u|s) b(j|u).
    """
    if not task.config.use_labels:
        raise UserError(
            "solver 'barycentre' compares a record with its own class, so it needs the suppressed"
            " label of every record; set use_labels: true, or use solver: self-label"
        )
    start = find_barycentre(task)
    reader = start.reader()
    wanted = (task.mixture() @ start.log_shares.exp()).log()
    rows = task.some(task.plan_rows, "barycentre")
    return Learned(reader, label_potentials(reader, task, rows, wanted), wanted)
