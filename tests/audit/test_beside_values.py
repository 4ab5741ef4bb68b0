"""What a file holds beside its values: named, and never passed over."""

from __future__ import annotations

import json
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from audit.audited import audit, world
from support import of_world
from withhold.audit.attackers import Prior
from withhold.audit.beside_values import beside_values
from withhold.audit.findings import METADATA
from withhold.records.dataset import Dataset


@pytest.fixture(scope="module")
def data():
    return of_world(world(300))


def table(data):
    rng = np.random.default_rng(0)
    columns = {f"f{i}": rng.standard_normal(len(data)).astype(np.float32) for i in range(12)}
    return pa.table(columns)


def found_in(path):
    return [c.name for c in beside_values(Dataset.read(path, features="f*"))]


def kinds_in(path):
    return [c.kind for c in beside_values(Dataset.read(path, features="f*"))]


def audited(data, path):
    release = Dataset.read(path, features="f*")
    options = {"attackers": (Prior(),), "same_order": True, "fail_if": "secret>99"}
    return audit(data, release, **options)


def test_labels_in_the_metadata_of_parquet_are_a_finding(data, tmp_path):
    path = tmp_path / "r.parquet"
    pq.write_table(table(data), path)
    plain = audited(data, path)
    assert "metadata" not in plain.verdict
    assert not any("metadata" in c.name for c in plain.columns)
    labels = "".join(str(c) for c in data.attribute("secret").codes)
    pq.write_table(table(data).replace_schema_metadata({"labels": labels}), path)
    found = audited(data, path)
    said = "the file carries metadata, which was not attacked: remove it (labels)"
    assert said in found.verdict
    assert said in found.gate.failures
    (one,) = (c for c in found.columns if c.name == "(file metadata: labels)")
    assert not one.attacked
    assert one.why_not == "metadata is not read"


def test_metadata_of_a_column(data, tmp_path):
    path = tmp_path / "r.parquet"
    field = pa.field("f0", pa.float32(), metadata={"note": "0110"})
    schema = table(data).schema.set(0, field)
    pq.write_table(table(data).cast(schema), path)
    assert found_in(path) == ["(file metadata: f0: note)"]


def test_pandas_writes_names_and_types_and_may_write_more(data, tmp_path):
    path = tmp_path / "r.parquet"
    frame = table(data).to_pandas()
    frame.to_parquet(path)
    found = audited(data, path)
    (one,) = (c for c in found.columns if c.name == "(file metadata: pandas)")
    assert one.why_not == "it has the form that pandas writes"
    assert "metadata" not in found.verdict
    note = json.loads(pq.read_schema(path).metadata[b"pandas"])
    frame.attrs["labels"] = data.attribute("secret").codes.tolist()
    frame.to_parquet(path)
    assert set(kinds_in(path)) == {METADATA}
    for place, value in (
        ("creator", {"library": "01" * 150}),
        ("creator", {"library": [0, 1] * 150}),
        ("more", [0, 1]),
    ):
        lie = json.dumps(note | {place: value})
        pq.write_table(table(data).replace_schema_metadata({"pandas": lie}), path)
        assert kinds_in(path) == [METADATA]


def test_how_a_csv_is_written_is_listed_and_no_finding(data, tmp_path):
    path = tmp_path / "r.csv"
    table(data).to_pandas().to_csv(path, index=False)
    found = audited(data, path)
    (one,) = (c for c in found.columns if c.why_not == "only values are read")
    assert one.name == "(how numbers are written: digits, zeros, quotes)"
    assert "metadata" not in found.verdict


def test_an_npz_with_more_than_arrays(data, tmp_path):
    path = tmp_path / "r.npz"
    np.savez(path, **{n: c.to_numpy() for n, c in zip(*_columns(data), strict=True)})
    assert found_in(path) == []
    np.savez_compressed(path, **{n: c.to_numpy() for n, c in zip(*_columns(data), strict=True)})
    assert found_in(path) == []
    with zipfile.ZipFile(path, "a") as archive:
        archive.comment = b"0110"
    assert found_in(path) == ["(file metadata: comment of the archive)"]
    with zipfile.ZipFile(path) as archive:
        arrays = {i.filename: archive.read(i) for i in archive.infolist()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in arrays.items():
            archive.writestr(name, content + (b"01" * 40 if name == "f0.npy" else b""))
    assert found_in(path) == ["(file metadata: spare bytes of the array 'f0.npy')"]


@pytest.mark.parametrize("file", ["r.parquet", "r.npz"])
def test_what_withhold_writes_has_none(data, file, tmp_path):
    names = [f"f{i}" for i in range(12)]
    Dataset.from_arrays(data.x, None, names=names).write(tmp_path / file)
    assert found_in(tmp_path / file) == []


def _columns(data):
    found = table(data)
    return found.column_names, found.columns


@pytest.mark.parametrize(
    ("suffix", "said"),
    [(".csv", "numbers"), (".tsv.gz", "numbers"), (".jsonl", "values"), (".ndjson", "values")],
)
def test_texts_are_named_whatever_their_suffix(data, tmp_path, suffix, said):
    path = tmp_path / f"r{suffix}"
    Dataset.read(table(data), features="f*").write(path)
    (one,) = beside_values(Dataset.read(path, features="f*"))
    assert one.name.startswith(f"(how {said} are written")
    assert one.kind == "text of the file"


def test_our_workbooks_hold_values_alone_and_others_are_named(data, tmp_path):
    path = tmp_path / "r.xlsx"
    Dataset.read(table(data), features="f*").write(path)
    assert [n.partition(":")[0] for n in found_in(path)] == ["(how cells are written"]
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("docProps/core.xml", "<author/>")
        archive.comment = b"labels"
    assert "(file metadata: part 'docProps/core.xml')" in found_in(path)
    assert "(file metadata: comment of the archive)" in found_in(path)
    assert METADATA in kinds_in(path)
