"""Who the records of a release are: `least` people must be behind whatever leaves."""

from __future__ import annotations

import numpy as np

from withhold.core.errors import UserError
from withhold.core.progress import Progress
from withhold.methods.channel import IntArray
from withhold.methods.features.codebook.assemble import people_of
from withhold.records.dataset import Dataset
from withhold.records.roles import Roles
from withhold.records.tabular.row_copies import people_in_rows

_MANY = 0.01  # share of the rows that are copies, from which they are worth a warning


def people_in(dataset: Dataset, roles: Roles, least: int, progress: Progress) -> IntArray:
    """The person of each record, (n,): its group; without a group, the record itself.

    Rows of a table that are exact copies count as few people, unless the table is so coarse that
    many people are alike (see `records.tabular.row_copies`). Columns without features (ids, free
    text) do not tell copies apart: a row number is different in every copy.
    """
    if dataset.encoder is None or dataset.group is not None:
        people = people_of(dataset)
        named = len(np.unique(people))
        if dataset.group is not None and named < 2 * least:
            raise UserError(
                f"column '{dataset.group}' (--group) names only {named} people, and {least} must be"
                " behind each of at least two codes; name the column that tells people apart, or"
                " lower least"
            )
        return people
    columns = dict.fromkeys((*(c.name for c in dataset.encoder.columns), *roles.named))
    found = people_in_rows(dataset.table, list(columns), least=least)
    if found.joined:
        much = found.joined > _MANY * len(dataset) or found.largest >= least
        progress.say(
            f"{'warning: ' if much else ''}{found.joined:,} rows of {dataset.name} are exact copies"
            f" of others (up to {found.largest:,} of one row), and nothing shows that they are"
            " different people: they count as one person, so rare values of theirs do not leave;"
            " --group COLUMN says who is who"
        )
    return found.person
