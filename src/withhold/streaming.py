"""A release, batch by batch: read, modify, write; memory does not grow with the data.

A release of codes can take three shapes: the code's vector (like every other release), a member
made up near the code, or the code's number, with the table of codes in a file beside it.
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from withhold.attribute import Attribute, encode, gather
from withhold.bundle import Bundle
from withhold.data.files import FeatureLayout, Source, open_sink
from withhold.errors import RecordError, UserError
from withhold.methods import Channel
from withhold.methods.codebook import CodebookModifier
from withhold.progress import Progress
from withhold.tables import bare_schema

FloatArray = npt.NDArray[np.float32]
Shape = Literal["code", "sample", "index"]
INDEX = "code"  # the column of a release of numbers


def check_shape(bundle: Bundle, shape: str) -> Shape:
    """Refuse a shape that the bundle's releases cannot take."""
    if shape not in get_args(Shape):
        raise UserError(f"a release cannot be made as '{shape}'; --as takes code, sample or index")
    kinds = {"index": Channel, "sample": CodebookModifier}
    if shape in kinds and not isinstance(bundle.modifier, kinds[shape]):
        raise UserError(
            f"method '{bundle.method}' has no codes to release as {shape}; leave out --as, or use"
            " method codebook"
        )
    return shape  # type: ignore[return-value]


def codes_path(output: Path) -> Path:
    """Where the table of codes of a release of numbers goes."""
    return output.with_name(f"{output.stem}.codes{output.suffix}")


def stream(
    bundle: Bundle,
    source: Source,
    output: Path,
    *,
    features: str,
    drop: list[str],
    progress: Progress,
    shape: Shape = "code",
    rows: int = 4096,
) -> int:
    """Read, modify and write batch by batch; returns the number of records.

    Writing a batch (encoding, compression) overlaps with modifying the next: Arrow and torch both
    work outside the interpreter's lock.
    """
    layout = _layout(bundle, source, features)
    gone = [*drop, *(layout.columns if shape == "index" else ())]
    if shape == "index" and INDEX in source.schema.names and INDEX not in gone:
        raise UserError(
            f"{source.name} has a column '{INDEX}' already, which --as index makes; leave it out"
            f" with --drop {INDEX}"
        )
    keep = [f for f in layout.release_schema(source.schema) if f.name not in gone]
    numbers = [pa.field(INDEX, pa.uint16())] if shape == "index" else []
    schema = bare_schema(pa.schema(keep + numbers))
    done = 0
    waiting: Future[Any] | None = None
    with (
        open_sink(output, schema) as sink,
        ThreadPoolExecutor(1) as writer,
        progress.stage(f"transforming {source.name}", source.num_rows) as bar,
    ):
        for batch in source.batches(rows=rows):
            x = np.array(layout.read(batch, start_row=done))
            labels = _labels(bundle, batch, source.name)
            try:
                released = _released(bundle, layout, batch, x, labels, shape, source.name, done)
            except RecordError as error:
                raise error.after(done) from None
            released = released.select(schema.names)
            if waiting is not None:
                waiting.result()
            waiting = writer.submit(sink.write, released)
            done += len(x)
            bar.advance(len(x))
        if waiting is not None:
            waiting.result()
    if shape == "index":
        _write_codes(bundle, layout, source.schema, codes_path(output))
    return done


def _layout(bundle: Bundle, source: Source, features: str) -> FeatureLayout:
    layout = FeatureLayout.resolve(source.schema, features, name=source.name)
    fitted = tuple(bundle.input["columns"])
    if layout.columns != fitted and set(layout.columns) == set(fitted):
        # The same columns in another order: what the fit saw first must still come first.
        return replace(layout, columns=fitted, names=fitted)
    return layout


def _labels(bundle: Bundle, batch: pa.RecordBatch, name: str) -> dict[str, Attribute]:
    """The labels that the modifier needs, from the batch's own columns."""
    found = {}
    for attribute in bundle.modifier.needs:
        columns = bundle.input["multilabel"].get(attribute)
        if columns and set(columns) <= set(batch.schema.names):
            parts = {c: pa.chunked_array([batch.column(c)]) for c in columns}
            found[attribute] = gather(attribute, parts, name)
        elif attribute in batch.schema.names:
            found[attribute] = encode(attribute, batch.column(attribute), name)
    return found


def _released(
    bundle: Bundle,
    layout: FeatureLayout,
    batch: pa.RecordBatch,
    x: FloatArray,
    labels: dict[str, Attribute],
    shape: Shape,
    name: str,
    done: int,
) -> pa.RecordBatch:
    """The batch as it is released, its columns not yet left out."""
    modifier = bundle.modifier
    if x.shape[1] != modifier.dimension:
        raise UserError(
            f"{name} has {x.shape[1]:,} features, the bundle was fitted on"
            f" {modifier.dimension:,}; name the same ones with --features"
        )
    if shape == "index":
        assert isinstance(modifier, Channel)
        numbers = pa.array(modifier.draw(x, labels).astype(np.uint16))
        kept = batch.drop_columns([INDEX]) if INDEX in batch.schema.names else batch
        return kept.append_column(pa.field(INDEX, pa.uint16()), numbers)
    if shape == "sample":
        assert isinstance(modifier, CodebookModifier)
        x_new = modifier.sample(x, labels, first_row=done)
    else:
        x_new = modifier.transform(x, labels)
    if not np.isfinite(x_new).all():
        row = done + int(np.argmin(np.isfinite(x_new).all(axis=1)))
        raise UserError(
            f"row {row} of {name} (the first row is 0) is too large to be modified:"
            " its release would be NaN or infinite; drop the row"
        )
    return layout.write(batch, x_new)


def _write_codes(bundle: Bundle, layout: FeatureLayout, schema: pa.Schema, path: Path) -> None:
    """The table of codes: row j is code j, its features in the columns of the data."""
    assert isinstance(bundle.modifier, Channel)
    codes = bundle.modifier.codes
    wanted = bare_schema(
        pa.schema([layout.release_schema(schema).field(c) for c in layout.columns])
    )
    empty = pa.RecordBatch.from_arrays(
        [pa.nulls(len(codes), field.type) for field in wanted], schema=wanted
    )
    with open_sink(path, wanted) as sink:
        sink.write(layout.write(empty, codes))
