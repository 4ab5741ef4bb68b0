"""The request of the action `release`, and what is refused before anything is computed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from pydantic import Field

from withhold.actions.engine_options import EngineOptions
from withhold.actions.request import DataOptions, Request
from withhold.audit.gate import parse_gate
from withhold.core.errors import UserError
from withhold.core.output_targets import check_folder_target, check_target
from withhold.records.readers import open_source
from withhold.records.roles import Roles
from withhold.release.held_back import refuse_people
from withhold.release.wishes import Wishes

CERTIFICATE, CARD = "certificate.json", "README.md"
_FEWEST = 48  # rows; an interval needs 10 in the test part
_SMALL = 2**16  # bytes of a file that may hold so few rows


class GivenRequest(Request):
    """Records to release, roles, and where to write the folder and the bundle."""

    data: Path
    output: Path
    suppress: tuple[str, ...] | str
    preserve: tuple[str, ...] | str = ()
    bundle: Path | None = None  # default: OUTPUT.bundle beside the folder
    config: dict[str, Any] = Field(default_factory=dict)
    seed: int = Field(0, ge=0)
    reading: DataOptions = DataOptions()
    wishes: Wishes = Wishes()
    fail_if: tuple[str, ...] = ()
    quick: bool = False
    of_engine: EngineOptions = EngineOptions()
    key: Path | None = None
    overwrite: bool = False


def check_request(request: GivenRequest, target: Path) -> DataOptions:
    """How to read the data. What can be known to fail is refused here, before the fit."""
    _check_places(request, target)
    reading = _reading(request)
    _check_gate(request, reading)
    _check_size(request, reading)
    refuse_people(request.wishes, people_draw=request.config.get("per") == "person")
    if request.wishes.hold_back and reading.is_large(request.data):
        raise UserError(
            f"{request.data.name} is too large to hold rows back: its audit reads it in blocks;"
            " leave out --hold-back"
        )
    return reading


def _check_places(request: GivenRequest, target: Path) -> None:
    check_folder_target(target)
    check_target(target, request.data)
    if request.data.is_dir():
        raise UserError(
            f"{request.data} is a folder of media: make features of them with withhold extract, or"
            " use withhold fit and withhold transform with a method for media"
        )
    if Path(os.path.realpath(request.data)).is_relative_to(target):
        raise UserError(
            f"{request.data} lies inside {request.output}, which would be replaced; choose another"
            " -o"
        )
    if target.exists() and any(target.iterdir()):
        ours = (target / CARD).is_file() and (target / CERTIFICATE).is_file()
        if not (ours and request.overwrite):
            way_out = "add --overwrite to replace it" if ours else "choose another -o"
            what = "holds another release" if ours else "is not empty"
            raise UserError(f"folder {request.output} {what}; {way_out}")
    inside = request.bundle is not None and Path(os.path.realpath(request.bundle)).is_relative_to(
        target
    )
    if inside:
        raise UserError(
            f"--bundle {request.bundle} lies inside {request.output}, which is handed over: the"
            " bundle holds the key; choose a folder elsewhere"
        )


def _reading(request: GivenRequest) -> DataOptions:
    """How to read the data: as features if it has some, otherwise as a mixed table."""
    reading = request.reading
    roles, wishes = Roles.of(request.suppress, request.preserve), request.wishes
    resolved = reading.resolved(request.data)
    for name in (*wishes.keep, *wishes.drop):
        if name in roles.suppress and name in wishes.keep:
            raise UserError(f"column '{name}' is suppressed, so it cannot leave; do not --keep it")
        if name in roles.preserve and resolved.kind == "table":
            raise UserError(
                f"column '{name}' is preserved, so its values are made for every row; leave it out"
                " of --keep and --drop, or of --preserve"
            )
    # An excluded column is no attribute, so those with a role stay: they are no features anyway.
    apart = [n for n in (*wishes.keep, *wishes.drop) if n not in roles.named]
    exclude = tuple(dict.fromkeys((*reading.exclude, *apart)))
    return resolved.model_copy(update={"exclude": exclude})


def _check_gate(request: GivenRequest, reading: DataOptions) -> None:
    """Refuse a gate that cannot be read, before the fit. The audit checks the rest."""
    if request.fail_if:
        roles = Roles.of(request.suppress, request.preserve)
        columns = open_source(request.data, delimiter=reading.delimiter).schema.names
        parse_gate(request.fail_if, [*columns, ",".join(roles.suppress), *roles.named])


def _check_size(request: GivenRequest, reading: DataOptions) -> None:
    """Refuse a table that is too small to be audited, before the fit."""
    if request.data.stat().st_size > _SMALL:  # opening a large file again takes time
        return
    rows = open_source(request.data, delimiter=reading.delimiter).num_rows
    leave = rows - round(request.wishes.hold_back * rows)
    if leave < _FEWEST:
        stay = f", of which {leave} leave with --hold-back" if leave < rows else ""
        raise UserError(
            f"{request.data.name} has {rows} row{'' if rows == 1 else 's'}{stay}, and a release"
            f" needs at least {_FEWEST}: a fifth of them test the attackers"
        )
