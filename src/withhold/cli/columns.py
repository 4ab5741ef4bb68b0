"""The columns that a release keeps: what they tell of what was suppressed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from withhold.errors import listing

if TYPE_CHECKING:
    from withhold.media.collect import Collection
    from withhold.progress import Progress
    from withhold.roles import Roles


def kept_columns(
    collection: Collection, roles: Roles, gone: set[str]
) -> tuple[dict[str, dict[str, float]], list[str]]:
    """What the labels in a release tell of what is suppressed, and those that nobody can judge."""
    import numpy as np

    from withhold.dataset import SPLIT, Dataset
    from withhold.feasibility import checked_columns, telling_columns
    from withhold.media.collect.collection import FILE
    from withhold.media.sinks import is_of_files

    table = collection.labels()
    out = gone | ({FILE} if is_of_files(collection) else set())
    if table is None or not set(table.column_names) - out:
        return {}, []
    labels = table.select([n for n in table.column_names if n not in out - {*roles.suppress}])
    unlike = ["".join(labels.column_names) + "_"]  # the name of a feature, and of no label
    blank = Dataset.from_arrays(np.zeros((len(labels), 1), np.float32), labels, names=unlike)
    tells = {
        attribute: {c: rate for c, rate in columns.items() if c not in out}
        for attribute, columns in telling_columns(blank, roles).items()
    }
    known = {*checked_columns(blank, roles), *out, SPLIT}
    return tells, [c for c in labels.column_names if c not in known]


def warn_of_columns(
    tells: dict[str, dict[str, float]], unchecked: list[str], why: str, progress: Progress
) -> None:
    """Say which columns of a release undo what was done to it, and of which nobody knows."""
    for attribute, columns in tells.items():
        if columns:
            shown = ", ".join(f"{c} ({100 * rate:.1f} %)" for c, rate in columns.items())
            progress.say(
                f"warning: the release keeps columns that tell of '{attribute}' (best guess from"
                f" each alone): {shown}; leave them out with --drop {','.join(columns)}"
            )
    if unchecked:
        progress.say(
            "warning: the release keeps columns of which nobody knows what they tell"
            f" ({why}): {listing(unchecked)};"
            " leave them out with --drop where they should not leave"
        )
