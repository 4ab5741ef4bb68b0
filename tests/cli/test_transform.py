"""`withhold transform`: what is in a release, and that it streams."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from withhold.actions.fit import fit_bundle
from withhold.bundle.bundle import load_bundle, save_bundle
from withhold.methods.features.baselines.noise import NoiseModifier
from withhold.records.dataset import Dataset
from withhold.records.roles import Roles
from withhold.records.writers.row_list import read_rows

from .conftest import Run, snapshot


@pytest.mark.parametrize("file", ["data.parquet", "lists.parquet"])
def test_release_differs_in_the_features_alone(place: Path, cli: Run, file: str) -> None:
    ran = cli("transform", "bundle", file, "-o", "r.parquet", "--json", "--quiet")
    assert (ran.code, ran.err) == (0, "")
    before, after = pq.read_table(file), pq.read_table("r.parquet")
    others = [c for c in before.column_names if c not in ("x", "secret", "split", "id")]
    assert (ran.json["release"], ran.json["records"]) == ("r.parquet", 240)
    assert ran.json["dropped"] == ["secret", "split", "id"]
    assert ran.json["columns"] == ["x", *others]
    assert (ran.json["tells"], ran.json["unchecked"], ran.json["kept_by_name"]) == ({}, [], [])
    assert (ran.json["rows"], ran.json["same_order"]) == ("r.rows.csv", False)
    assert after.column_names == ["x", *others]
    assert after.schema.field("x").type == before.schema.field("x").type
    rows = read_rows(Path("r.rows.csv"))
    assert sorted(rows) == list(range(240))
    assert not np.array_equal(rows, np.arange(240))
    assert after.select(others).equals(before.select(others).take(pa.array(rows)))
    x = Dataset.read(file).x
    modified = load_bundle("bundle").modifier.transform(x)
    np.testing.assert_array_equal(Dataset.read("r.parquet").x, modified[rows])
    assert np.abs(modified - x).max() > 0.1


def test_labels_stay_where_asked(place: Path, cli: Run) -> None:
    ran = cli(
        "transform", "bundle", "data.parquet", "-o", "r.parquet", "--keep-labels", "--same-order"
    )
    assert ran.code == 0
    assert "rows in the order of the original" in ran.out
    assert "kept by name, even if they reveal something: secret" in ran.err
    assert not Path("r.rows.csv").exists()
    before, after = pq.read_table("data.parquet"), pq.read_table("r.parquet")
    assert after["secret"].equals(before["secret"])


def test_a_column_that_gives_the_suppressed_away_is_named_and_can_be_left_out(
    place: Path, cli: Run
) -> None:
    table = pq.read_table("data.parquet")
    table = table.append_column("alias", table["secret"])
    pq.write_table(table, "told.parquet")
    fit = ("fit", "told.parquet", "--suppress", "secret", "--method", "constant", "-o", "b")
    assert cli(*fit, "-q").code == 0
    ran = cli("transform", "b", "told.parquet", "-o", "r.parquet")
    assert "alias   copy of 'secret', which is suppressed" in ran.out
    assert "alias" not in pq.read_schema("r.parquet").names
    told = cli("transform", "b", "told.parquet", "-o", "r.parquet", "--keep", "alias").mistake
    assert "use --keep-labels instead of --keep" in told
    ran = cli("transform", "b", "told.parquet", "-o", "r.parquet", "--keep-labels", "-q")
    assert {"alias", "secret"} <= set(pq.read_schema("r.parquet").names)
    ran = cli("transform", "b", "told.parquet", "-o", "r.parquet", "--drop", "useful,alias", "-q")
    assert not {"alias", "useful"} & set(pq.read_schema("r.parquet").names)
    for option in ("--drop", "--keep"):
        ran = cli("transform", "b", "told.parquet", "-o", "r.parquet", option, "alais")
        assert "did you mean 'alias'" in ran.mistake


def test_nothing_that_the_source_says_of_itself_is_in_the_release(place: Path, cli: Run) -> None:
    table = pq.read_table("data.parquet").replace_schema_metadata({b"pandas": b"spk secret"})
    pq.write_table(table, "talkative.parquet")
    assert cli("transform", "bundle", "talkative.parquet", "-o", "r.parquet", "-q").code == 0
    schema = pq.read_schema("r.parquet")
    assert not schema.metadata
    assert all(not (set(f.metadata or {}) - {b"PARQUET:field_id"}) for f in schema)
    assert Path("r.parquet").stat().st_mtime == 315532800  # one date, whenever it was made


def test_formats_give_one_release(place: Path, cli: Run) -> None:
    for source, target in [("data.parquet", "a.npz"), ("data.npz", "b.parquet")]:
        assert cli("transform", "bundle", source, "-o", target, "-q").code == 0
    np.testing.assert_array_equal(Dataset.read("a.npz").x, Dataset.read("b.parquet").x)


def test_wide_columns_are_matched_by_name(place: Path, cli: Run) -> None:
    """The same columns in another order are the same features: the release follows them."""
    fit = (
        "fit",
        "wide.csv",
        "--features",
        "f_*",
        "--method",
        "mass",
        "--suppress",
        "secret",
        "-o",
        "b",
        "-q",
    )
    assert cli(*fit, "--config", "tiny.yaml").code == 0
    frame = pd.read_csv("wide.csv")
    frame[frame.columns[::-1]].to_csv("turned.csv", index=False)
    for source, target in [("wide.csv", "one.csv"), ("turned.csv", "two.csv")]:
        assert cli("transform", "b", source, "-o", target, "-q").code == 0
    one, two = pd.read_csv("one.csv"), pd.read_csv("two.csv")
    gone = ("secret", "split", "id")
    assert list(two.columns) == [c for c in frame.columns[::-1] if c not in gone]
    pd.testing.assert_frame_equal(one, two[one.columns])


def test_columns_of_a_multilabel_attribute_go(place: Path, cli: Run) -> None:
    fit = ("fit", "data.parquet", "--multilabel", "sound=loud,fast", "--suppress", "sound")
    assert cli(*fit, "--method", "mass", "--config", "tiny.yaml", "-o", "b", "-q").code == 0
    ran = cli("transform", "b", "data.parquet", "-o", "r.parquet")
    assert "loud   suppressed" in ran.out
    assert "fast   suppressed" in ran.out
    assert not {"loud", "fast"} & set(pq.read_table("r.parquet").column_names)


def test_noise_is_the_same_each_time(place: Path, cli: Run) -> None:
    fit = ("fit", "data.parquet", "--suppress", "secret", "--method", "noise", "-o", "b", "-q")
    assert cli(*fit).code == 0
    for name in ("one.parquet", "two.parquet"):
        assert cli("transform", "b", "data.parquet", "-o", name, "-q").code == 0
    assert Path("one.parquet").read_bytes() == Path("two.parquet").read_bytes()


def test_replaces_an_older_release(place: Path, cli: Run) -> None:
    Path("r.parquet").write_text("old")
    assert cli("transform", "bundle", "data.parquet", "-o", "r.parquet", "-q").code == 0
    assert pq.read_table("r.parquet").num_rows == 240
    assert set(snapshot(place)) == {"r.parquet", "r.rows.csv"}


def test_failure_midway_leaves_the_older_release(place: Path, cli: Run) -> None:
    """NaN in the last of several batches: the first were modified, and nothing of it shows."""
    x = np.zeros((9000, 6), np.float32)
    x[8999, 2] = np.nan
    lists = pa.FixedSizeListArray.from_arrays(pa.array(x.ravel()), 6)
    pq.write_table(pa.table({"x": lists}), "late.parquet")
    Path("r.parquet").write_text("old")
    before = snapshot(place)
    assert "row 8999" in cli("transform", "bundle", "late.parquet", "-o", "r.parquet", "-q").mistake
    assert snapshot(place) == before


def test_release_that_would_not_be_finite_is_refused(place: Path, cli: Run) -> None:
    fit = ("fit", "data.parquet", "--suppress", "secret", "--method", "noise", "-o", "b", "-q")
    assert cli(*fit).code == 0
    x = Dataset.read("data.parquet").x.copy()
    x[17] = np.finfo(np.float32).max
    Dataset.from_arrays(x).write("large.parquet")
    scale = np.full(6, 1e38, np.float32)
    bundle = load_bundle("b")
    save_bundle(replace(bundle, modifier=NoiseModifier(scale, bundle.modifier.key)), "c")
    with np.errstate(over="ignore"):
        told = cli("transform", "c", "large.parquet", "-o", "r.parquet", "-q").mistake
    assert "too large to be modified" in told
    assert not Path("r.parquet").exists()


# Small row groups, so that the small file has several as well: the writer always holds one.
PEAK = """
import sys
from withhold.cli.main import outcome
from withhold.records.writers import parquet_sink
parquet_sink._GROUP_BYTES = 2**20
assert outcome(["transform", sys.argv[1], sys.argv[2], "-o", sys.argv[3], "-q"]) == 0
print(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1])
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")
def test_memory_does_not_grow_with_the_data(place: Path) -> None:
    """Ten times the records (12 MB against 120 MB of features) take a few MB more at most.

    The order of the rows takes some 50 bytes a record, however wide it is: 5 of those MB. The small
    file has several batches and buckets as well, since one of each is always held.
    """
    rng = np.random.default_rng(0)
    x = rng.standard_normal((3000, 256), dtype=np.float32)
    data = Dataset.from_arrays(x, {"a": [i % 2 for i in range(3000)]})
    save_bundle(fit_bundle(data, Roles.of("a"), method="identity"), "wide")
    batch = next(data.batches(3000))

    def peak(times: int) -> float:
        with pq.ParquetWriter("in.parquet", data.schema, compression="none") as writer:
            for _ in range(times):
                writer.write_batch(batch)
        found = subprocess.run(
            [sys.executable, "-c", PEAK, "wide", "in.parquet", "out.parquet"],
            check=True, capture_output=True, text=True,
        )  # fmt: skip
        assert pq.ParquetFile("out.parquet").metadata.num_rows == 3000 * times
        return int(found.stdout) / 1024

    few, many = peak(4), peak(40)
    assert many - few < 12, (few, many)
