"""`withhold fit --method codebook` with a budget, and `transform --as code|sample|index`."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from withhold.bundle.bundle import load_bundle
from withhold.cli.main import outcome
from withhold.methods.features.codebook import CodebookModifier
from withhold.records.dataset import Dataset
from withhold.records.writers.row_list import read_rows

from .conftest import Run, snapshot

pytestmark = pytest.mark.usefixtures("less_monte_carlo")
QUICK = {"codes": 12, "hidden": [16], "epochs": 3, "rounds": 2, "least": 2, "smallest": 2}
LABELLED = {"codes": 12, "solver": "barycentre", "use_labels": True, "least": 2, "smallest": 2}


@pytest.fixture(scope="session")
def books(pantry: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle `book` without labels, and `labelled` with them."""
    folder = tmp_path_factory.mktemp("books")
    before = Path.cwd()
    os.chdir(folder)
    try:
        for name, settings in (("book", QUICK), ("labelled", LABELLED)):
            Path(f"{name}.yaml").write_text(json.dumps(settings))
            data = str(pantry / "data.parquet")
            fit = ["fit", data, "--suppress", "secret", "--method", "codebook", "-o", name]
            assert outcome([*fit, "--config", f"{name}.yaml", "-q"]) == 0
    finally:
        os.chdir(before)
    return folder


@pytest.fixture
def shelf(place: Path, books: Path) -> Path:
    for path in books.iterdir():
        (place / path.name).symlink_to(path)
    return place


def modifier(name: str) -> CodebookModifier:
    found = load_bundle(name).modifier
    assert isinstance(found, CodebookModifier)
    return found


# --- shapes -------------------------------------------------------------------------------------


def test_as_code_is_what_comes_unasked(shelf: Path, cli: Run) -> None:
    for name, more in (("one.parquet", ()), ("two.parquet", ("--as", "code"))):
        assert cli("transform", "book", "data.parquet", "-o", name, "-q", *more).code == 0
    assert Path("one.parquet").read_bytes() == Path("two.parquet").read_bytes()
    x = Dataset.read("data.parquet").x
    expected = modifier("book").transform(x)[read_rows(Path("one.rows.csv"))]
    np.testing.assert_array_equal(Dataset.read("one.parquet").x, expected)


@pytest.mark.parametrize("kind", ["parquet", "npz"])
def test_numbers_and_their_table_say_what_the_codes_say(shelf: Path, cli: Run, kind: str) -> None:
    assert cli("transform", "book", "data.parquet", "-o", "full.parquet", "-q").code == 0
    ran = cli("transform", "book", f"data.{kind}", "-o", f"r.{kind}", "--as", "index", "--json")
    assert ran.json["codes"] == f"r.codes.{kind}"
    assert ran.json["records"] == 240
    table = Dataset.read(f"r.codes.{kind}")
    assert len(table) == len(modifier("book").codes)
    if kind == "parquet":
        release = pq.read_table("r.parquet")
        assert release.schema.field("code").type == pa.uint16()
        assert not {"x", "secret"} & set(release.column_names)
        code = release["code"].to_numpy()
    else:
        code = np.load("r.npz")["code"]
    np.testing.assert_array_equal(table.x[code], Dataset.read("full.parquet").x)


def test_numbers_of_wide_columns(shelf: Path, cli: Run) -> None:
    fit = ("fit", "wide.csv", "--features", "f_*", "--suppress", "secret", "--method", "codebook")
    assert cli(*fit, "--config", "book.yaml", "-o", "b", "-q").code == 0
    for name, shape in (("full.csv", "code"), ("r.csv", "index")):
        assert cli("transform", "b", "wide.csv", "-o", name, "--as", shape, "-q").code == 0
    release, table = pd.read_csv("r.csv"), pd.read_csv("r.codes.csv")
    names = [f"f_{i}" for i in range(6)]
    assert table.columns.tolist() == names
    assert not set(names) & set(release.columns)
    full = pd.read_csv("full.csv")
    np.testing.assert_array_equal(table[names].to_numpy()[release["code"]], full[names].to_numpy())


def test_sizes_are_said(shelf: Path, cli: Run) -> None:
    ran = cli("transform", "book", "data.parquet", "-o", "r.parquet", "--as", "index")
    assert "r.codes.parquet: the table of codes; 2 bytes per record instead of 24" in ran.out
    assert "12 times smaller" in ran.out
    both = os.path.getsize("r.parquet") + os.path.getsize("r.codes.parquet")
    assert f"{both / 240:,.1f} bytes per record" in ran.out


@pytest.mark.slow
def test_a_sample_is_finite_and_spreads_about_the_codes(shelf: Path, cli: Run) -> None:
    for name, shape in (("full.parquet", "code"), ("r.parquet", "sample"), ("s.parquet", "sample")):
        assert cli("transform", "book", "data.parquet", "-o", name, "--as", shape, "-q").code == 0
    assert Path("r.parquet").read_bytes() == Path("s.parquet").read_bytes()
    codes, near = Dataset.read("full.parquet").x, Dataset.read("r.parquet").x
    assert np.isfinite(near).all()
    assert len(np.unique(codes, axis=0)) <= 12
    assert len(np.unique(near, axis=0)) == 240
    assert "secret" not in pq.read_schema("r.parquet").names


@pytest.mark.parametrize("shape", ["index", "sample"])
def test_a_bundle_without_codes_has_neither(shelf: Path, cli: Run, shape: str) -> None:
    told = cli("transform", "bundle", "data.parquet", "-o", "r.parquet", "--as", shape, "-q")
    assert f"method 'mass' has no codes to release as {shape}" in told.mistake
    assert snapshot(shelf) == {}


def test_an_unknown_shape_is_refused(shelf: Path, cli: Run) -> None:
    told = cli("transform", "book", "data.parquet", "-o", "r.parquet", "--as", "codes", "-q")
    assert "--as takes code, sample or index" in told.mistake


def test_the_table_of_codes_is_never_written_over_the_data(shelf: Path, cli: Run) -> None:
    data = Path("data.parquet").read_bytes()
    Path("r.codes.parquet").write_bytes(data)
    told = cli("transform", "book", "r.codes.parquet", "-o", "r.parquet", "--as", "index", "-q")
    assert "is the input" in told.mistake
    assert Path("r.codes.parquet").read_bytes() == data


def with_code(kind: str = "text") -> None:
    table = pq.read_table("data.parquet")
    values = [f"c{i % 3}" for i in range(240)]
    pq.write_table(table.append_column("code", pa.array(values)), "coded.parquet")


def test_a_column_that_is_called_code_already(shelf: Path, cli: Run) -> None:
    with_code()
    index = ("transform", "book", "coded.parquet", "-o", "r.parquet", "--as", "index", "-q")
    assert "leave it out with --drop code" in cli(*index).mistake
    assert cli(*index, "--drop", "code").code == 0
    assert pq.read_table("r.parquet")["code"].type == pa.uint16()


@pytest.mark.slow
def test_features_that_are_called_code(shelf: Path, cli: Run) -> None:
    table = pq.read_table("data.parquet")
    names = ["code" if n == "x" else n for n in table.column_names]
    pq.write_table(table.rename_columns(names), "f.parquet")
    fit = ("fit", "f.parquet", "--features", "code", "--suppress", "secret", "-o", "b", "-q")
    assert cli(*fit, "--method", "codebook", "--config", "book.yaml").code == 0
    assert cli("transform", "b", "f.parquet", "-o", "r.parquet", "--as", "index", "-q").code == 0
    assert pq.read_table("r.parquet")["code"].type == pa.uint16()


# --- labels at transform time -------------------------------------------------------------------


@pytest.mark.parametrize("shape", ["code", "sample", "index"])
def test_labels_come_from_the_data_and_do_not_leave(shelf: Path, cli: Run, shape: str) -> None:
    ran = cli("transform", "labelled", "data.parquet", "-o", "r.parquet", "--as", shape, "-q")
    assert ran.code == 0
    assert "secret" not in pq.read_schema("r.parquet").names
    if shape == "code":
        data = Dataset.read("data.parquet")
        own = {"secret": data.attribute("secret")}
        expected = modifier("labelled").transform(data.x, own)[read_rows(Path("r.rows.csv"))]
        np.testing.assert_array_equal(Dataset.read("r.parquet").x, expected)


def test_data_without_the_label_is_refused_by_its_name(shelf: Path, cli: Run) -> None:
    pq.write_table(pq.read_table("data.parquet").drop_columns(["secret"]), "bare.parquet")
    told = cli("transform", "labelled", "bare.parquet", "-o", "r.parquet", "-q").mistake
    assert "needs the column secret for every record" in told
    assert "r.parquet" not in snapshot(shelf)


@pytest.mark.slow
@pytest.mark.parametrize("row", [17, 3000, 5003])
@pytest.mark.parametrize("value", [None, "new"])
def test_a_record_without_a_known_class_is_refused_by_its_row(
    shelf: Path, cli: Run, row: int, value: str | None
) -> None:
    table = pq.read_table("data.parquet")
    table = pa.concat_tables([table] * 22)
    secret = table["secret"].to_pylist()
    secret[row] = value
    at = table.column_names.index("secret")
    pq.write_table(table.set_column(at, "secret", pa.array(secret)), "odd.parquet")
    told = cli("transform", "labelled", "odd.parquet", "-o", "r.parquet", "-q").mistake
    assert f" {row} " in f" {told} "


def test_labels_of_several_binary_columns(shelf: Path, cli: Run) -> None:
    fit = ("fit", "data.parquet", "--multilabel", "sound=loud,fast", "--suppress", "sound")
    more = ("--method", "codebook", "--config", "labelled.yaml", "-o", "b", "-q")
    assert cli(*fit, *more).code == 0
    assert modifier("b").classes == tuple(
        json.dumps([json.dumps(tags)]) for tags in ([], ["fast"], ["loud"], ["loud", "fast"])
    )
    assert cli("transform", "b", "data.parquet", "-o", "r.parquet", "-q").code == 0
    assert not {"loud", "fast"} & set(pq.read_schema("r.parquet").names)
    data = Dataset.read("data.parquet", multilabel={"sound": ["loud", "fast"]})
    expected = modifier("b").transform(data.x, {"sound": data.attribute("sound")})
    expected = expected[read_rows(Path("r.rows.csv"))]
    np.testing.assert_array_equal(Dataset.read("r.parquet").x, expected)


# --- budgets ------------------------------------------------------------------------------------


def fit_with(cli: Run, *more: object) -> object:
    fit = ("fit", "data.parquet", "--suppress", "secret", "--method", "codebook", "-o", "b")
    return cli(*fit, "--config", "book.yaml", *more)


def test_a_budget_that_is_kept_is_said_and_is_in_the_bundle(shelf: Path, cli: Run) -> None:
    ran = fit_with(cli, "--budget", "secret<=95")
    assert (ran.code, "budget kept on" in ran.err) == (0, True)
    assert load_bundle("b").config["budget"] == "secret<=95"


@pytest.mark.parametrize(
    ("budget", "told"),
    [
        ("secret=5", "cannot be read"),
        ("secret<=5", "the lowest possible budget is secret<=floor"),
        ("secert<=60", "did you mean 'secret'"),
        ("useful<=60", "'useful' is not suppressed"),
        (" ; ", "the budget is empty"),
        ("", "the budget is empty"),
    ],
)
def test_a_bad_budget_is_one_line_and_leaves_nothing(
    shelf: Path, cli: Run, budget: str, told: str
) -> None:
    assert told in fit_with(cli, "-q", "--budget", budget).mistake
    assert snapshot(shelf) == {}


def test_other_methods_have_no_budget(shelf: Path, cli: Run) -> None:
    fit = ("fit", "data.parquet", "--suppress", "secret", "--method", "noise", "-o", "b", "-q")
    assert "no setting 'budget'" in cli(*fit, "--budget", "secret<=60").mistake


def test_the_barycentre_without_labels_is_one_line(shelf: Path, cli: Run) -> None:
    Path("c.yaml").write_text("solver: barycentre\n")
    fit = ("fit", "data.parquet", "--suppress", "secret", "--method", "codebook", "-o", "b", "-q")
    assert "set use_labels: true" in cli(*fit, "--config", "c.yaml").mistake
    assert set(snapshot(shelf)) == {"c.yaml"}
