"""A release of media: decode, change and encode in threads, write in order."""

from __future__ import annotations

import hashlib
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from withhold.bundle.bundle import Bundle
from withhold.core.errors import UserError
from withhold.core.keyed import other_key
from withhold.core.progress import Progress
from withhold.learn.nets.device import core_count, threads
from withhold.media.folder_sink import PATH, names_path
from withhold.media.pipeline import Skipped
from withhold.media.sinks import MediaSink, is_of_files, open_media_sink
from withhold.media.telling_sizes import warn_of_sizes
from withhold.media.to_file import list_skipped
from withhold.records.columns.measure_columns import MOST
from withhold.records.dataset import Dataset
from withhold.records.plain import plain_table
from withhold.records.readers import Item
from withhold.records.readers.collection import FILE
from withhold.records.readers.media_table import PATHS
from withhold.records.readers.source import one_line
from withhold.records.samples import BadMedia
from withhold.records.writers.row_list import rows_path
from withhold.release.modified_media import STUMBLES, modified_sample
from withhold.release.policy import Decision, decide
from withhold.release.release_files import Written
from withhold.release.subject import subject_of
from withhold.release.survey import survey
from withhold.release.wishes import Wishes


def release_media(
    bundle: Bundle,
    dataset: Dataset,
    output: Path,
    *,
    wishes: Wishes | None = None,
    decision: Decision | None = None,
    keep_names: bool = False,
    strict: bool = False,
    progress: Progress,
) -> Written:
    """Write the release. Media that cannot be decoded or modified are left out and listed.

    The release policy decides which labels leave. Pass `decision` if it has decided already.
    """
    wishes = wishes or Wishes()
    wishes.refuse_hold_back("media")
    if decision is None:
        decision = decide_media(bundle, dataset, wishes, keep_names=keep_names)
        warn_of_sizes(dataset, bundle.roles.suppress, progress)
    collection = dataset.media
    assert collection is not None
    labels = leaving_labels(dataset, decision)
    plan = {
        "bundle": bundle.input["sha256"],
        "method": bundle.method,
        "config": bundle.modifier.settings(),
        "key": hashlib.sha256(bundle.modifier.key).hexdigest(),
        "media": collection.stamp(),
        "columns": decision.leaving,
    }
    sink = open_media_sink(
        collection,
        output,
        plan,
        labels,
        key=bundle.modifier.key,
        keep_names=keep_names,
        same_order=wishes.same_order,
    )
    skipped: list[Skipped] = []
    waiting: deque[tuple[int, Item, Future[Any]]] = deque()
    workers = core_count()
    records = 0
    with (
        sink,
        threads(1),  # torch threads per worker; set once, here
        ThreadPoolExecutor(workers) as pool,
        progress.stage(f"{bundle.method} on {collection.name}", len(collection)) as bar,
    ):

        def settle() -> int:
            place, item, future = waiting.popleft()
            made = future.result()
            bar.advance()
            if isinstance(made, BadMedia):
                if strict:
                    raise UserError(
                        f"{item.name} of {collection.name} cannot be released: {made}; without"
                        " --strict it would be left out and listed"
                    )
                skipped.append(Skipped(place, item.name, str(made)))
                return 0
            sink.put(place, item, made)
            return 1

        if sink.resumed:
            progress.say(f"resuming from {sink.resumed}")
        try:
            for place, item in enumerate(collection.items()):
                waiting.append((place, item, pool.submit(_made, bundle, sink, place, item)))
                if len(waiting) >= 4 * workers:
                    records += settle()
            while waiting:
                records += settle()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
        if not records:
            why = f": {skipped[0].name}: {skipped[0].reason}" if skipped else ""
            raise UserError(f"nothing of {collection.name} can be released{why}")
    files = is_of_files(collection, output)
    return Written(
        bundle.kind,
        records,
        decision,
        # Names of files leave with the files or not at all; the manifest does not repeat them.
        [n for n in decision.leaving if not files or n not in (FILE, PATH)],
        wishes.same_order,
        rows=None if files or wishes.same_order else rows_path(output),
        names=names_path(output) if files and not keep_names else None,
        skipped=tuple(skipped),
        left_out=list_skipped(skipped, output.with_name(f"{output.name}.left-out.csv")),
    )


def leaving_labels(dataset: Dataset, decision: Decision) -> pa.Table:
    """The labels that leave, as plain values with one kind of missing; no columns where none do."""
    return plain_table(dataset.table.select(decision.leaving), one_missing=True)


def decide_media(
    bundle: Bundle, dataset: Dataset, wishes: Wishes, *, keep_names: bool = False
) -> Decision:
    """Decide for every label column of a dataset; the media themselves are what is made.

    Every column that the bundle suppresses must be present under its own name. Otherwise it might
    be released under another name. Columns of file names are released only with `keep_names`.
    """
    schema, table = dataset.schema, dataset.table
    for name in bundle.label_columns:
        if name not in schema.names:
            raise UserError(
                f"{dataset.name} has no column '{name}', which the bundle suppresses, so it may"
                " go out under another name; give the labels as in the fit (--pattern, --column)"
            )
    if not schema.names:
        return Decision(())
    table = table.select(schema.names)
    if keep_names:
        names = [n for n in schema.names if n.lower() in PATHS and n not in wishes.drop]
        wishes = replace(wishes, keep=(*wishes.keep, *names))
    key = other_key(bundle.modifier.key, "labels of media")
    pieces = (table.slice(at, MOST) for at in range(0, len(table), MOST))
    found = survey(((None, piece) for piece in pieces), key)
    subject = subject_of(
        bundle,
        table.schema,
        (),
        found.table,
        None,
        dataset.name,
        multilabel=dataset.multilabel,
        group=dataset.group,
    )
    return decide(subject, wishes)


def _made(bundle: Bundle, sink: MediaSink, place: int, item: Item) -> Any:
    """What the sink takes, None where it has it already, or why there is none."""
    try:
        if not isinstance(item.content, BadMedia) and sink.done(place, item):
            return None
        sample = modified_sample(bundle, item)
        return sample if isinstance(sample, BadMedia) else sink.encoded(place, item, sample)
    except BadMedia as error:
        return error
    except UserError:
        raise
    except STUMBLES as error:
        return BadMedia(f"{type(error).__name__}: {one_line(error)}")
