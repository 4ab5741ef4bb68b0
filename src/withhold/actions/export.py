"""The action `export`: the modifier of a bundle as an ONNX model."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from withhold.actions.request import Request
from withhold.bundle.bundle import Bundle, load_bundle
from withhold.bundle.onnx_export import form_of, onnx_bytes, warnings_of
from withhold.core.atomic import write_bytes, writing_to
from withhold.core.errors import UserError
from withhold.core.output_targets import check_target
from withhold.media.cutting import decode
from withhold.methods import Channel, require_kind
from withhold.records.dataset import Dataset
from withhold.records.samples import BadMedia, Picture
from withhold.release.keyed_order import occurrences
from withhold.release.survey import survey

_ROWS = 16384


class ExportRequest(Request):
    """A bundle, and where to write the model."""

    bundle: Path
    output: Path
    key: Path | None = None


@dataclass(frozen=True)
class Exported:
    """The model that was written."""

    path: Path
    sha256: str
    size: int
    method: str
    inputs: tuple[str, ...]
    draws: tuple[str, ...]
    warnings: tuple[str, ...]


def export(request: ExportRequest) -> Exported:
    """Read the bundle, and write its model."""
    if request.output.suffix != ".onnx":
        raise UserError(f"{request.output} does not end in .onnx; choose another -o")
    check_target(request.output, request.bundle)
    return export_onnx(load_bundle(request.bundle, key=request.key), request.output)


def export_onnx(bundle: Bundle | str | Path, path: str | Path) -> Exported:
    """Write the modifier of a bundle as an ONNX model.

    The batch axis is dynamic. Draws are inputs of the model: `onnx_inputs` makes those of
    `transform`. The key is not in the file. Whoever has the file can make as many draws as they
    like, so keep it as private as the bundle.
    """
    found = load_bundle(bundle) if isinstance(bundle, str | Path) else bundle
    data, target = onnx_bytes(found), Path(path)
    with writing_to(target):
        write_bytes(target, data)
    inputs, draws = _names(data), form_of(found.modifier).draws
    return Exported(
        target,
        hashlib.sha256(data).hexdigest(),
        len(data),
        found.method,
        inputs,
        tuple(name for name in inputs if name in draws),
        tuple(warnings_of(found)),
    )


def onnx_inputs(bundle: Bundle | str | Path, data: Any) -> Mapping[str, npt.NDArray[Any]]:
    """The inputs of the model for each record of `data`, in its order, with the draws of the key.

    `data` is a Dataset, or what `Dataset.read` takes. With these inputs the model gives what
    `withhold transform` releases (which shuffles the rows).

    >>> inputs = onnx_inputs(bundle, data)                                 # doctest: +SKIP
    >>> released = session.run(["released"], inputs)[0]                    # doctest: +SKIP
    """
    found = load_bundle(bundle) if isinstance(bundle, str | Path) else bundle
    modifier, form = found.modifier, form_of(found.modifier)
    dataset = data if isinstance(data, Dataset) else Dataset.read(data)
    require_kind(found.method, dataset.kind, dataset.name)
    if dataset.media is not None:
        return form.inputs(modifier, _pictures(dataset), {})
    if dataset.dimension != found.input["features"]:
        raise UserError(
            f"{dataset.name} has {dataset.dimension:,} features, the bundle was fitted on"
            f" {found.input['features']:,}"
        )
    there = {*dataset.attribute_names, *dataset.table.column_names}
    labels = {name: dataset.attribute(name) for name in modifier.needs if name in there}
    return form.inputs(modifier, dataset.x, labels, _nonces(found, dataset))


def _pictures(dataset: Dataset) -> list[Picture]:
    """The images, decoded. One that cannot be decoded is refused: it would have no row."""
    assert dataset.media is not None
    found = []
    for item in dataset.media.items():
        try:
            if isinstance(item.content, BadMedia):
                raise item.content
            sample = decode(item.content, "image")
        except BadMedia as error:
            raise UserError(f"image {item.name} cannot be used: {error}; leave it out") from error
        assert isinstance(sample, Picture)
        found.append(sample)
    return found


def _nonces(bundle: Bundle, dataset: Dataset) -> npt.NDArray[np.uint64] | None:
    """What tells equal rows apart where every row draws by itself, as in a release."""
    if not (isinstance(bundle.modifier, Channel) and bundle.modifier.draws_by_row):
        return None
    starts = range(0, len(dataset), _ROWS)
    pieces = ((dataset.x[at : at + _ROWS], dataset.table.slice(at, _ROWS)) for at in starts)
    digests = survey(pieces, bundle.modifier.key).digests
    return np.stack([digests, occurrences(digests)], axis=1)


def _names(data: bytes) -> tuple[str, ...]:
    """The inputs of a model."""
    import onnx

    return tuple(one.name for one in onnx.load_from_string(data).graph.input)
