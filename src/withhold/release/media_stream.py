"""A release of media: decode, change and encode in threads, write in order."""

from __future__ import annotations

import hashlib
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

from withhold.bundle.bundle import Bundle
from withhold.core.errors import UserError
from withhold.core.keyed import other_key
from withhold.core.progress import Progress
from withhold.learn.nets.device import core_count, threads
from withhold.media.cutting import decode
from withhold.media.folder_sink import names_path
from withhold.media.pipeline import Skipped
from withhold.media.sinks import MediaSink, is_of_files, open_media_sink
from withhold.media.to_file import list_skipped
from withhold.methods.media_modifier import MediaModifier
from withhold.records.columns.measure_columns import MOST
from withhold.records.readers import Collection, Item
from withhold.records.readers.media_table import PATHS
from withhold.records.readers.source import one_line
from withhold.records.samples import BadMedia
from withhold.records.writers.row_list import rows_path
from withhold.release.policy import Decision, decide
from withhold.release.subject import subject_of
from withhold.release.survey import survey
from withhold.release.wishes import Wishes
from withhold.release.written import Written


def release_media(
    bundle: Bundle,
    collection: Collection,
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
    decision = decision or decide_media(bundle, collection, wishes, keep_names=keep_names)
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
        frozenset(n for n in collection.schema.names if n not in decision.leaving),
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
        decision.leaving,
        wishes.same_order,
        rows=None if files or wishes.same_order else rows_path(output),
        names=names_path(output) if files and not keep_names else None,
        skipped=tuple(skipped),
        left_out=list_skipped(skipped, output.with_name(f"{output.name}.left-out.csv")),
    )


def decide_media(
    bundle: Bundle, collection: Collection, wishes: Wishes, *, keep_names: bool = False
) -> Decision:
    """Decide for every label column of a collection; the method makes the media themselves.

    Every column that the bundle suppresses must be present under its own name. Otherwise it might
    be released under another name. Columns of file names are released only with `keep_names`.
    """
    schema = collection.schema
    for name in bundle.label_columns:
        if name not in schema.names:
            raise UserError(
                f"{collection.name} has no column '{name}', which the bundle suppresses; its labels"
                " might be released under another name, so read them as in the fit (--pattern,"
                " --column)"
            )
    table = collection.labels()
    if table is None:
        return Decision(())
    if keep_names:
        names = [n for n in schema.names if n.lower() in PATHS and n not in wishes.drop]
        wishes = replace(wishes, keep=(*wishes.keep, *names))
    key = other_key(bundle.modifier.key, "labels of media")
    pieces = (table.slice(at, MOST) for at in range(0, len(table), MOST))
    found = survey(((None, piece) for piece in pieces), key)
    subject = subject_of(bundle, table.schema, (), found.table, None, collection.name)
    return decide(subject, wishes)


def _made(bundle: Bundle, sink: MediaSink, place: int, item: Item) -> Any:
    """What the sink takes; None if it has the item already; `BadMedia` if nothing can be made."""
    if isinstance(item.content, BadMedia):
        return item.content
    try:
        if sink.done(place, item):
            return None
        modifier = bundle.modifier
        assert isinstance(modifier, MediaModifier)
        assert bundle.kind != "features"
        return sink.encoded(place, item, modifier.apply(decode(item.content, bundle.kind)))
    except BadMedia as error:
        return error
    except UserError:
        raise
    except (OSError, ValueError, ArithmeticError, RuntimeError, MemoryError) as error:
        return BadMedia(f"{type(error).__name__}: {one_line(error)}")
