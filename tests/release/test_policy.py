"""Which columns leave: every sort of column, by every door."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support import Recorder
from withhold import Suppressor
from withhold.actions.fit import fit_bundle
from withhold.bundle.bundle import Bundle, load_bundle, save_bundle
from withhold.cli.main import outcome
from withhold.core.errors import UserError
from withhold.records.dataset import Dataset
from withhold.records.roles import Roles
from withhold.release.policy import Decision, Subject, decide
from withhold.release.released_dataset import release_dataset
from withhold.release.wishes import Wishes

from .made import HARMLESS, LEFT_OUT, dataset


@pytest.fixture(scope="module")
def data() -> Dataset:
    return dataset()


@pytest.fixture(scope="module")
def bundle(data: Dataset) -> Bundle:
    return fit_bundle(data, Roles.of("gender", "digit"), method="noise")


@pytest.fixture(scope="module")
def plain(data: Dataset) -> Dataset:
    """The same records with the columns that are quick to measure."""
    kept = ("speaker", "gender", "digit", "weather")
    return data.without([n for n in data.table.column_names if n not in kept])


def subject(data: Dataset, bundle: Bundle) -> Subject:
    return Subject(
        data.name,
        data.schema,
        ("x",),
        data.table,
        ("gender",),
        label_columns=("gender",),
        group="speaker",
        x=data.x,
        harmless=bundle.input["harmless"],
        tells=bundle.tells,
        key=bundle.modifier.key,
    )


def test_every_sort_of_column(data: Dataset, bundle: Bundle) -> None:
    found = decide(subject(data, bundle), Wishes())
    rules = {c.column: c.rule for c in found.columns if not c.leaves}
    assert rules == LEFT_OUT
    assert found.leaving == ["x", *HARMLESS]
    assert set(found.left_out) == set(LEFT_OUT)
    assert "79 % right" in found.left_out["device"] or "78 % right" in found.left_out["device"]
    assert all(c.reason for c in found.columns)
    assert [c.column for c in found.columns] == data.schema.names


@pytest.mark.slow
def test_every_door_leaves_out_the_same(
    data: Dataset, bundle: Bundle, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    expected = ["x", *HARMLESS]
    released = bundle.release(data)
    assert released.schema.names == expected
    suppressor = Suppressor("gender")
    suppressor.bundle_, suppressor.n_features_in_ = bundle, data.dimension
    suppressed = suppressor.transform(data)
    assert suppressed.schema.names == expected
    assert set(suppressed.left_out) == set(LEFT_OUT)
    data.write(tmp_path / "in.parquet")
    save_bundle(bundle, tmp_path / "b")
    folder = [str(tmp_path / name) for name in ("b", "in.parquet", "out.parquet")]
    assert outcome(["transform", folder[0], folder[1], "-o", folder[2], "-q"]) == 0
    assert capsys.readouterr().err == ""
    assert pq.read_schema(folder[2]).names == expected
    assert outcome(["transform", folder[0], folder[1], "-o", folder[2]]) == 0
    told = capsys.readouterr().out
    for name, reason in released.left_out.items():
        assert f"{name:<7}  {reason}" in told


def test_python_says_what_was_left_out(data: Dataset, bundle: Bundle) -> None:
    said = Recorder()
    released = release_dataset(bundle, data, progress=said)
    assert "left out of the release: speaker (group column" in said.text
    assert released.left_out["gender"] == "suppressed"
    assert released.kept_by_name == ()


def test_keep_takes_a_column_along_and_says_so(data: Dataset, bundle: Bundle) -> None:
    released = bundle.release(data, keep=["device", "speaker"], drop=["temp"])
    assert released.schema.names == ["x", "speaker", "digit", "device", "weather", "tags"]
    assert released.kept_by_name == ("speaker", "device")
    assert released.left_out["temp"] == "left out on request"


def test_kept_columns_that_tell_rows_apart_are_a_warning(data: Dataset, bundle: Bundle) -> None:
    numbered = data.table.append_column("customer", pa.array(range(len(data))))
    own = replace(
        subject(data, bundle),
        table=numbered,
        schema=data.schema.append(pa.field("customer", pa.int64())),
    )
    told = decide(own, Wishes(keep=("customer",)))
    assert told.apart == 1
    assert told.linking == ["customer"]
    assert "customer may show whose a row is" in str(told.whose_row(same_order=False))
    coarse = decide(own, Wishes(keep=("device",)))  # a few values, shared by many
    assert coarse.linking == []
    assert coarse.whose_row(same_order=False) is None
    assert "the order of the rows" in str(coarse.whose_row(same_order=True))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gender", "sex"])
def test_suppressed_columns_and_their_copies_stay_with_keep_labels_alone(
    data: Dataset, bundle: Bundle, name: str
) -> None:
    with pytest.raises(UserError, match=f"column '{name}' is .*--keep-labels instead of --keep"):
        bundle.release(data, keep=[name])
    released = bundle.release(data, keep_labels=True)
    assert name in released.schema.names
    assert name in released.kept_by_name
    assert "speaker" not in released.schema.names


def test_unknown_columns_are_named(data: Dataset, bundle: Bundle) -> None:
    for how in ({"keep": ["devise"]}, {"drop": ["devise"]}):
        with pytest.raises(UserError, match="did you mean 'device'"):
            bundle.release(data, **how)


def test_without_labels_only_what_the_fit_measured_leaves(data: Dataset, bundle: Bundle) -> None:
    later = dataset(seed=1, new=np.arange(1200) % 3).without(["gender"])
    released = bundle.release(later)
    assert released.schema.names == ["x", "digit", "weather", "tags"]
    assert "no labels of gender here" in released.left_out["new"]
    text = pa.array([f"w{v}" for v in later.table["weather"].to_pylist()])
    changed = bundle.release(later.with_column("weather", text))
    assert "could not be checked" in changed.left_out["weather"]


def test_what_told_in_the_fit_does_not_leave_later(data: Dataset, bundle: Bundle) -> None:
    """Even where few later records cannot show it."""
    later = dataset(seed=1, n=100)
    device = pa.array(np.random.default_rng(0).choice(["phone", "desk"], 100).tolist())
    released = bundle.release(later.with_column("device", device))
    assert "revealed 'gender' in the data of the fit" in released.left_out["device"]


def test_too_few_labels_check_nothing(bundle: Bundle) -> None:
    few = dataset(seed=2, n=30, new=np.arange(30) % 2)
    assert "too few labels of 'gender'" in bundle.release(few).left_out["new"]


def test_columns_that_tell_together(data: Dataset, bundle: Bundle) -> None:
    """Two flags whose XOR is the gender; three whose parity is."""
    rng = np.random.default_rng(3)
    g = data.attribute("gender").codes
    a, b, c = rng.integers(0, 2, (3, len(data)))
    pair = bundle.release(data.with_column("a", pa.array(a)).with_column("b", pa.array(a ^ g)))
    assert len({"a", "b"} & set(pair.left_out)) == 1
    assert "together with other columns" in pair.left_out.get("a", pair.left_out.get("b", ""))
    small = Dataset.from_arrays(
        data.x, {"gender": data.table["gender"], "a": a, "b": b, "d": a ^ b ^ g, "c": c}
    )
    three = bundle.release(small)
    assert len({"a", "b", "d"} & set(three.left_out)) == 1
    assert "c" not in three.left_out


def test_a_trait_that_names_the_person_is_left_out(data: Dataset, bundle: Bundle) -> None:
    """It tells nothing of other people, and all to whoever knows one record of the person."""
    people = [int(s[1:]) for s in data.table["speaker"].to_pylist()]
    height = np.random.default_rng(0).uniform(150, 200, 60).round(1)[people]
    released = bundle.release(data.with_column("height", pa.array(height)))
    assert "reveals 'gender'" in released.left_out["height"]


def test_multilabel_attributes_go_with_their_columns() -> None:
    rng = np.random.default_rng(0)
    flags = {f"t{i}": rng.integers(0, 2, 200) for i in range(2)}
    columns = flags | {"list": [list(map(int, r)) for r in zip(*flags.values(), strict=True)]}
    columns |= {"other": rng.integers(0, 3, 200)}
    x = rng.standard_normal((200, 4))
    data = Dataset.from_arrays(x, columns, multilabel={"tags": ["t0", "t1"]})
    made = fit_bundle(data, Roles.of("tags"), method="constant")
    for read in (data, Dataset.from_arrays(x, columns)):
        released = made.release(read)
        assert released.schema.names == ["x", "other"]
        assert released.left_out["t0"] == "suppressed"
        assert "reveals" in released.left_out["list"]


def test_a_bundle_remembers_what_was_measured(
    data: Dataset, bundle: Bundle, tmp_path: Path
) -> None:
    assert set(bundle.input["harmless"]) == set(HARMLESS)
    values = {n: c["values"] for n, c in bundle.input["harmless"].items()}
    assert len(values["weather"]) == len(set(data.table["weather"].to_pylist()))
    assert values["temp"] is None
    save_bundle(bundle, tmp_path / "b")
    assert load_bundle(tmp_path / "b").input["harmless"] == bundle.input["harmless"]


@pytest.mark.slow
def test_null_columns_leave(data: Dataset, bundle: Bundle) -> None:
    """Six columns at a level of 0.1 % each, and all together: hardly ever is one left out."""
    rng = np.random.default_rng(4)
    wide = data
    for i in range(6):
        values = rng.integers(0, 2 + i, len(data)) if i % 2 else rng.standard_normal(len(data))
        wide = wide.with_column(f"n{i}", pa.array(values))
    lost = [n for n in bundle.release(wide).left_out if n.startswith("n")]
    assert len(lost) <= 1, lost


def test_the_metadata_of_the_source_stays(plain: Dataset, bundle: Bundle) -> None:
    noisy = replace(plain, schema=plain.schema.with_metadata({"pandas": "s1 f"}))
    assert not bundle.release(noisy).schema.metadata


# --- columns that no measurement clears ----------------------------------------------------------


def odd_columns(x: np.ndarray) -> dict[str, tuple[pa.Array, str]]:
    """Columns that give inputs back or name records, and the reason that is expected."""
    n = len(x)
    copy, name, unchecked = "near-copy", "can identify the record", "could not be checked"
    numbers = [[Decimal(f"{v:.4f}") for v in row] for row in x]
    parts = [pa.array(x[:, i]) for i in range(x.shape[1])]
    return {
        "struct": (pa.StructArray.from_arrays(parts, [f"f{i}" for i in range(len(parts))]), name),
        "decimals": (pa.array(numbers), copy),
        "timestamp": (pa.array((x[:, 0] * 1e9).astype("i8") // 4**12, pa.timestamp("us")), copy),
        "day": (pa.array((x[:, 0] * 20).astype("i4"), pa.date32()), copy),
        "levels": (pa.array(np.clip(np.round(x[:, 0] * 5), -15, 15).astype(int)), copy),
        "text": (pa.array([f"{v:.1f}" for v in x[:, 0]]), copy),
        "square": (pa.array((x[:, 3] - x[:, 3].mean()) ** 2), copy),
        "float id": (pa.array(np.arange(n) + 0.0), name),
        "decimal id": (pa.array([Decimal(i) for i in range(n)]), name),
        "list id": (pa.array([[f"P{i:05d}"] for i in range(n)]), name),
        "number list id": (pa.array([[i] for i in range(n)]), name),
        "time id": (pa.array(np.arange(n) * 7919, pa.timestamp("s")), name),
        "maps": (
            pa.array([[("a", i % 50)] for i in range(n)], pa.map_(pa.string(), pa.int64())),
            unchecked,
        ),
        "few names": (
            pa.array([f"Mrs Smith {i}" if i < 19 else None for i in range(n)]),
            unchecked,
        ),
        "few numbers": (pa.array([9000 + i if i < 19 else None for i in range(n)]), unchecked),
    }


@pytest.mark.parametrize("name", list(odd_columns(np.zeros((2, 6)))))
def test_columns_that_no_measurement_clears(data: Dataset, bundle: Bundle, name: str) -> None:
    """They tell nothing of a random secret, and still must not leave."""
    column, reason = odd_columns(data.x)[name]
    secret = np.random.default_rng(0).choice(["f", "m"], len(data)).tolist()
    small = Dataset.from_arrays(data.x, {"gender": secret, "odd": column})
    assert reason in bundle.release(small).left_out["odd"]


def test_measures_and_labels_leave(data: Dataset, bundle: Bundle) -> None:
    """Noise, dates that repeat, and a label that the features predict well are no copies."""
    rng = np.random.default_rng(1)
    n = len(data)
    columns = {
        "gender": rng.choice(["f", "m"], n).tolist(),
        "noise": rng.standard_normal(n),
        "day": pa.array(rng.integers(0, 300, n).astype("i4"), pa.date32()),
        "price": pa.array([Decimal(int(v)) / 100 for v in rng.integers(0, 400, n)]),
        "pair": pa.array(list(rng.standard_normal((n, 2)))),
        "label": data.x @ np.ones(6) > 0,
        "digit": data.table["digit"],
    }
    assert list(bundle.release(Dataset.from_arrays(data.x, columns)).left_out) == ["gender"]


def test_labels_that_are_too_few_do_not_let_the_fit_decide(bundle: Bundle) -> None:
    """`weather` revealed nothing in the fit, but is the gender in 47 of 49 records now."""
    later = dataset(seed=5, n=49)
    g = later.attribute("gender").codes.copy()
    g[:2] = 1 - g[:2]
    found = bundle.release(later.with_column("weather", pa.array(g)))
    assert "too few labels of 'gender'" in found.left_out["weather"]
    one = bundle.release(
        dataset(seed=5).rows(np.flatnonzero(dataset(seed=5).attribute("gender").codes))
    )
    assert "too few labels of 'gender'" in one.left_out["weather"]


def test_without_labels_a_column_leaves_with_the_values_of_the_fit_alone(
    data: Dataset, bundle: Bundle
) -> None:
    """A column of the same name may hold something else by now, and nothing here can tell."""
    later = data.without(["gender"])
    assert "weather" in bundle.release(later).schema.names
    sex = data.attribute("gender").codes + 7
    other = bundle.release(later.with_column("weather", pa.array(sex)))
    assert "values that it did not have in the fit" in other.left_out["weather"]
    assert "too many values to compare" in other.left_out["temp"]


def test_the_certificate_names_what_leaves_on_the_word_of_the_fit(plain: Dataset) -> None:
    made = fit_bundle(plain, Roles.of("gender"), method="random-substitute")
    certificate = made.release(plain.without(["gender"])).certificate
    assert certificate is not None
    [note] = [n for n in certificate.notes if "in the data of the fit" in n]
    assert "weather" in note
    certificate = made.release(plain).certificate
    assert certificate is not None
    assert not any("in the data of the fit" in n for n in certificate.notes)


def test_unused_categories_do_not_leave(plain: Dataset, bundle: Bundle, tmp_path: Path) -> None:
    indices = pa.array(np.random.default_rng(0).integers(0, 3, len(plain)).astype("i4"))
    region = pa.DictionaryArray.from_arrays(indices, pa.array(["a", "b", "c", "Anna Smith, f"]))
    wide = plain.with_column("region", region)
    assert pa.types.is_dictionary(wide.table["region"].type)
    bundle.release(wide).write(tmp_path / "python.parquet")
    table = wide.table.append_column("x", pa.array(list(wide.x), pa.list_(pa.float32(), 6)))
    pq.write_table(table, tmp_path / "in.parquet")
    assert b"Anna Smith" in (tmp_path / "in.parquet").read_bytes()
    save_bundle(bundle, tmp_path / "b")
    paths = [str(tmp_path / name) for name in ("b", "in.parquet", "cli.parquet")]
    assert outcome(["transform", paths[0], paths[1], "-o", paths[2], "-q"]) == 0
    for name in ("python.parquet", "cli.parquet"):
        written = pq.read_table(tmp_path / name)["region"]
        assert sorted(set(written.to_pylist())) == ["a", "b", "c"]
        assert b"Anna Smith" not in (tmp_path / name).read_bytes()


def by_both_doors(data: Dataset, bundle: Bundle, folder: Path) -> list[Path]:
    """The release of a dataset, written from Python and by the command line."""
    bundle.release(data).write(folder / "python.parquet")
    lists = pa.array(list(data.x), pa.list_(pa.float32(), data.dimension))
    pq.write_table(data.table.append_column("x", lists), folder / "in.parquet")
    save_bundle(bundle, folder / "b")
    paths = [str(folder / name) for name in ("b", "in.parquet", "cli.parquet")]
    assert outcome(["transform", paths[0], paths[1], "-o", paths[2], "-q"]) == 0
    return [folder / "python.parquet", folder / "cli.parquet"]


@pytest.mark.parametrize("shape", ["list", "struct"])
def test_unused_categories_of_nested_columns_do_not_leave(
    plain: Dataset, bundle: Bundle, tmp_path: Path, shape: str
) -> None:
    n = len(plain)
    indices = pa.array(np.random.default_rng(0).integers(0, 3, n).astype("i4"))
    region = pa.DictionaryArray.from_arrays(indices, pa.array(["a", "b", "c", "Anna Smith, f"]))
    nested = pa.StructArray.from_arrays([region], ["k"])
    if shape == "list":
        nested = pa.ListArray.from_arrays(pa.array(np.arange(n + 1), pa.int32()), region)
    wide = plain.with_column("region", nested)
    for path in by_both_doors(wide, bundle, tmp_path):
        assert "region" in pq.read_schema(path).names
        assert b"Anna Smith" not in path.read_bytes()
    released = bundle.release(wide).table["region"]
    assert "dictionary" not in str(released.type)


def test_null_and_nan_leave_as_one(plain: Dataset, bundle: Bundle, tmp_path: Path) -> None:
    """Half of the scores are missing: null where the gender is m, NaN (or another NaN) where f."""
    g = plain.attribute("gender").codes
    rng = np.random.default_rng(0)
    there = rng.random(len(plain)) < 0.5
    values = rng.integers(0, 20, len(plain)).astype(float)
    bits = np.where(g == 1, 0x7FF8000000000000, 0xFFF8000000000001).astype(np.uint64)
    payload = np.where(there, values, bits.view(np.float64))
    wide = plain.with_column(
        "score", pa.array(np.where(there, values, np.nan), mask=~there & (g == 1))
    )
    wide = wide.with_column("payload", pa.array(payload))
    for path in by_both_doors(wide, bundle, tmp_path):
        table = pq.read_table(path)
        for name in ("score", "payload"):
            assert table[name].null_count == (~there).sum()
            assert not np.isnan(table[name].drop_null().to_numpy()).any()


def test_the_split_of_the_fit_does_not_leave(plain: Dataset, bundle: Bundle) -> None:
    """It tells which records were fitted."""
    split = plain.with_split(grouped=False)
    released = bundle.release(split)
    assert "which records were fitted" in released.left_out["split"]
    assert bundle.release(split, keep=["split"]).kept_by_name == ("split",)


@pytest.mark.slow
@pytest.mark.parametrize(
    "column",
    [
        pa.array(np.full(1200, np.nan)),
        pa.array([None, float("nan")] * 600),
        pa.ExtensionArray.from_storage(
            pa.uuid(), pa.array([bytes([i % 2] * 16) for i in range(1200)], pa.binary(16))
        ),
        pa.ExtensionArray.from_storage(pa.bool8(), pa.array([0, 1] * 600, pa.int8())),
        pa.array([pa.MonthDayNano([i % 2, 1, 1]) for i in range(1200)]),
    ],
    ids=["nan", "nan and null", "uuid", "bool8", "interval"],
)
def test_odd_types_can_be_fitted_and_released(plain: Dataset, column: pa.Array) -> None:
    wide = plain.with_column("odd", column)
    made = fit_bundle(wide, Roles.of("gender"), method="constant")
    assert "weather" in made.release(wide).schema.names


def wards(*, told: bool, people: int = 150, rows: int = 6) -> Dataset:
    """`ward` is a coin in every row. If `told`, all rows of a woman have one ward."""
    rng = np.random.default_rng(0)
    who = np.repeat(np.arange(people), rows)
    female = who % 2 == 1
    own, each = rng.integers(0, 2, people)[who], rng.integers(0, 2, len(who))
    ward = [f"w{w}" for w in np.where(female & told, own, each)]
    x = rng.standard_normal((len(who), 4)).astype(np.float32)
    columns = {"sex": np.where(female, "f", "m"), "ward": ward, "person": [f"p{w}" for w in who]}
    return Dataset.from_arrays(x, columns, group="person", name="visits")


def decided(data: Dataset, *, keep: tuple[str, ...] = ()) -> Decision:
    own = Subject(data.name, data.schema, ("x",), data.table, ("sex",), group="person", x=data.x)
    return decide(own, Wishes(keep=keep))


def test_a_column_that_tells_in_several_rows_of_a_person_is_left_out() -> None:
    found = decided(wards(told=True))
    assert found.leaving == ["x"]
    assert found.left_out["ward"].startswith("reveals 'sex' (9")
    assert "from several records of one person" in found.left_out["ward"]
    assert found.tells["sex"]["ward"] > 0.9


def test_a_column_that_tells_nothing_of_people_leaves() -> None:
    found = decided(wards(told=False))
    assert found.leaving == ["x", "ward"]
    assert found.people


def test_with_too_few_people_a_column_is_left_out_unless_it_is_named() -> None:
    data = wards(told=False, people=30, rows=30)
    found = decided(data)
    assert found.left_out["ward"] == (
        "could not be checked on whole people; name it with --keep to release it as it is"
    )
    assert found.unchecked == ["ward"]
    assert decided(data, keep=("ward",)).kept_by_name == ["ward"]


@pytest.mark.parametrize("keep", [(), ("ward",)])
def test_the_certificate_says_what_covers_the_rows_of_a_person(keep: tuple[str, ...]) -> None:
    data = wards(told=False)
    config = {"codes": 4, "rounds": 1, "exact_rounds": 0, "epochs": 1}
    made = fit_bundle(data, Roles.of("sex", ()), method="exact", config=config)
    found = made.release(data, keep=keep).certificate
    assert found is not None
    measured = [n for n in found.notes if "Each was also measured in several rows" in n]
    kept = [n for n in found.notes if "No figure about the rows of one person covers ward" in n]
    assert (len(measured), len(kept)) == ((0, 1) if keep else (1, 0))
