"""Rows leave in an order of the key and their content: never that of the source."""

from __future__ import annotations

import hashlib
import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from withhold.actions.fit import fit_bundle
from withhold.audit.pairing import pair
from withhold.bundle.bundle import Bundle, save_bundle
from withhold.certificate.release_file import ReleaseCertificate
from withhold.certificate.stated_figures import rounded_up
from withhold.cli.main import outcome
from withhold.core.errors import UserError
from withhold.core.progress import Silent
from withhold.records.dataset import Dataset
from withhold.records.readers import open_source
from withhold.records.roles import Roles
from withhold.records.writers.row_list import check_release, read_rows, write_rows
from withhold.release.keyed_order import occurrences, shuffled_places
from withhold.release.released_dataset import with_rows
from withhold.release.stream import release_features
from withhold.release.wishes import Wishes

from .made import HARMLESS, dataset

pytestmark = pytest.mark.usefixtures("less_monte_carlo")
QUICK = {"codes": 8, "hidden": [8], "epochs": 3, "rounds": 2, "least": 2, "smallest": 2}
KEY = bytes(range(32))


@pytest.fixture(scope="module")
def data() -> Dataset:
    """With equal rows and equal records among them."""
    made = dataset(n=600)
    again = np.concatenate([np.arange(600), np.repeat(np.arange(20), 3)])
    same = made.rows(again)
    return same.with_column("weather", pa.array(np.arange(len(again)) % 2))


@pytest.fixture(scope="module")
def bundle(data: Dataset) -> Bundle:
    return fit_bundle(data, Roles.of("gender", "digit"), method="codebook", config=QUICK)


def write(data: Dataset, path: Path) -> Path:
    data.write(path)
    return path


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["code", "sample", "index"])
def test_shuffling_and_batches_change_nothing(
    data: Dataset, bundle: Bundle, tmp_path: Path, shape: Any
) -> None:
    rng = np.random.default_rng(0)
    found = []
    for i, rows in enumerate([4096, 7, 661]):
        order = np.arange(len(data)) if i == 0 else rng.permutation(len(data))
        source = open_source(write(data.rows(order), tmp_path / f"in{i}.parquet"))
        out = tmp_path / f"out{i}.parquet"
        written = release_features(
            bundle, source, out, Wishes(), features="x", progress=Silent(), shape=shape, rows=rows
        )
        found.append(out.read_bytes())
        assert written.records == len(data)
        rows_of = read_rows(tmp_path / f"out{i}.rows.csv")
        names = [c for c in pq.read_schema(out).names if c not in ("x", "code")]
        before = pq.read_table(tmp_path / f"in{i}.parquet", columns=names)
        assert pq.read_table(out, columns=names).equals(before.take(pa.array(rows_of)))
    assert len(set(found)) == 1
    if shape == "sample":
        x = Dataset.read(tmp_path / "out0.parquet").x
        assert len(np.unique(x, axis=0)) == len(x)  # equal records get members of their own


def test_python_and_the_command_line_give_one_release(
    data: Dataset, bundle: Bundle, tmp_path: Path
) -> None:
    source = open_source(write(data, tmp_path / "in.parquet"))
    release_features(
        bundle, source, tmp_path / "a.parquet", Wishes(), features="x", progress=Silent()
    )
    released = bundle.release(Dataset.read(tmp_path / "in.parquet"))
    released.write(tmp_path / "b.parquet")
    assert (tmp_path / "a.parquet").read_bytes() == (tmp_path / "b.parquet").read_bytes()
    assert (tmp_path / "a.rows.csv").read_text() == (tmp_path / "b.rows.csv").read_text()
    one, two = (json.loads((tmp_path / f"{n}.certificate.json").read_text()) for n in ("a", "b"))
    assert one["attributes"] == two["attributes"]
    assert one["release"] | {"name": ""} == two["release"] | {"name": ""}


def test_the_order_is_of_the_key_and_of_all_rows() -> None:
    digests = np.random.default_rng(0).integers(0, 2**64, 500, dtype=np.uint64)
    places = shuffled_places(digests, KEY)
    assert sorted(places) == list(range(500))
    assert abs(np.corrcoef(places, np.arange(500))[0, 1]) < 0.2
    assert not np.array_equal(places, shuffled_places(digests, bytes(32)))
    order = np.random.default_rng(1).permutation(500)
    np.testing.assert_array_equal(shuffled_places(digests[order], KEY), places[order])
    # Another row changes the order of the others.
    more = shuffled_places(np.append(digests, np.uint64(7)), KEY)[:500]
    assert abs(np.corrcoef(places, more)[0, 1]) < 0.2


def test_equal_rows_are_counted() -> None:
    digests = np.array([5, 3, 5, 5, 3, 9], np.uint64)
    assert occurrences(digests).tolist() == [0, 0, 1, 2, 1, 0]
    assert occurrences(digests[:0]).tolist() == []


def test_same_order_is_kept_where_asked_and_said(
    data: Dataset, bundle: Bundle, tmp_path: Path
) -> None:
    released = bundle.release(data, same_order=True)
    np.testing.assert_array_equal(released.original_rows, np.arange(len(data)))
    released.write(tmp_path / "r.parquet")
    assert not (tmp_path / "r.rows.csv").exists()
    found = ReleaseCertificate.from_json(tmp_path / "r.certificate.json")
    assert found.release.same_order
    assert any("in the order of the original" in note for note in found.notes)


@pytest.mark.slow
def test_an_audit_finds_the_rows_of_a_release(
    data: Dataset, bundle: Bundle, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A control that reads everything: were the rows paired wrongly, it would read nothing."""
    identity = fit_bundle(data, Roles.of("gender"), method="identity")
    paired = pair(data, identity.release(data))
    assert paired.identical
    write(data, tmp_path / "in.parquet")
    save_bundle(identity, tmp_path / "b")
    path = {n: str(tmp_path / n) for n in ("b", "in.parquet", "r.parquet", "audit")}
    assert outcome(["transform", path["b"], path["in.parquet"], "-o", path["r.parquet"], "-q"]) == 0
    read = Dataset.read(path["r.parquet"])
    assert pair(data, with_rows(read, tmp_path / "r.parquet")).identical
    audit = ["audit", path["in.parquet"], path["r.parquet"], "--suppress", "gender", "--quick"]
    moved = tmp_path / "elsewhere.csv"
    (tmp_path / "r.rows.csv").rename(moved)
    assert outcome([*audit, "-o", path["audit"], "-q", "--rows", str(moved)]) in (0, 3)
    text = json.loads((tmp_path / "audit" / "audit.json").read_text())
    assert text["attributes"]["gender"]["informed"]["accuracy"] > 0.75
    moved.write_text("released,original\n0,1\n")
    capsys.readouterr()
    assert outcome([*audit, "-o", path["audit"], "-q", "--rows", str(moved)]) == 2
    assert "lists 1 rows" in capsys.readouterr().err


def test_the_list_of_another_release_is_refused(
    data: Dataset, bundle: Bundle, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It would pair every record with a stranger, and any release would look private."""
    noise = fit_bundle(data, Roles.of("gender"), method="noise")
    write(data, tmp_path / "in.parquet")
    out = tmp_path / "r.parquet"
    noise.release(data).write(out)
    stale = (tmp_path / "r.rows.csv").read_bytes()
    Dataset.from_arrays(data.x).write(out)  # by another tool, in the order of the original
    audit = ["audit", str(tmp_path / "in.parquet"), str(out), "--suppress", "gender", "--quick"]
    audit += ["-o", str(tmp_path / "audit"), "-q"]
    assert outcome(audit) == 2
    assert "is the list of rows of another release than" in capsys.readouterr().err
    moved = tmp_path / "old.csv"
    (tmp_path / "r.rows.csv").rename(moved)
    assert outcome([*audit, "--rows", str(moved)]) == 2
    assert "old.csv is the list of rows of another release" in capsys.readouterr().err
    (tmp_path / "r.rows.csv").write_bytes(stale.partition(b"\n")[2])
    assert outcome(audit) == 2
    assert "does not say which release it belongs to" in capsys.readouterr().err


def test_a_list_in_parquet_knows_its_release(tmp_path: Path) -> None:
    release, other = tmp_path / "r.csv", tmp_path / "s.csv"
    release.write_text("a")
    other.write_text("b")
    write_rows(tmp_path / "r.rows.parquet", np.array([1, 0]), release, "abc")
    assert read_rows(tmp_path / "r.rows.parquet").tolist() == [1, 0]
    check_release(tmp_path / "r.rows.parquet", release, named=False)
    for named in (True, False):
        with pytest.raises(UserError, match="of another release"):
            check_release(tmp_path / "r.rows.parquet", other, named=named)


@pytest.mark.slow
def test_files_of_an_older_release_are_removed(
    data: Dataset, bundle: Bundle, tmp_path: Path
) -> None:
    source = open_source(write(data, tmp_path / "in.parquet"))
    out, noise = tmp_path / "r.parquet", fit_bundle(data, Roles.of("gender"), method="noise")
    release_features(bundle, source, out, Wishes(), features="x", progress=Silent(), shape="index")
    (tmp_path / "other.rows.csv").write_text("of another release")
    made = {"r.parquet", "r.rows.csv", "r.certificate.json", "r.codes.parquet"}
    rest = {"in.parquet", "other.rows.csv"}
    assert {p.name for p in tmp_path.iterdir()} == made | rest
    wishes = Wishes(same_order=True)
    release_features(noise, source, out, wishes, features="x", progress=Silent())
    assert {p.name for p in tmp_path.iterdir()} == {"r.parquet"} | rest
    noise.release(data).write(out)
    noise.release(data, same_order=True).write(out)
    assert {p.name for p in tmp_path.iterdir()} == {"r.parquet"} | rest


@pytest.mark.parametrize(
    "text", ["", "a,b\n1,2\n", "released,original\n0,x\n", "released,original\n0,0\n1,0\n"]
)
def test_a_damaged_list_of_rows_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "r.rows.csv").write_text(text)
    with pytest.raises(UserError, match=r"r\.rows\.csv"):
        read_rows(tmp_path / "r.rows.csv")


# --- the certificate ----------------------------------------------------------------------------


def test_the_certificate_is_about_the_file(data: Dataset, bundle: Bundle, tmp_path: Path) -> None:
    """Its figures are counts of the released codes; its digest is what sha256sum prints."""
    source = open_source(write(data, tmp_path / "in.parquet"))
    out = tmp_path / "out.parquet"
    wishes = Wishes(keep=("device",))
    written = release_features(
        bundle, source, out, wishes, features="x", progress=Silent(), shape="index"
    )
    assert written.certificate == tmp_path / "out.certificate.json"
    found = ReleaseCertificate.from_json(written.certificate)
    printed = subprocess.run(["sha256sum", str(out)], capture_output=True, text=True, check=True)
    assert found.release.sha256 == printed.stdout.split()[0]
    assert found.release.records == len(data)
    assert found.release.columns == tuple(pq.read_schema(out).names)
    assert found.release.kept_by_name == ("device",)
    assert "suppressed" in found.release.left_out["gender"]
    assert any("device were kept by name" in note for note in found.notes)
    assert found.is_signed_with(bundle.modifier.key)
    codes = pq.read_table(out)["code"].to_numpy()
    rows = read_rows(tmp_path / "out.rows.csv")
    gender = data.attribute("gender").codes[rows]
    # Whoever is shown a row is taken to know its preserved labels too.
    pairs = codes.astype(np.int64)
    for name in bundle.roles.preserve:
        pairs = 100 * pairs + data.attribute(name).codes[rows]
    counts = np.zeros((2, int(pairs.max()) + 1))
    np.add.at(counts, (gender, pairs), 1)
    claim = found.attributes["gender"].release
    assert claim is not None
    best = counts.max(axis=0).sum() / len(data)
    assert claim.one == rounded_up(best, records=len(data), floor=claim.floor)


def test_a_release_without_labels_says_why_it_is_not_certified(
    data: Dataset, bundle: Bundle, tmp_path: Path
) -> None:
    released = bundle.release(data.without(["gender"]))
    assert released.certificate is not None
    claims = released.certificate.attributes["gender"]
    assert claims.release is None
    assert claims.reason == "the rows that leave have no labels of 'gender'"


def test_methods_without_codes_have_no_certificate(data: Dataset, tmp_path: Path) -> None:
    released = fit_bundle(data, Roles.of("gender"), method="noise").release(data)
    assert released.certificate is None
    released.write(tmp_path / "r.parquet")
    assert not (tmp_path / "r.certificate.json").exists()


def test_part_of_a_release_has_no_certificate(data: Dataset, bundle: Bundle) -> None:
    released = bundle.release(data)
    assert released.certificate is not None
    some = released.rows(np.arange(10))
    assert some.certificate is None
    np.testing.assert_array_equal(some.original_rows, released.original_rows[:10])
    assert set(HARMLESS) - {"temp"} <= set(some.schema.names)


def test_a_failure_leaves_the_older_files(data: Dataset, bundle: Bundle, tmp_path: Path) -> None:
    broken = pq.read_table(write(data, tmp_path / "in.parquet"))
    gender = broken["gender"].to_pylist()
    x = np.array(broken["x"].to_pylist(), np.float64)
    x[-1, 0] = np.nan
    lists = pa.array(list(x), pa.list_(pa.float64()))
    pq.write_table(broken.set_column(0, "x", lists), tmp_path / "in.parquet")
    assert len(gender) == len(data)
    for name in ("out.parquet", "out.rows.csv", "out.certificate.json"):
        (tmp_path / name).write_text("older")
    before = {p.name: hashlib.sha256(p.read_bytes()).digest() for p in tmp_path.iterdir()}
    with pytest.raises(UserError, match="row 659"):
        release_features(
            bundle,
            open_source(tmp_path / "in.parquet"),
            tmp_path / "out.parquet",
            Wishes(),
            features="x",
            progress=Silent(),
        )
    assert {p.name: hashlib.sha256(p.read_bytes()).digest() for p in tmp_path.iterdir()} == before
