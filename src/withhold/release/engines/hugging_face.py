"""Release a Hugging Face dataset, with `map(batched=True)`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from withhold.bundle.bundle import Bundle
from withhold.core.errors import UserError
from withhold.records.readers.hugging_face_source import with_class_names
from withhold.release.engines.batch_look import WithDigests
from withhold.release.engines.distributed import ROWS, DistributedRelease, EngineRelease
from withhold.release.engines.engine import InWorker, opened
from withhold.release.engines.hidden_columns import COUNTS, DIGEST, NUMBER, PLACE, signed, signless
from withhold.release.keyed_order import occurrences, total_of
from withhold.release.wishes import Wishes


def release(
    dataset: Any,
    bundle: Bundle | str | Path,
    *,
    keep: Sequence[str] = (),
    drop: Sequence[str] = (),
    same_order: bool = False,
    features: str | None = None,
    shape: str = "code",
    workers: int | None = None,
) -> EngineRelease:
    """The rows of a `datasets.Dataset` that may leave, as a Dataset, with their certificate.

    workers: processes; by default this one alone. The key is in the memory of these processes, and
    not in the files of the cache.
    """
    if not hasattr(dataset, "with_format") or not hasattr(dataset, "__len__"):
        raise UserError(
            "give one split of a Hugging Face dataset that is not streamed: dataset['train']"
        )
    classes = {
        name: list(feature.names)
        for name, feature in dataset.features.items()
        if getattr(feature, "names", None)
    }
    # Without formats and decoding; class numbers as names, as a fit reads them.
    source = dataset.with_format("arrow")
    schema = with_class_names(source[: min(len(dataset), 1)], classes).schema
    todo = DistributedRelease(
        bundle,
        schema.remove_metadata(),
        Wishes.of(keep=keep, drop=drop, same_order=same_order),
        features=features,
        shape=shape,
        name="the dataset",
    )
    todo.decide(len(dataset), lambda look: _tables(_mapped(source, look, classes, workers)))
    marked = _mapped(source, WithDigests(todo.digests), classes, workers)
    total = None
    if todo.by_row:
        words = signless(pa.chunked_array(marked.with_format("arrow")[DIGEST]))
        counted = occurrences(words)
        total = total_of(words, counted)
        marked = marked.add_column(NUMBER, signed(counted.astype(np.uint64)))
    made = _mapped(marked.with_format("arrow"), todo.modifier(total), {}, workers)
    counts = _tables(made.select_columns([COUNTS]))
    places = pa.chunked_array(made.with_format("arrow")[PLACE]).to_numpy()
    released = made if same_order else made.select(np.argsort(places, kind="stable"))
    data = released.remove_columns([PLACE, COUNTS]).with_format(None)
    return todo.finish(data, counts)


def _mapped(source: Any, function: Any, classes: dict[str, list[str]], workers: int | None) -> Any:
    many = {} if workers is None or workers == 1 else {"num_proc": workers}
    return source.map(
        _OnNames(function, classes, None if workers is None else 1),
        batched=True,
        batch_size=ROWS,
        remove_columns=source.column_names,
        load_from_cache_file=False,
        **many,
    )


def _tables(dataset: Any) -> Iterator[pa.Table]:
    yield from dataset.with_format("arrow").iter(batch_size=64)


@dataclass(frozen=True, eq=False)
class _OnNames:
    """A function on batches whose classes are names."""

    function: Any
    classes: dict[str, list[str]]
    cores: int | None

    def __call__(self, batch: pa.Table) -> pa.Table:
        table = with_class_names(batch, self.classes)
        if self.cores is None:
            return self.function(table)
        return opened(InWorker(self.function, self.cores)(table))
