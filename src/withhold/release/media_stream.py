"""A release of media: decode, change and encode in threads, write in order."""

from __future__ import annotations

import hashlib
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from withhold.bundle.media import MediaBundle
from withhold.core.errors import UserError
from withhold.core.progress import Progress
from withhold.learn.nets.device import core_count
from withhold.media.cutting import decode
from withhold.media.pipeline import Skipped
from withhold.media.sinks import MediaSink, open_media_sink
from withhold.records.files.source import one_line
from withhold.records.readers import Collection, Item
from withhold.records.samples import BadMedia
from withhold.release.media import decide_media
from withhold.release.policy import Decision
from withhold.release.wishes import Wishes


def release_media(
    bundle: MediaBundle,
    collection: Collection,
    output: Path,
    *,
    wishes: Wishes | None = None,
    decision: Decision | None = None,
    keep_names: bool = False,
    strict: bool = False,
    progress: Progress,
) -> tuple[int, list[Skipped]]:
    """Write the release; returns how many media it has, and which gave none.

    What cannot be decoded or changed is left out: nothing gets out that was not changed. Labels
    leave as the release policy decides (`decision`, where that was asked already).
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
                        " --strict, it is left out and listed"
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
    return records, skipped


def _made(bundle: MediaBundle, sink: MediaSink, place: int, item: Item) -> Any:
    """What the sink takes, None where it has it already, or why there is none."""
    if isinstance(item.content, BadMedia):
        return item.content
    try:
        if sink.done(place, item):
            return None
        sample = bundle.modifier.apply(decode(item.content, bundle.kind))
        return sink.encoded(place, item, sample)
    except BadMedia as error:
        return error
    except UserError:
        raise
    except (OSError, ValueError, ArithmeticError, RuntimeError, MemoryError) as error:
        return BadMedia(f"{type(error).__name__}: {one_line(error)}")
