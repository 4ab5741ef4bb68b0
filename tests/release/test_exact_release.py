"""A release of `exact`: in memory and as a stream the same; tables come back as tables."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import withhold as wh
from support import Recorder, key_of
from withhold.actions.fit import fit_bundle
from withhold.bundle.bundle import Bundle
from withhold.certificate import plan_tally
from withhold.certificate.release_file import ReleaseCertificate
from withhold.core.errors import UserError
from withhold.core.progress import Silent
from withhold.datasets.worlds.census import census
from withhold.learn.nets.device import threads
from withhold.records.dataset import Dataset
from withhold.records.readers import open_source
from withhold.records.roles import Roles
from withhold.release.released_dataset import ReleasedDataset, release_dataset
from withhold.release.stream import release_features
from withhold.release.wishes import Wishes

pytestmark = pytest.mark.usefixtures("less_monte_carlo")
PEOPLE = 300
QUICK = {"codes": 12, "rounds": 1, "exact_rounds": 0, "epochs": 2, "scores": "metric"}
COLUMNS = ["age", "sex", "occupation", "hours_per_week", "commute_minutes", "owns_home", "joined"]
KEY = key_of(3)


@pytest.fixture(scope="module", autouse=True)
def _quick_certificate() -> object:
    """One thread, and no samples for several rows put together: `plan.one` is exact without."""
    with pytest.MonkeyPatch.context() as patch, threads(1):
        patch.setattr(plan_tally, "_KEPT", 0)
        yield


@pytest.fixture(scope="module")
def frame() -> pa.Table:
    """A census, with a copy of `sex` in other words, names, free text, and equal rows."""
    table = census(PEOPLE, seed=2).select(COLUMNS)
    women = pc.equal(table["sex"], "female")
    title = pc.if_else(women, "Ms", "Mr")
    table = table.append_column("title", title)
    table = table.append_column("id", pa.array([f"person {i}" for i in range(PEOPLE)]))
    notes = [
        f"{'she' if w else 'he'} called on day {i} of the year and asked about a form that was lost"
        for i, w in enumerate(women.to_pylist())
    ]
    return table.append_column("notes", pa.array(notes))


@pytest.fixture(scope="module")
def told() -> Recorder:
    return Recorder()


@pytest.fixture(scope="module")
def released(frame: pa.Table, told: Recorder) -> ReleasedDataset:
    return wh.release(frame, suppress="sex", config=QUICK, key=KEY, progress=told)


@pytest.fixture(scope="module")
def bundle(frame: pa.Table) -> Bundle:
    data = Dataset.read(frame, kind="table")
    return fit_bundle(data, Roles.of("sex"), method="exact", config=QUICK, key=KEY)


def streamed(
    bundle: Bundle, table: pa.Table, folder: Path, *, rows: int = 4096
) -> tuple[pa.Table, ReleaseCertificate, bytes]:
    pq.write_table(table, folder / "in.parquet")
    written = release_features(
        bundle, open_source(folder / "in.parquet"), folder / "out.parquet", Wishes(),
        features=bundle.feature_spec, progress=Silent(), rows=rows,
    )  # fmt: skip
    assert written.certificate is not None
    certificate = ReleaseCertificate.from_json(written.certificate)
    file = folder / "out.parquet"
    return pq.read_table(file), certificate, file.read_bytes()


def claims(certificate: ReleaseCertificate | None) -> dict[str, object]:
    """All that a certificate says, but for the file that it is about."""
    assert certificate is not None
    found = certificate.model_dump(mode="json", exclude={"signature"})
    for name in ("name", "sha256"):
        del found["release"][name]
    return found


# --- the same release by every way --------------------------------------------------------------


def test_python_and_stream_give_the_same(
    frame: pa.Table, released: ReleasedDataset, bundle: Bundle, tmp_path: Path
) -> None:
    table, certificate, _ = streamed(bundle, frame, tmp_path)
    assert released.table.equals(table)
    assert claims(released.certificate) == claims(certificate)


def test_any_order_and_any_size_of_a_batch(frame: pa.Table, bundle: Bundle, tmp_path: Path) -> None:
    order = np.random.default_rng(0).permutation(PEOPLE)
    found = []
    for i, (table, rows) in enumerate([(frame, 4096), (frame.take(order), 37)]):
        (tmp_path / str(i)).mkdir()
        found.append(streamed(bundle, table, tmp_path / str(i), rows=rows))
    assert found[0][2] == found[1][2]
    one, two = (f[1].attributes["sex"].release for f in found)
    assert one is not None
    assert two is not None
    assert one.plan is not None
    assert two.plan is not None
    assert two.plan.one == pytest.approx(one.plan.one, abs=1e-7)  # sums in another order
    assert two.one == one.one


def test_rows_are_those_of_the_list(frame: pa.Table, bundle: Bundle) -> None:
    """In the order of the original, the same rows: `original_rows` says which became which."""
    data = Dataset.read(frame, kind="table")
    mixed = release_dataset(bundle, data, Wishes())
    plain = release_dataset(bundle, data, Wishes(same_order=True))
    assert sorted(mixed.original_rows.tolist()) == list(range(PEOPLE))
    assert mixed.original_rows.tolist() != list(range(PEOPLE))
    assert plain.table.take(mixed.original_rows).equals(mixed.table)


def test_another_key_makes_other_rows(frame: pa.Table, released: ReleasedDataset) -> None:
    other = wh.release(frame, suppress="sex", config=QUICK, key=key_of(4))
    same = [
        np.mean([a == b for a, b in zip(other.table[c].to_pylist(), released.table[c].to_pylist(),
                                        strict=True)])
        for c in ("age", "joined")
    ]  # fmt: skip
    assert max(same) < 0.2


def test_equal_rows_draw_separately(frame: pa.Table) -> None:
    """Half of the people are one person, 200 times; they do not become one row 200 times."""
    table = pa.concat_tables([frame.slice(0, 200), *[frame.slice(5, 1)] * 200])
    table = table.drop_columns(["id", "notes"])
    released = wh.release(
        table, suppress="sex", config=QUICK, key=KEY, same_order=True
    ).table.slice(200)
    assert len({tuple(row.values()) for row in released.to_pylist()}) > 20


@pytest.mark.slow
def test_the_order_does_not_show_which_rows_were_equal() -> None:
    """Equal rows draw separately, so their places must be separate too: they have one class."""
    table = census(PEOPLE, seed=2).select(["age", "sex", "owns_home"])
    s = np.array([v == table["sex"][0].as_py() for v in table["sex"].to_pylist()])
    more = []
    for seed in range(8):
        released = wh.release(table, suppress="sex", config=QUICK, key=key_of(seed))
        ordered = s[released.original_rows]
        more.append((ordered[1:] == ordered[:-1]).mean() - (s.mean() ** 2 + (1 - s.mean()) ** 2))
    assert abs(np.mean(more)) < 4.5 * np.sqrt(0.25 / (8 * PEOPLE))


# --- a table comes back as a table --------------------------------------------------------------


def test_columns_and_types_are_those_of_the_original(
    frame: pa.Table, released: ReleasedDataset
) -> None:
    expected = [c for c in frame.column_names if c not in ("sex", "title", "id", "notes")]
    assert released.table.column_names == expected
    assert released.table.schema.types == [frame.schema.field(c).type for c in expected]
    assert released.table.num_rows == PEOPLE


def test_values_are_values_of_the_original(frame: pa.Table, released: ReleasedDataset) -> None:
    for name in ("occupation", "owns_home"):
        assert set(released.table[name].to_pylist()) <= set(frame[name].to_pylist())
    # A value that one in twenty has comes back, unless the codes are few.
    common = [v for v in set(frame["occupation"].to_pylist())
              if frame["occupation"].to_pylist().count(v) >= PEOPLE // 20]  # fmt: skip
    assert set(common) <= set(released.table["occupation"].to_pylist())
    for name in ("age", "hours_per_week", "commute_minutes", "joined"):
        low, high = (pc.min_max(frame[name])[k].as_py() for k in ("min", "max"))
        found = [v for v in released.table[name].to_pylist() if v is not None]
        assert low <= min(found) <= max(found) <= high
    minutes = pc.drop_null(released.table["commute_minutes"]).to_numpy()
    np.testing.assert_allclose(10 * minutes, np.rint(10 * minutes), atol=1e-6)


def test_missing_values_come_back_in_the_same_share(
    frame: pa.Table, released: ReleasedDataset
) -> None:
    before, after = (t["commute_minutes"].null_count / PEOPLE for t in (frame, released.table))
    assert before > 0.05
    # Two steps draw: the codes, and the values of a code.
    assert abs(before - after) < 4.5 * np.sqrt(2 * before * (1 - before) / PEOPLE)
    assert sum(c.null_count for c in released.table.columns) == after * PEOPLE


def test_columns_have_about_their_means(frame: pa.Table, released: ReleasedDataset) -> None:
    for name in ("age", "hours_per_week"):
        before, after = frame[name].to_numpy(), released.table[name].to_numpy()
        assert abs(before.mean() - after.mean()) < 4.5 * before.std() * np.sqrt(2 / PEOPLE)
        assert 0.5 < after.std() / before.std() < 1.5


def test_a_pandas_category_keeps_its_values(frame: pa.Table) -> None:
    data = frame.select(["age", "sex", "occupation"]).to_pandas()
    data["occupation"] = data["occupation"].astype("category")
    released = wh.release(data, suppress="sex", config=QUICK, key=KEY)
    assert set(released.table["occupation"].to_pylist()) <= set(data["occupation"].cat.categories)


# --- what does not leave ------------------------------------------------------------------------


def test_the_suppressed_column_never_leaves(released: ReleasedDataset) -> None:
    assert released.left_out["sex"] == "suppressed"
    assert "sex" not in released.table.column_names
    assert "female" not in str(released.table.to_pylist())


def test_a_copy_of_the_suppressed_column_does_not_leave(released: ReleasedDataset) -> None:
    """Made from codes it would be noise, and look like a column that still holds the secret."""
    assert "title" not in released.table.column_names
    assert "copy" in released.left_out["title"]


def test_text_and_ids_are_left_out_with_a_reason(released: ReleasedDataset, told: Recorder) -> None:
    assert set(released.left_out) == {"sex", "title", "id", "notes"}
    assert "column 'notes' of the Arrow frame is left out: free text" in told.text
    assert "column 'id' of the Arrow frame is left out: identifier" in told.text
    assert released.certificate is not None
    assert released.certificate.release.left_out == dict(released.left_out)
    assert all(released.left_out.values())


def test_the_certificate_is_the_floor(frame: pa.Table, released: ReleasedDataset) -> None:
    assert released.certificate is not None
    claim = released.certificate.attributes["sex"].release
    assert claim is not None
    assert claim.plan is not None
    counts = [frame["sex"].to_pylist().count(v) for v in ("female", "male")]
    assert claim.floor == pytest.approx(max(counts) / PEOPLE)
    assert claim.stated == pytest.approx(claim.floor, abs=1e-6)
    assert claim.plan.unequal < 1e-6


# --- what is kept as it is ----------------------------------------------------------------------


def test_a_kept_column_leaves_as_it_is_and_is_not_covered(frame: pa.Table) -> None:
    released = wh.release(frame, suppress="sex", config=QUICK, key=KEY, keep=["hours_per_week"])
    original = frame["hours_per_week"].take(pa.array(released.original_rows))
    assert released.table["hours_per_week"].to_pylist() == original.to_pylist()
    certificate = released.certificate
    assert certificate is not None
    assert certificate.release.kept_by_name == ("hours_per_week",)
    assert any(
        "hours_per_week were kept by name. This certificate does not cover them" in note
        for note in certificate.notes
    )


def test_a_dropped_column_does_not_leave(frame: pa.Table) -> None:
    released = wh.release(frame, suppress="sex", config=QUICK, key=KEY, drop=["age"])
    assert "age" not in released.table.column_names
    assert released.left_out["age"] == "left out on request"


@pytest.mark.parametrize("name", ["sex", "title"])
def test_the_suppressed_column_and_its_copies_cannot_be_kept(frame: pa.Table, name: str) -> None:
    with pytest.raises(UserError, match=f"'{name}'"):
        wh.release(frame, suppress="sex", config=QUICK, key=KEY, keep=[name])


# --- mistakes -----------------------------------------------------------------------------------


def test_a_stream_with_another_type_or_without_a_column_is_refused(
    frame: pa.Table, bundle: Bundle, tmp_path: Path
) -> None:
    place = frame.column_names.index("age")
    other = frame.set_column(place, "age", frame["age"].cast(pa.float64()))
    with pytest.raises(UserError, match=r"column 'age' of in\.parquet is double, and was int64"):
        streamed(bundle, other, tmp_path)
    with pytest.raises(UserError, match=r"column 'age' is not in in\.parquet"):
        streamed(bundle, frame.drop_columns(["age"]), tmp_path)
    assert not (tmp_path / "out.parquet").exists()


def test_records_that_were_not_fitted_are_refused(
    frame: pa.Table, bundle: Bundle, tmp_path: Path
) -> None:
    place = frame.column_names.index("sex")
    sex = frame["sex"].to_pylist()
    sex[30] = "unknown"
    with pytest.raises(UserError, match="did not see together"):
        streamed(bundle, frame.set_column(place, "sex", pa.array(sex)), tmp_path, rows=25)
    assert not (tmp_path / "out.parquet").exists()
