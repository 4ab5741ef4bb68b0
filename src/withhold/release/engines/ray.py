"""Release a `ray.data.Dataset` on the Ray that it lives on."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from withhold.bundle.bundle import Bundle
from withhold.release.engines.batch_look import InTurn, WithDigests
from withhold.release.engines.distributed import ROWS, DistributedRelease, EngineRelease
from withhold.release.engines.engine import InWorker, Refused
from withhold.release.engines.hidden_columns import COUNTS, DIGEST, NUMBER, PLACE, signed, signless
from withhold.release.engines.optional_engine import needed
from withhold.release.engines.ray_engine import cpu_share
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
    """The rows of the dataset that may leave, as a dataset, with their certificate.

    The dataset is read twice. Nothing of the size of the data comes to this process, except 12
    bytes for each row if rows draw by themselves. A bundle that is named by its folder is opened by
    every worker, so the folder must be on a disk that all of them see; a Bundle is sent to them.
    """
    count = workers or max(int(needed("ray").cluster_resources().get("CPU", 1)), 1)
    schema = dataset.schema().base_schema
    todo = DistributedRelease(
        bundle,
        schema if isinstance(schema, pa.Schema) else pa.schema(list(schema)),
        Wishes.of(keep=keep, drop=drop, same_order=same_order),
        features=features,
        shape=shape,
        name="the dataset",
    )
    todo.decide(
        dataset.count(),
        lambda look: _mapped(dataset, look, count).iter_batches(
            batch_format="pyarrow", batch_size=None
        ),
    )
    with_digests = WithDigests(todo.digests)
    if todo.by_row:
        marked, total = _numbered(_mapped(dataset, with_digests, count))
        made = _mapped(marked, todo.modifier(total), count)
    else:
        # One function, because Ray would keep the actors of two functions at the same time.
        made = _mapped(dataset, InTurn((with_digests, todo.modifier())), count)
    made = made.materialize()
    counts = made.select_columns([COUNTS]).iter_batches(batch_format="pyarrow", batch_size=None)
    released = made if same_order else made.sort(PLACE)
    return todo.finish(released.drop_columns([PLACE, COUNTS]), counts)


def _mapped(dataset: Any, function: Any, workers: int) -> Any:
    """The dataset with the function applied to batches, by actors that leave a CPU to readers."""
    data = needed("ray.data")
    cpus = int(needed("ray").cluster_resources().get("CPU", 1))
    return dataset.map_batches(
        _InActor,
        fn_constructor_args=(function,),
        batch_format="pyarrow",
        batch_size=ROWS,
        compute=data.ActorPoolStrategy(size=workers),
        num_cpus=cpu_share(workers, cpus),
        max_restarts=-1,
        max_task_retries=-1,
    )


class _InActor:
    """A function on batches, in an actor with one core."""

    def __init__(self, function: Any) -> None:
        self.function: InWorker[pa.Table, pa.Table] = InWorker(function)

    def __call__(self, batch: pa.Table) -> pa.Table:
        found = self.function(batch)
        if isinstance(found, Refused):
            raise found.error()
        return found


def _numbered(dataset: Any) -> tuple[Any, int]:
    """The dataset with the number of each row among its equals, and the sum of `total_of`."""
    ray = needed("ray")
    blocks = dataset.materialize().to_arrow_refs()
    words = [signless(pa.chunked_array(d)) for d in ray.get([_digests(b) for b in blocks])]
    whole = np.concatenate(words)
    counted = occurrences(whole)
    cuts = np.cumsum([len(w) for w in words])[:-1]
    add = ray.remote(num_cpus=0)(_add_numbers)
    made = [add.remote(b, c) for b, c in zip(blocks, np.split(counted, cuts), strict=True)]
    return needed("ray.data").from_arrow_refs(made), total_of(whole, counted)


def _digests(block: Any) -> Any:
    return needed("ray").remote(num_cpus=0)(_digest_chunks).remote(block)


def _digest_chunks(table: pa.Table) -> list[pa.Array]:
    return [table[DIGEST].combine_chunks()] if table.num_rows else []


def _add_numbers(table: pa.Table, counted: Any) -> pa.Table:
    return table.append_column(NUMBER, pa.array(signed(counted.astype(np.uint64))))
