"""The bundle of an earlier run of the same fit, so that a fit is not made twice."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import BaseModel

from withhold.bundle.bundle import Bundle, load_bundle
from withhold.bundle.bundle_files import is_bundle
from withhold.bundle.described_input import describe_input
from withhold.core.errors import UserError
from withhold.records.dataset import Dataset
from withhold.records.roles import Roles

if TYPE_CHECKING:
    from withhold.actions.fit import FitRequest


def earlier_bundle(
    target: Path,
    dataset: Dataset,
    roles: Roles,
    request: FitRequest,
    config: BaseModel,
    key: bytes | None,
) -> Bundle | None:
    """The existing bundle if it is of this same fit; another one is refused without overwrite."""
    if not is_bundle(target) or request.overwrite:
        return None
    try:
        old = load_bundle(target, key=key)
        described = describe_input(dataset, roles, old.modifier.key)
        same = (
            (old.method, old.seed) == (request.method, request.seed)
            and old.config == config.model_dump(mode="json")
            and old.roles == roles
            and old.input | {"name": ""} == described | {"name": ""}
        )
    except UserError:
        same = False
    if not same:
        raise UserError(
            f"{target} holds a bundle of another fit; choose another -o, or add --overwrite"
        )
    return old
