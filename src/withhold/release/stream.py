"""A release of a file of features, batch by batch.

It takes about 50 bytes of memory per record, for records of any width.
The source is read twice: once for the digests of its rows and a sample to decide on, and once to
modify it. A release of codes can have three shapes: the vector of the code (like every other
release), a synthetic member near the code, or the number of the code, with the table of codes in a
file beside the release.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from withhold.bundle.bundle import Bundle
from withhold.certificate.release_file import certificate_path
from withhold.core.atomic import writing_to
from withhold.core.errors import RecordError, UserError
from withhold.core.progress import Progress, Stage
from withhold.core.safe_read import file_sha256
from withhold.methods import Channel
from withhold.methods.features.exact import ExactModifier
from withhold.records.plain import plain_column, plain_schema
from withhold.records.readers import FeatureLayout, Source
from withhold.records.writers import open_sink
from withhold.records.writers.row_list import FeatureDigest, rows_path, write_rows
from withhold.records.writers.shuffle import Shuffle
from withhold.release.certificate import Certifier
from withhold.release.keyed_order import occurrences, shuffled_places
from withhold.release.modify import INDEX, Modified, Shape, modified
from withhold.release.policy import Decision, Wishes, decide
from withhold.release.release_files import Written, codes_path, making
from withhold.release.subject import needed_labels, subject_of
from withhold.release.survey import survey
from withhold.release.table_layout import TableLayout

FloatArray = npt.NDArray[np.float32]


def release_features(
    bundle: Bundle,
    source: Source,
    output: Path,
    wishes: Wishes,
    *,
    features: str,
    progress: Progress,
    shape: Shape = "code",
    rows: int = 4096,
) -> Written:
    """Decide what leaves, modify it, and write it in a keyed random order."""
    layout = layout_of(bundle, source, features)
    key, tabular = bundle.modifier.key, isinstance(layout, TableLayout)
    by_row = isinstance(bundle.modifier, Channel) and bundle.modifier.draws_by_row
    with progress.stage(f"looking at {source.name}", source.num_rows) as bar:
        found = survey(_pieces(source, layout, rows, bar), key)
    n = len(found.digests)
    subject = subject_of(bundle, source.schema, layout.columns, found.table, found.x, source.name)
    decision = decide(subject, wishes)
    schema = _schema(layout, source, decision, shape)
    counted = occurrences(found.digests) if shape == "sample" or by_row else None
    places = np.arange(n) if wishes.same_order else shuffled_places(found.digests, key, counted)
    certifier, original = Certifier(bundle), FeatureDigest()
    done = 0
    with (
        making(output) as folder,
        progress.stage(f"transforming {source.name}", n) as bar,
        Shuffle(schema, folder, rows=n, size=found.bytes) as shuffle,
    ):
        for batch in source.batches(rows=rows):
            x = np.array(layout.read(batch, start_row=done))
            rows_here = slice(done, done + len(x))
            labelled = pa.Table.from_batches([batch])
            if tabular:
                original.add_table(labelled)
            else:
                original.add(x)
            labels = needed_labels(bundle, labelled, source.name)
            nonces = None
            if counted is not None:
                nonces = np.stack([found.digests[rows_here], counted[rows_here]], 1)
            try:
                made = modified(
                    bundle, x, labels, shape=shape, nonces=nonces, name=source.name,
                    done=done,
                )  # fmt: skip
            except RecordError as error:
                raise error.after(done) from None
            released = _with(batch, layout, made, shape)
            shuffle.write(_leaving(released, layout, schema), places[rows_here])
            certifier.add(made, labelled, bundle.input["multilabel"], source.name)
            done += len(x)
            bar.advance(len(x))
        if done != n:
            raise UserError(f"{source.name} changed while it was read; run again")
        delimiter = getattr(source, "delimiter", None)
        with open_sink(folder / output.name, schema, delimiter=delimiter) as sink:
            for batch in shuffle.batches():
                sink.write(batch)
        codes = rows_file = None
        if shape == "index":
            codes = codes_path(output)
            assert not isinstance(layout, TableLayout)
            _write_codes(bundle, layout, source.schema, folder / codes.name)
        if not wishes.same_order:
            rows_file = rows_path(output, n)
            order, file = np.argsort(places), folder / output.name
            write_rows(folder / rows_file.name, order, file, original.hexdigest())
        certificate = certifier.certificate(
            decision,
            name=output.name,
            sha256=file_sha256(folder / output.name),
            records=n,
            columns=schema.names,
            same_order=wishes.same_order,
        )
        beside = None if certificate is None else certificate_path(output)
        if certificate is not None and beside is not None:
            with writing_to(beside):
                (folder / beside.name).write_bytes(certificate.json_bytes())
    return Written(
        bundle.kind, n, decision, schema.names, wishes.same_order, rows_file, beside, codes
    )


def layout_of(bundle: Bundle, source: Source, features: str) -> FeatureLayout | TableLayout:
    """The features of the source, in the order of the fit."""
    if bundle.kind == "table":
        assert isinstance(bundle.modifier, ExactModifier)
        return TableLayout.of(bundle.modifier, source)
    layout = FeatureLayout.resolve(source.schema, features, name=source.name)
    fitted = tuple(bundle.input["columns"])
    if layout.columns != fitted and set(layout.columns) == set(fitted):
        # The same columns in another order: put them in the order of the fit.
        return replace(layout, columns=fitted, names=fitted)
    return layout


def _pieces(
    source: Source, layout: FeatureLayout | TableLayout, rows: int, bar: Stage
) -> Iterator[tuple[FloatArray, pa.Table]]:
    # The columns of a table are features and labels at once.
    tabular = isinstance(layout, TableLayout)
    others = [c for c in source.schema.names if tabular or c not in layout.columns]
    done = 0
    for batch in source.batches(rows=rows):
        x = np.array(layout.read(batch, start_row=done))
        yield x, pa.Table.from_batches([batch.select(others)])
        done += len(x)
        bar.advance(len(x))


def _schema(
    layout: FeatureLayout | TableLayout, source: Source, decision: Decision, shape: Shape
) -> pa.Schema:
    """The columns of the release, in the order of the source. The number of the code is last."""
    keep = [f for f in layout.release_schema(source.schema) if f.name in decision.leaving]
    if shape != "index":
        return plain_schema(pa.schema(keep))
    keep = [f for f in keep if f.name not in layout.columns]
    if INDEX in [f.name for f in keep]:
        raise UserError(
            f"{source.name} already has a column '{INDEX}', and --as index would add one; leave it"
            f" out with --drop {INDEX}"
        )
    return plain_schema(pa.schema([*keep, pa.field(INDEX, pa.uint16())]))


def _with(
    batch: pa.RecordBatch, layout: FeatureLayout | TableLayout, made: Modified, shape: Shape
) -> pa.RecordBatch:
    """The batch with the modified features. No column has been left out yet."""
    if isinstance(layout, TableLayout):
        assert made.rows is not None
        return layout.write(batch, made.rows)
    if shape != "index":
        return layout.write(batch, made.x)
    drawn = made.codes
    assert drawn is not None
    kept = batch.drop_columns([INDEX]) if INDEX in batch.schema.names else batch
    return kept.append_column(pa.field(INDEX, pa.uint16()), pa.array(drawn.astype(np.uint16)))


def _leaving(
    batch: pa.RecordBatch, layout: FeatureLayout | TableLayout, schema: pa.Schema
) -> pa.RecordBatch:
    """The columns that leave, as plain values, with one way to mark a missing value."""
    columns = [
        plain_column(batch.column(name), one_missing=name not in layout.columns).chunk(0)
        for name in schema.names
    ]
    found = pa.RecordBatch.from_arrays(columns, names=schema.names)
    return found.cast(schema)


def _write_codes(bundle: Bundle, layout: FeatureLayout, schema: pa.Schema, path: Path) -> None:
    """Write the table of codes: row j is code j, in the feature columns of the data."""
    assert isinstance(bundle.modifier, Channel)
    codes = bundle.modifier.codes
    wanted = plain_schema(
        pa.schema([layout.release_schema(schema).field(c) for c in layout.columns])
    )
    empty = pa.RecordBatch.from_arrays(
        [pa.nulls(len(codes), field.type) for field in wanted], schema=wanted
    )
    with open_sink(path, wanted) as sink:
        sink.write(layout.write(empty, codes))
