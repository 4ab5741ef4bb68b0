"""The action `fit`: learn a modifier, and save it as a bundle."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field

from withhold.actions.earlier_fit import earlier_bundle
from withhold.actions.engine_options import EngineOptions
from withhold.actions.fit_checks import check_finite, check_roles, checked_seed
from withhold.actions.fit_data import read_data, read_given, warn_of_memory
from withhold.actions.request import DataOptions, Opening, Request
from withhold.actions.run_figures import log_bundle, log_epoch
from withhold.bundle.bundle import Bundle, describe, save_bundle
from withhold.bundle.bundle_files import bundle_digest, check_place, tidy_place
from withhold.bundle.fit_membership import FitMembership
from withhold.certificate.certify_bundle import certify
from withhold.certificate.claim_wording import headline
from withhold.core.errors import UserError
from withhold.core.key_file import as_key, make_key_file
from withhold.core.output_targets import check_target
from withhold.core.progress import Progress, Silent
from withhold.core.run_log import RunLogs
from withhold.media.extraction_note import with_raw_media
from withhold.media.telling_sizes import warn_of_sizes
from withhold.methods import Channel, Journal, get_method, read_config, require_kind
from withhold.records.dataset import Dataset
from withhold.records.feasibility import feasibility
from withhold.records.roles import Roles
from withhold.records.table_features import encode_table
from withhold.release.engines import Engine


class FitRequest(Request):
    """Data, roles and method of a fit, and where to write the bundle."""

    data: Path
    output: Path
    suppress: tuple[str, ...] | str  # names, or text with commas
    preserve: tuple[str, ...] | str = ()
    method: str = "codebook"
    config: dict[str, Any] = Field(default_factory=dict)
    seed: int = Field(0, ge=0)
    reading: DataOptions = DataOptions()
    opening: Opening = Opening()
    raw: Path | None = None
    key: Path | None = None
    new_key: Path | None = None
    of_engine: EngineOptions = EngineOptions()
    overwrite: bool = False
    log: tuple[str, ...] = ()


@dataclass(frozen=True)
class Fitted:
    """The bundle of a fit, and where it is."""

    folder: Path
    sha256: str
    bundle: Bundle


def fit(
    data: Any,
    suppress: Sequence[str] | str,
    preserve: Sequence[str] | str = (),
    *,
    method: str = "codebook",
    config: dict[str, Any] | BaseModel | None = None,
    seed: int = 0,
    key: bytes | str | Path | None = None,
    checkpoints: str | Path | None = None,
    log: Sequence[str] | str = (),
    progress: Progress | None = None,
) -> Bundle:
    """Learn a modifier of `data` with a method for its kind of records.

    `data` is a Dataset, or what `Dataset.read` takes: a file, a frame, a folder of media.
    `checkpoints` names a folder to resume an interrupted fit from. `bundle.release(data)` gives
    what may leave; `withhold.load` reads what `Suppressor.save` or `withhold fit` wrote.
    `log` names logs of losses and of the certificate: "tensorboard:DIR", "mlflow:DIR".
    """
    with RunLogs(log, "fit") as logs:
        journal = Journal(
            None if checkpoints is None else Path(checkpoints), watch=partial(log_epoch, logs)
        )
        bundle = fit_bundle(
            read_given(data, method, progress or Silent()),
            Roles.of(suppress, preserve),
            method=method,
            config=config,
            seed=seed,
            key=key,
            progress=progress,
            journal=journal,
        )
        log_bundle(logs, bundle)
    journal.forget_key()
    return bundle


def fit_to(
    request: FitRequest, progress: Progress | None = None, *, engine: Engine | None = None
) -> Fitted:
    """Fit, and write the bundle. Call it again to resume an interrupted fit.

    engine: for the passes of `exact` over a file that is too large for memory; by default the one
    that the request names.
    """
    progress = progress or Silent()
    if engine is None:
        _check_engine(request)
        with request.of_engine.open(progress) as engine:
            return fit_to(request, progress, engine=engine)
    check_target(request.output, request.data)
    # If -o is a link, replace its target. A path such as `.` has a name only when resolved.
    target = Path(os.path.realpath(request.output))
    check_place(target)
    tidy_place(target)
    roles = Roles.of(request.suppress, request.preserve)
    chosen = read_config(request.method, request.config)  # report a mistake before reading the data
    if request.key is not None and request.new_key is not None:
        raise UserError("--key uses a key and --new-key makes one; give only one of them")
    secret = as_key(request.key)
    dataset = read_data(
        request.data, request.method, roles, request.reading, request.opening, progress, engine
    )
    check_roles(dataset, roles, request.method)
    if dataset.tabular:
        dataset = encode_table(dataset, roles.suppress, least=_least(chosen), progress=progress)
        warn_of_memory(dataset, progress)
    if request.raw is not None:
        dataset = with_raw_media(dataset, request.raw, **request.opening.given())
    with RunLogs(request.log, target.name) as logs:
        bundle = _fitted(target, dataset, roles, request, chosen, secret, logs, progress)
        log_bundle(logs, bundle)
    return Fitted(request.output, bundle_digest(request.output), bundle)


def _check_engine(request: FitRequest) -> None:
    """Refuse an engine for a method whose fit has no passes that an engine could run."""
    elsewhere = request.of_engine.engine != "local"
    if elsewhere and not get_method(request.method).modifier_type.of_given_records:
        raise UserError(
            f"method '{request.method}' is fitted in one process, and only the passes of 'exact'"
            f" run on an engine; leave out --engine {request.of_engine.engine}"
        )


def _fitted(
    target: Path,
    dataset: Dataset,
    roles: Roles,
    request: FitRequest,
    chosen: BaseModel,
    secret: bytes | None,
    logs: RunLogs,
    progress: Progress,
) -> Bundle:
    """The bundle at `target`: an earlier one of the same fit, or a new one."""
    work = target.with_name(f"{target.name}.partial")
    bundle = earlier_bundle(target, dataset, roles, request, chosen, secret)
    if bundle is not None:
        for entry in bundle.history:
            log_epoch(logs, entry)
    else:
        if work.exists():
            progress.say(f"resuming from {work}")
        journal = Journal(
            work,
            pictures=target.with_name(f"{target.name}.pictures"),
            watch=partial(log_epoch, logs),
        )
        try:
            bundle = fit_bundle(
                dataset,
                roles,
                method=request.method,
                config=chosen,
                seed=request.seed,
                key=secret if request.new_key is None else make_key_file(request.new_key),
                progress=progress,
                journal=journal,
            )
            save_bundle(bundle, target)
        except BaseException:
            with contextlib.suppress(OSError):
                journal.remove_if_empty()
            raise
    shutil.rmtree(work, ignore_errors=True)
    return bundle


def fit_bundle(
    dataset: Dataset,
    roles: Roles,
    *,
    method: str = "codebook",
    config: dict[str, Any] | BaseModel | None = None,
    seed: int = 0,
    key: bytes | str | Path | None = None,
    progress: Progress | None = None,
    journal: Journal | None = None,
) -> Bundle:
    """Check roles and settings, refuse or warn if they cannot be met, fit on the training part.

    `key` is the secret key: 32 bytes, or the path of a file with them. By default it is random.
    """
    progress, journal = progress or Silent(), journal or Journal()
    given = as_key(key)
    settings, seed = read_config(method, config), checked_seed(seed)
    require_kind(method, dataset.kind, dataset.name)
    check_roles(dataset, roles, method)
    journal.use_key(given)
    warn_of_sizes(dataset, roles.suppress, progress)
    chosen = get_method(method)
    if not chosen.modifier_type.learned:
        modifier = chosen.fit(dataset, roles, settings, progress, seed=seed, journal=journal)
        return describe(modifier, dataset, roles, settings, seed=seed, history=journal.history)
    if chosen.modifier_type.of_given_records:
        return _fit_given(dataset, roles, method, settings, progress, seed=seed, journal=journal)
    split = dataset.with_drawn_split(roles.suppress)
    train = split.part("train")
    if not len(train):
        raise UserError(
            f"column 'split' of {dataset.name} has no train records, so nothing can be learned"
        )
    for name in roles.named:
        train.attribute(name).require_label(f"the training part of {dataset.name}")
    had = feasibility(dataset, roles)
    had.require()
    for warning in had.warnings:
        progress.say(f"warning: {warning}")
    modifier = chosen.fit(split, roles, settings, progress, seed=seed, journal=journal)
    check_finite(modifier, method)
    bundle = describe(modifier, dataset, roles, settings, seed=seed, history=journal.history)
    if not isinstance(modifier, Channel):
        return bundle
    membership = FitMembership.of(split.part("train", "val"), modifier.key)
    return _with_certificate(replace(bundle, membership=membership), dataset, progress)


def _fit_given(
    dataset: Dataset,
    roles: Roles,
    method: str,
    settings: BaseModel,
    progress: Progress,
    *,
    seed: int,
    journal: Journal,
) -> Bundle:
    """Fit a method that is for these records alone: on all of them, whatever their split."""
    had = feasibility(dataset, roles)
    had.require()
    for warning in had.warnings:
        progress.say(f"warning: {warning}")
    if dataset.tabular and dataset.encoder is None:
        least = _least(settings)
        dataset = encode_table(dataset, roles.suppress, least=least, progress=progress)
    modifier = get_method(method).fit(
        dataset, roles, settings, progress, seed=seed, journal=journal
    )
    check_finite(modifier, method)
    return describe(modifier, dataset, roles, settings, seed=seed, history=journal.history)


def _least(settings: BaseModel) -> int:
    """How many people must have a value of a table for it to leave."""
    return int(settings.model_dump().get("least", 5))


def _with_certificate(bundle: Bundle, dataset: Dataset, progress: Progress) -> Bundle:
    """The bundle, certified on the test part. Otherwise report why there is no certificate."""
    try:
        certificate = certify(bundle, dataset, progress=progress)
    except UserError as error:
        progress.say(f"no certificate: {error}")
        return bundle
    progress.say(headline(certificate))
    return replace(bundle, certificate=certificate.to_dict())
