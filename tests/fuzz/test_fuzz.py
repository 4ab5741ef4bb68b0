"""Damaged files through every reader: it reads them or refuses them, and nothing else.

A valid file is damaged in a few places, often in its header and inside its packing, so that most
damages are not found by a checksum. `run.py` does the same for many more inputs, in a process of
its own; what it found is in `corpus/` and is replayed here.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from withhold.core.safe_read import read_bounded

from .mutations import OPERATIONS, apply
from .targets import TARGETS, Target, read_input

HERE = Path(__file__).parent
CORPUS = sorted((HERE / "corpus").glob("*"))
DAMAGES = st.lists(
    st.tuples(
        st.sampled_from(OPERATIONS),
        st.floats(0, 1, exclude_max=True, width=32),
        st.integers(0, 2**32 - 1),
    ),
    min_size=1,
    max_size=5,
)
EXAMPLES = {"settings": 12, "note": 12, "folder": 12, "clip": 15}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz")


@pytest.mark.parametrize("name", TARGETS)
def test_damaged_files_are_read_or_refused(name: str, folder: Path) -> None:
    target = TARGETS[name]
    seeds = target.seeds()

    @settings(
        max_examples=EXAMPLES.get(name, 25),
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    @given(seed=st.sampled_from(range(len(seeds))), damages=DAMAGES)
    def check(seed: int, damages: list[tuple[str, float, int]]) -> None:
        data, wrap = seeds[seed]
        _read(target, wrap(apply(data, damages)), folder)

    check()


@pytest.mark.parametrize("name", TARGETS)
def test_what_is_not_damaged_is_read(name: str, folder: Path) -> None:
    target = TARGETS[name]
    data, wrap = target.seeds()[0]
    assert _read(target, wrap(data), folder) == "read"


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.name)
def test_what_once_found_something(path: Path, folder: Path) -> None:
    """Named TARGET-WHAT-HASH; the last two are what it did, and a checksum."""
    name = path.name.rsplit("-", 2)[0]
    assert path.stat().st_size < 2**16
    _read(TARGETS[name], read_bounded(path, 2**16), folder)


def _read(target: Target, data: bytes, folder: Path) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a library may warn of what we then refuse
        return read_input(target, data, folder)
