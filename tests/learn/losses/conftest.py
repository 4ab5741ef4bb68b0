"""One thread: these tensors are so small that sharing them out costs more than the work."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from withhold.learn.nets.device import threads


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    with threads(1):
        yield
