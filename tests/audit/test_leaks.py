"""Leaks that are not in the features of the test part, each planted in a release of its own."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from audit.audited import LINEAR, evaluated
from withhold.audit.attackers import get_attackers
from withhold.audit.evidence import Evidence
from withhold.datasets.worlds.leaky import LEAKY, LeakyRelease, harmless
from withhold.records.dataset import Dataset

HARD = "one_percent_turned"
LADDER = get_attackers(["prior", "logistic", "bits", "waves", "parity"])


def audited(made: LeakyRelease, folder, **more) -> Evidence:
    """An audit of the release as a file of float64, as anyone would write it."""
    original = Dataset.from_arrays(made.original, made.attributes)
    features = pa.FixedSizeListArray.from_arrays(made.release.ravel(), made.release.shape[1])
    table = pa.table({"x": features})
    for name in () if made.columns is None else made.columns.column_names:
        table = table.append_column(name, made.columns[name])
    pq.write_table(table, folder / "release.parquet")
    release = Dataset.read(folder / "release.parquet")
    options = {"same_order": True, "hidden": (), "quick": True, "workers": 1} | more
    options.setdefault("attackers", LADDER if made.found_by == "informed" else LINEAR)
    return evaluated(original, release, "label", **options)


@pytest.mark.parametrize("name", [n for n in LEAKY if n != HARD])
def test_a_planted_leak_is_found_by_the_tier_made_for_it(name, tmp_path):
    made = LEAKY[name](4000 if name == "one_percent" else 2000, seed=3)
    found = audited(made, tmp_path)
    a = found.attributes["label"]
    assert a.status == "readable"
    assert a.sure[made.found_by]
    tier = a.tiers[made.found_by]
    if made.found_by != "subgroup":
        assert tier.accuracy == pytest.approx(made.bayes, abs=0.06)
    assert "still readable" in found.verdict


def test_rows_sorted_by_the_secret_are_named_as_such(tmp_path):
    found = audited(LEAKY["sorted_rows"](1500, seed=4), tmp_path)
    a = found.attributes["label"]
    assert a.column.column == "(row order)"
    assert a.worst_tier == "column"
    assert "column '(row order)'" in found.verdict
    shuffled = audited(LEAKY["sorted_rows"](1500, seed=4), tmp_path, order_counts=False)
    assert shuffled.attributes["label"].status == "floor"


def test_a_copy_of_the_secret_fails_in_plain_words_whatever_the_gate_asks(tmp_path):
    found = audited(LEAKY["renamed_copy"](1000, seed=4), tmp_path, fail_if="label@informed>90")
    assert found.verdict.startswith(
        "The release still contains 'label': the column 'q7' is a copy of it"
    )
    assert not found.gate.passed
    assert found.attributes["label"].worst == 1.0
    made = harmless(600, seed=1)
    kept = LeakyRelease(
        made.original,
        made.attributes,
        made.release,
        made.attributes.select(["label"]),
        1.0,
        "column",
    )
    found = audited(kept, tmp_path, fail_if="label@informed>90")
    assert found.verdict.startswith("The release still contains the column 'label' itself")
    assert not found.gate.passed


def test_columns_that_tell_together_alone_are_named_together(tmp_path):
    found = audited(LEAKY["xor_of_columns"](1500, others=30, seed=4), tmp_path)
    read = found.attributes["label"].column
    assert read.column == "left with right"
    assert read.accuracy == pytest.approx(0.95, abs=0.03)
    assert "column 'left with right'" in found.verdict
    listed = {c.name: c.kind for c in found.columns}
    assert listed["left with right"] == "columns together"
    assert not found.attributes["label"].tiers["informed"].accuracy > 0.6


def test_untouched_rows_are_counted_part_by_part(tmp_path):
    made = LEAKY["untouched_train"](n=2000, seed=5)
    rounded = LeakyRelease(
        made.original,
        made.attributes,
        np.where(
            (np.array(made.attributes["split"]) == "test")[:, None],
            made.release,
            made.release.astype(np.float16) * 1.000001,
        ),
        None,
        made.bayes,
        "all_rows",
    )
    for one in (made, rounded):
        found = audited(one, tmp_path, fail_if="label@informed>90")
        copies = found.copies
        assert copies["train"].share == copies["val"].share == 1.0
        assert copies["train"].found
        assert copies["test"].share == 0
        assert not copies["test"].found
        assert "1,200 of 1,200 train records are released (nearly) unchanged" in found.verdict
        assert not found.gate.passed
        parts = found.attributes["label"].all_rows.parts
        assert parts["train"].accuracy > 0.93
        assert parts["test"].accuracy < 0.6


def test_every_column_is_listed_attacked_or_not(tmp_path):
    made = harmless(800, seed=2)
    columns = made.columns.append_column("blank", pa.nulls(800, pa.string()))
    columns = columns.append_column("same", pa.array(["a"] * 800))
    more = LeakyRelease(made.original, made.attributes, made.release, columns, 0.5, "")
    found = audited(more, tmp_path)
    kinds = {c.name: c.kind for c in found.columns}
    assert kinds["age"] == kinds["height"] == "number"
    assert kinds["member"] == "true or false"
    assert kinds["comment"] == "text"
    assert kinds["seen"] == "date"
    assert {c.name for c in found.columns if not c.attacked} == {"blank", "same"}
    assert all(c.why_not for c in found.columns if not c.attacked)
    assert all("label" in c.tells for c in found.columns if c.attacked)
    assert "(row order)" in kinds


def test_a_column_of_rows_without_a_label_is_not_called_attacked(tmp_path):
    """`said` is the label of the rows that have none: an attack on the others cannot see it."""
    made = harmless(800, seed=2)
    label = np.array(made.attributes["label"].to_pylist(), object)
    gone = np.random.default_rng(0).random(800) < 0.3
    said = pa.array(np.where(gone, label, None).tolist())
    place = made.attributes.column_names.index("label")
    kept = pa.array(np.where(gone, None, label).tolist())
    attributes = made.attributes.set_column(place, "label", kept)
    columns = made.columns.append_column("said", said)
    more = LeakyRelease(made.original, attributes, made.release, columns, 0.5, "")
    found = {c.name: c for c in audited(more, tmp_path).columns}
    assert not found["said"].attacked
    assert "attacked on labelled rows only" in found["said"].why_not
    assert f"{gone.sum()} rows without a label of 'label'" in found["said"].why_not
    assert found["age"].attacked


@pytest.mark.slow
def test_without_a_leak_nobody_cries_wolf(tmp_path):
    readable = [audited(harmless(600, seed=s), tmp_path).attributes["label"] for s in range(4)]
    assert sum(a.readable for a in readable) <= 1
    for a in readable:
        assert a.smallest_leak is not None
        # 120 test records: the noise of a share is 4.6 points, and 99.5 % needs 2.6 of them.
        assert 0.08 < a.smallest_leak < 0.4


@pytest.mark.slow
def test_more_records_let_a_smaller_leak_be_seen(tmp_path):
    few, many = (audited(harmless(n, seed=1), tmp_path).attributes["label"] for n in (500, 4000))
    assert many.smallest_leak < few.smallest_leak / 1.5
