"""A release of a file of features, batch by batch.

It takes about 50 bytes of memory per record, for records of any width.
The source is read twice: once for the digests of its rows and a sample to decide on, and once to
modify it. A release of codes can have three shapes: the vector of the code (like every other
release), a synthetic member near the code, or the number of the code, with the table of codes in a
file beside the release.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

from withhold.bundle.bundle import Bundle
from withhold.certificate.plan_tally import PlanTally
from withhold.certificate.release_file import certificate_path
from withhold.core.atomic import writing_to
from withhold.core.errors import UserError
from withhold.core.progress import Progress, Stage
from withhold.core.safe_read import file_sha256
from withhold.methods import Channel
from withhold.records.plain import plain_schema, plain_table
from withhold.records.readers import FeatureLayout, Source
from withhold.records.writers import open_sink
from withhold.records.writers.row_list import FeatureDigest, rows_path, write_rows
from withhold.records.writers.shuffle import Shuffle
from withhold.release.certificate import Certifier
from withhold.release.engines.batch_digests import BatchDigests
from withhold.release.engines.batch_modifier import BatchModifier
from withhold.release.engines.engine import Engine
from withhold.release.engines.local_engine import LocalEngine
from withhold.release.engines.pieces import Piece
from withhold.release.feature_columns import Layout, layout_of, leaving_schema
from withhold.release.held_back import (
    STAYS,
    original_rows,
    people_draw,
    refuse_people,
    release_places,
)
from withhold.release.keyed_order import Counts, Places, Words, occurrences, shuffled_places
from withhold.release.modify import Shape
from withhold.release.policy import decide
from withhold.release.release_files import Written, codes_path, making
from withhold.release.subject import subject_of
from withhold.release.survey import Survey, Surveyed
from withhold.release.table_layout import TableLayout
from withhold.release.wishes import Wishes


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
    engine: Engine | None = None,
) -> Written:
    """Decide what leaves, modify it, and write it in a keyed random order.

    engine: where digests are made and records are modified; by default in this process. What is
    decided, the order, the certificate and the files are made here, so that the bytes are the same
    from every engine.
    """
    engine = engine or LocalEngine()
    layout = layout_of(bundle, source.schema, features, source.name)
    key, tabular = bundle.modifier.key, isinstance(layout, TableLayout)
    with progress.stage(f"looking at {source.name}", source.num_rows) as bar:
        found = _survey(bundle, source, layout, engine, rows, bar)
    n = len(found.digests)
    subject = subject_of(bundle, source.schema, layout.columns, found.table, found.x, source.name)
    decision = decide(subject, wishes)
    schema = leaving_schema(layout, source.schema, decision, shape, source.name)
    modifier = BatchModifier(
        bundle, schema, features, shape, source.name, keep_plan=_keeps_plan(bundle, n)
    )
    counted = occurrences(found.digests) if modifier.by_row else None
    shuffled = shuffled_places(found.digests, key, counted)
    refuse_people(wishes, people_draw=people_draw(bundle.modifier))
    places = release_places(shuffled, hold_back=wishes.hold_back, same_order=wishes.same_order)
    order = original_rows(places)
    certifier, original = Certifier(bundle), FeatureDigest()
    done = 0
    with (
        making(output) as folder,
        progress.stage(f"transforming {source.name}", n) as bar,
        Shuffle(schema, folder, rows=len(order), size=found.bytes) as shuffle,
    ):
        pieces = _pieces(source, rows, found.digests, counted, places)
        for piece, made in engine.pairs(modifier.make, pieces):
            batch = piece.batch
            if tabular:
                original.add_table(pa.Table.from_batches([batch]))
            else:
                original.add(np.array(layout.read(batch, start_row=done)))
            here = places[done : done + len(batch)]
            shuffle.write(made.batch, here[here != STAYS])
            certifier.counts.merge(made.counts)
            done += len(batch)
            bar.advance(len(batch))
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
            rows_file = rows_path(output, len(order))
            file = folder / output.name
            write_rows(folder / rows_file.name, order, file, original.hexdigest())
        certificate = certifier.certificate(
            decision,
            name=output.name,
            sha256=file_sha256(folder / output.name),
            records=len(order),
            columns=schema.names,
            same_order=wishes.same_order,
            held_back=n - len(order),
        )
        beside = None if certificate is None else certificate_path(output)
        if certificate is not None and beside is not None:
            with writing_to(beside):
                (folder / beside.name).write_bytes(certificate.json_bytes())
    return Written(
        bundle.kind, len(order), decision, schema.names, wishes.same_order, rows_file, beside, codes
    )


def _survey(
    bundle: Bundle, source: Source, layout: Layout, engine: Engine, rows: int, bar: Stage
) -> Survey:
    """Digests of all rows, made by the engine, and a sample to decide on."""
    found, digests = Surveyed(), BatchDigests.of(bundle, layout)
    for piece, made in engine.pairs(digests, _pieces(source, rows)):
        x, table = digests.parts(piece.batch, piece.start)
        found.add(x, plain_table(table), made, size=table.nbytes + x.nbytes)
        bar.advance(len(made))
    return found.result()


def _pieces(
    source: Source,
    rows: int,
    digests: Words | None = None,
    counted: Counts | None = None,
    places: Places | None = None,
) -> Iterator[Piece]:
    """The batches of a source; with nonces, if rows are counted; and which rows leave."""
    start = 0
    some_stay = places is not None and bool((places == STAYS).any())
    for batch in source.batches(rows=rows):
        nonces, leaves = None, None
        here = slice(start, start + len(batch))
        if digests is not None and counted is not None:
            nonces = np.stack([digests[here], counted[here]], 1)
        if places is not None and some_stay:
            leaves = places[here] != STAYS
        yield Piece(batch, start, nonces, leaves)
        start += len(batch)


def _keeps_plan(bundle: Bundle, rows: int) -> bool:
    """Whether workers send the plan of every row, and not only its sums."""
    codes = len(bundle.modifier.codes) if isinstance(bundle.modifier, Channel) else 0
    return PlanTally.keeps(rows, codes)


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
