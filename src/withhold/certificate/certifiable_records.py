"""The records that a certificate may count: those that the fit never saw."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from withhold.bundle.bundle import Bundle
from withhold.bundle.bundle_files import MEMBERSHIP
from withhold.core.errors import UserError
from withhold.core.signature import keyed_digest
from withhold.records.dataset import Dataset


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Records, which part of their file they are, and the keyed digest of that file.

    `near_twins` is the share of records that nearly equal a record of the fit; None where that was
    not asked because they are the test part of the very file of the fit.
    """

    data: Dataset
    part: Literal["test", "all"]
    sha256: str
    near_twins: float | None


def held_out(bundle: Bundle, dataset: Dataset) -> HeldOut:
    """The test part of the file of the fit; of another file its test part, or all of it.

    In the file of the fit the parts are disjoint by row. Records of another file are refused if
    more of them than chance allows are records of the fit, unchanged or exported again.
    """
    fitted = bundle.input["group"]
    if dataset.group is None and fitted in dataset.table.column_names:
        dataset = replace(dataset, group=fitted)
    sha256 = keyed_digest(bundle.modifier.key, dataset.digest())
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
    near_twins = None
    if not same:
        if bundle.membership is None:
            raise UserError(
                f"new records cannot be told from the fitted ones: the bundle is without its"
                f" {MEMBERSHIP}; put that file back, or certify on the very file of the fit"
            )
        near_twins = bundle.membership.require_new(held)
    return HeldOut(held, part, sha256, near_twins)
