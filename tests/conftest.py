"""What every test may ask for."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

# A machine that is busy with something else must not fail a test.
settings.register_profile("withhold", deadline=None)
settings.load_profile("withhold")


@pytest.fixture(scope="session", autouse=True)
def _same_keys_in_every_run() -> Iterator[None]:
    """Fits without a key get one that belongs to their test: a key decides what is learned, so with
    random keys a test could fail by chance."""
    made: Counter[str] = Counter()

    def key_of_test() -> bytes:
        test = os.environ.get("PYTEST_CURRENT_TEST", "").partition(" ")[0]
        made[test] += 1
        return hashlib.blake2b(f"{test} {made[test]}".encode(), digest_size=32).digest()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("withhold.learn.journal.new_key", key_of_test)
        yield


@pytest.fixture(scope="module")
def less_monte_carlo() -> Iterator[None]:
    """Certificates with a twentieth of the work: their bounds hold, but are less narrow."""
    from withhold.bench.less_monte_carlo import less_monte_carlo

    with less_monte_carlo():
        yield


@pytest.fixture(scope="session")
def realdata() -> Path:
    """The folder of real data: WITHHOLD_DATA, or ../shared/data where it exists."""
    named = os.environ.get("WITHHOLD_DATA")
    folder = Path(named) if named else Path(__file__).parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"no real data at {folder}; name its folder with WITHHOLD_DATA")
    return folder
