"""Kill `extract` at random moments: the same bytes in the end, no record twice, none lost.

`WITHHOLD_KILLS` says how often, as for `fit` and `transform`.
"""

from __future__ import annotations

import signal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from .killer import KILLS, Killer, tell

CLIPS = 1600
BAD = (3, 1300, CLIPS - 1)
# Wide features, so that a short run is of several parts.
EXTRACT = ("extract", "sounds.parquet", "--set", "bands=1024", "--test", "n>=1200", "-q", "-o")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL"),
]


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("extract-kills")
    rng = np.random.default_rng(0)
    clips = [b"" if i in BAD else rng.bytes(600) for i in range(CLIPS)]
    table = pa.table({"audio_8khz": clips, "n": np.arange(CLIPS)})
    pq.write_table(table, folder / "sounds.parquet")
    return folder


class Extraction(Killer):
    known = frozenset({"sounds.parquet", "whole.parquet", "whole.errors.csv", "killed.errors.csv"})

    def check_output(self) -> None:
        numbers = pq.read_table(self.output, columns=["n"])["n"].to_pylist()
        assert numbers == [n for n in range(CLIPS) if n not in BAD]


def test_extract(ground: Path) -> None:
    whole = Extraction(ground, EXTRACT, ground / "whole.parquet")
    seconds = whole.finish()
    aims = ("part", "writing", "renamed")
    size = whole.output.stat().st_size
    killer = Extraction(ground, EXTRACT, ground / "killed.parquet", KILLS, 13, aims, size)
    killer.run(seconds)
    assert killer.output.read_bytes() == whole.output.read_bytes()
    errors = [(ground / f"{name}.errors.csv").read_text() for name in ("whole", "killed")]
    assert errors[0] == errors[1]
    assert [line.split(",")[0] for line in errors[0].splitlines()[1:]] == [f"row {n}" for n in BAD]
    tell("extract", seconds, killer)
