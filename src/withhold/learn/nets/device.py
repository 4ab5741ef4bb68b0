"""Where tensors live, and how many threads work on them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from withhold.core.errors import UserError


def pick_device() -> torch.device:
    """CUDA or MPS where present, else the CPU; WITHHOLD_DEVICE overrides."""
    named = os.environ.get("WITHHOLD_DEVICE")
    if named:
        try:
            return torch.empty(0, device=named).device
        except (RuntimeError, AssertionError) as error:
            raise UserError(
                f"WITHHOLD_DEVICE is '{named}', which torch cannot use here; unset it, or use cpu"
            ) from error
    if torch.cuda.is_available():
        return torch.device("cuda")
    if torch.backends.mps.is_available():
        return torch.device("mps")
    return torch.device("cpu")


def threads_for(work: float) -> int:
    """How many threads serve a step of `work` multiply-adds.

    A fixed rule and not a measurement: the number of threads decides the order of floating-point
    sums, and the same seed must give the same bytes. `withhold bench speed` measures where the
    rule's threshold should lie.
    """
    if work < 5e6:
        return 1
    most = os.environ.get("OMP_NUM_THREADS", "")  # set by a user, or for one process of several
    return min(core_count(), int(most)) if most.isdigit() and int(most) else core_count()


_limit: int | None = None  # cores, if this process is one of several on its machine


def core_count() -> int:
    """Cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        found = len(os.sched_getaffinity(0))
    else:
        found = os.cpu_count() or 1
    return found if _limit is None else min(found, _limit)


@contextmanager
def limited_cores(most: int | None) -> Iterator[None]:
    """Use at most so many cores of this process inside (None: all), then as many as before."""
    global _limit
    before, _limit = _limit, most
    try:
        yield
    finally:
        _limit = before


@contextmanager
def threads(count: int) -> Iterator[None]:
    """Run torch with `count` threads inside, and give the caller's setting back."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
