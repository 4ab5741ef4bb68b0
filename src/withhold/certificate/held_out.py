"""The records that a certificate may count: those that the fit never saw."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from withhold.bundle import Bundle
from withhold.dataset import Dataset
from withhold.errors import UserError


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Records, which part of their file they are, and the hash of that file."""

    data: Dataset
    part: Literal["test", "all"]
    sha256: str


def held_out(bundle: Bundle, dataset: Dataset) -> HeldOut:
    """Of the file of the fit its test part; of another file its test part, or all of it.

    In the file of the fit the parts are disjoint by row. Of any other the bundle is asked whether
    the fit saw its records, and they are refused where that is more than chance.
    """
    fitted = bundle.input["group"]
    if dataset.group is None and fitted in dataset.table.column_names:
        dataset = replace(dataset, group=fitted)
    sha256 = dataset.digest()
    same = sha256 == bundle.input["sha256"]
    if same:
        # Drawn as the fit drew it, by the fit's group, whatever group is asked for now.
        drawn = replace(dataset, group=fitted).with_drawn_split(bundle.roles.suppress)
        dataset = replace(drawn, group=dataset.group)
    part: Literal["test", "all"] = "all" if dataset.parts is None else "test"
    held = dataset.part("test")
    if not len(held):
        raise UserError(
            f"{dataset.name} has no test records to certify on; give data that the fit did not see"
            " to: withhold certify BUNDLE DATA -o certificate.json"
        )
    if not same:
        if bundle.seen is None:
            raise UserError(
                "the bundle does not say which records it was fitted on, so new ones cannot be"
                " told from them; fit again with this version"
            )
        bundle.seen.require_new(held)
    return HeldOut(held, part, sha256)
