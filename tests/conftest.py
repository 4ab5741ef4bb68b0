"""What every test may ask for."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

# A machine that is busy with something else must not fail a test.
settings.register_profile("withhold", deadline=None)
settings.load_profile("withhold")


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
