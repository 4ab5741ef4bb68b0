"""The front door: a true scikit-learn transformer, and datasets in, datasets out."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import polars as pl
import pytest
import sklearn
import torch
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from support import TINY, Interrupted, Recorder, codes, mixed, of_world
from withhold import Dataset, Suppressor, load
from withhold.core.errors import UserError
from withhold.datasets.worlds import two_attributes
from withhold.learn.nets.device import threads

FloatArray = npt.NDArray[np.float32]
COLUMNS = list("abcdefg")
KEY = bytes(range(32))


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    with threads(1):
        yield


@pytest.fixture(scope="module")
def data() -> Dataset:
    return mixed()


@pytest.fixture(scope="module")
def x(data: Dataset) -> FloatArray:
    return data.x


@pytest.fixture(scope="module")
def frame(data: Dataset) -> pd.DataFrame:
    """Attributes without a split, as scikit-learn's users have them."""
    return data.table.select(["secret", "colour"]).to_pandas()


def noise(**changes: Any) -> Suppressor:
    return Suppressor(**({"suppress": "secret", "method": "noise", "key": KEY} | changes))


# --- scikit-learn's own checks ----------------------------------------------------------------


@parametrize_with_checks(
    [
        Suppressor(method="noise", key=KEY),
        Suppressor(method="noise"),
        Suppressor(method="leace"),
        Suppressor(method="mass", config=TINY),
    ],
    # A fit without a key draws one at random, so that no two fits are the same.
    expected_failed_checks=lambda e: (
        {"check_fit_idempotent": "random key"} if e.method == "noise" and e.key is None else {}
    ),
)
def test_scikit_learns_checks(estimator: BaseEstimator, check: Any) -> None:
    check(estimator)


def test_clone_copies_the_settings_and_not_the_fit(x: FloatArray, frame: pd.DataFrame) -> None:
    fitted = noise(preserve=["colour"], config={"sigma": 2.0}, seed=3).fit(x, attributes=frame)
    copy = clone(fitted)
    assert copy.get_params() == fitted.get_params()
    assert not hasattr(copy, "bundle_")
    np.testing.assert_array_equal(copy.fit(x, attributes=frame).transform(x), fitted.transform(x))


def test_set_params_are_used(x: FloatArray, frame: pd.DataFrame) -> None:
    made = noise().set_params(method="constant").fit(x, attributes=frame)
    assert len(np.unique(made.transform(x), axis=0)) == 1


# --- arrays and frames ------------------------------------------------------------------------


def test_y_alone_is_what_is_suppressed() -> None:
    world = two_attributes(600, 6, separation_suppress=2, separation_preserve=2)
    secret = np.array(world.attributes["secret"].to_pylist())
    release = Suppressor(method="leace").fit_transform(world.x, secret)
    probe = LogisticRegression(C=1e3)
    assert probe.fit(world.x, secret).score(world.x, secret) > 0.9
    assert probe.fit(release, secret).score(release, secret) < 0.52


def test_y_is_suppressed_only_where_suppress_is_unset(x: FloatArray, frame: pd.DataFrame) -> None:
    assert noise(suppress=None).fit(x, frame["colour"]).bundle_.roles.suppress == ("y",)
    for changes in ({"suppress": "secret"}, {"suppress": None, "preserve": "colour"}):
        with pytest.raises(UserError, match="were not passed, and y is not used in their place"):
            noise(**changes).fit(x, frame["colour"])


@pytest.mark.parametrize("form", ["mapping", "pandas", "polars", "arrow", "series"])
def test_attributes_in_any_form_give_the_same(
    x: FloatArray, frame: pd.DataFrame, data: Dataset, form: str
) -> None:
    attributes = {
        "mapping": {"secret": frame["secret"].tolist()},
        "pandas": frame,
        "polars": pl.DataFrame({"secret": data.table["secret"].to_pylist()}),
        "arrow": data.table.select(["secret"]),
        "series": frame["secret"],
    }[form]
    expected = noise(method="leace").fit(x, attributes=frame).transform(x)
    found = noise(method="leace").fit(x, attributes=attributes).transform(x)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("kind", [str, object, "category", "Int64", bool])
def test_labels_of_any_kind_in_y(x: FloatArray, frame: pd.DataFrame, kind: Any) -> None:
    expected = noise(method="leace", suppress=None).fit(x, frame["colour"] == "red").transform(x)
    y = (frame["colour"] == "red").astype(int).astype(kind)
    found = noise(method="leace", suppress=None).fit(x, y).transform(x)
    np.testing.assert_allclose(found, expected, atol=1e-3)


def test_missing_labels_in_y_are_masked(x: FloatArray, frame: pd.DataFrame) -> None:
    known = frame["secret"].notna().to_numpy()
    assert not known.all()
    some = noise(method="leace", suppress=None).fit(x, frame["secret"])
    only = noise(method="leace", suppress=None).fit(x[known], frame["secret"][known])
    np.testing.assert_allclose(some.transform(x), only.transform(x), atol=1e-3)


def test_of_arrays_every_record_is_used_unless_there_is_a_split(
    x: FloatArray, frame: pd.DataFrame, data: Dataset
) -> None:
    every = noise(method="constant").fit(x, attributes=frame).transform(x)
    np.testing.assert_allclose(every[0], x.mean(axis=0), rtol=1e-5)
    split = frame.assign(split=data.table["split"].to_pylist())
    some = noise(method="constant").fit(x, attributes=split).transform(x)
    np.testing.assert_allclose(some[0], data.part("train").x.mean(axis=0), rtol=1e-5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_dtype_stays(x: FloatArray, frame: pd.DataFrame, dtype: Any) -> None:
    out = noise().fit(x.astype(dtype), attributes=frame).transform(x.astype(dtype))
    assert out.dtype == dtype


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_set_output_gives_frames(x: FloatArray, frame: pd.DataFrame, library: Any) -> None:
    features = pd.DataFrame(x, columns=COLUMNS, index=range(1000, 1000 + len(x)))
    made = noise().set_output(transform=library)
    out = made.fit(features, attributes=frame).transform(features)
    assert isinstance(out, pd.DataFrame if library == "pandas" else pl.DataFrame)
    assert list(out.columns) == COLUMNS
    np.testing.assert_array_equal(out.to_numpy(), noise().fit(x, attributes=frame).transform(x))
    if library == "pandas":
        assert out.index[0] == 1000
    again = noise().set_output(transform=library).fit_transform(features, attributes=frame)
    assert again.equals(out)


def test_polars_frames_in_and_out(x: FloatArray, frame: pd.DataFrame) -> None:
    features = pl.DataFrame(x, schema=COLUMNS)
    out = noise().set_output(transform="polars").fit_transform(features, attributes=frame)
    assert isinstance(out, pl.DataFrame)
    assert out.columns == COLUMNS


def test_get_feature_names_out(x: FloatArray, frame: pd.DataFrame, data: Dataset) -> None:
    named = noise().fit(pd.DataFrame(x, columns=COLUMNS), attributes=frame)
    assert named.get_feature_names_out().tolist() == COLUMNS
    numbered = [f"x{i}" for i in range(7)]
    assert noise().fit(x, attributes=frame).get_feature_names_out().tolist() == numbered
    # a second fit on a dataset forgets the names of the first
    assert named.fit(data).get_feature_names_out().tolist() == numbered


def test_frames_with_other_columns_are_refused(x: FloatArray, frame: pd.DataFrame) -> None:
    made = noise().fit(pd.DataFrame(x, columns=COLUMNS), attributes=frame)
    with pytest.raises(ValueError, match="feature names should match"):
        made.transform(pd.DataFrame(x, columns=COLUMNS[::-1]))


@pytest.mark.parametrize(
    "kind", [torch.float64, torch.float32, torch.bfloat16, torch.int64], ids=str
)
def test_a_tensor_gives_a_tensor(x: FloatArray, frame: pd.DataFrame, kind: torch.dtype) -> None:
    tensor = torch.tensor(x).to(kind)
    made = noise().set_output(transform="pandas").fit(tensor, attributes=frame)
    out = made.transform(tensor)
    assert isinstance(out, torch.Tensor)
    assert out.dtype == (kind if kind.is_floating_point else torch.float64)
    assert out.device == tensor.device
    values = tensor.double().numpy()
    wanted = noise().fit(values, attributes=frame).transform(values)
    torch.testing.assert_close(out, torch.from_numpy(wanted).to(out.dtype))
    graph = torch.tensor(x, requires_grad=True)
    assert not noise().fit_transform(graph, attributes=frame).requires_grad
    with pytest.raises(ValueError, match="3 features"):
        made.transform(tensor[:, :3])
    with pytest.raises(NotFittedError):
        noise().transform(tensor)


# --- pipelines --------------------------------------------------------------------------------


def test_a_pipeline_routes_the_attributes() -> None:
    world = two_attributes(600, 6, separation_suppress=2, separation_preserve=2)
    frame = world.attributes.to_pandas().drop(columns="split")
    with sklearn.config_context(enable_metadata_routing=True):
        suppressor = Suppressor("secret", "useful", "leace").set_fit_request(attributes=True)
        pipe = Pipeline(
            [("scale", StandardScaler()), ("hide", suppressor), ("read", LogisticRegression())]
        )
        pipe.fit(world.x, frame["useful"], attributes=frame)
        assert pipe.score(world.x, frame["useful"]) > 0.95
        assert pipe.named_steps["hide"].bundle_.roles.suppress == ("secret",)
        released = pipe[:-1].transform(world.x)
    probe = LogisticRegression(C=1e3).fit(released, frame["secret"])
    assert probe.score(released, frame["secret"]) < 0.52


def test_a_pipeline_without_attributes_is_refused_and_told_how() -> None:
    """The target of the last step must not be taken for the attribute to suppress."""
    world = two_attributes(200, 6, separation_suppress=2, separation_preserve=2)
    churned = np.array(world.attributes["useful"].to_pylist())
    pipe = make_pipeline(Suppressor(suppress="gender", method="leace"), LogisticRegression())
    with pytest.raises(UserError) as error:
        pipe.fit(world.x, churned)
    for told in (
        "gender",
        "y is not used in their place",
        "enable_metadata_routing",
        "set_fit_request",
    ):
        assert told in str(error.value)


def test_without_routing_y_goes_to_every_step() -> None:
    world = two_attributes(600, 6, separation_suppress=2, separation_preserve=2)
    secret = np.array(world.attributes["secret"].to_pylist())
    pipe = make_pipeline(Suppressor(method="leace"), LogisticRegression(C=1e3))
    assert pipe.fit(world.x, secret).score(world.x, secret) < 0.52


# --- datasets ---------------------------------------------------------------------------------


def test_a_dataset_gives_a_dataset_without_the_suppressed_column() -> None:
    data = mixed(400)
    made = noise(suppress=["secret", "tags"], preserve=["colour"])
    release = made.fit(data).transform(data)
    assert isinstance(release, Dataset)
    assert release.table.column_names == ["colour"]
    rows = release.original_rows
    assert release.x.shape == data.x.shape
    assert (release.x[:, :6] != data.x[rows, :6]).all()
    assert release.table["colour"].to_pylist() == data.rows(rows).table["colour"].to_pylist()
    assert "secret" in data.attribute_names  # the original has it still
    np.testing.assert_array_equal(made.fit_transform(data).x, release.x)
    np.testing.assert_array_equal(made.transform(data.x)[rows], release.x)


def test_of_a_dataset_only_the_training_part_is_used(data: Dataset) -> None:
    out = noise(method="constant").fit_transform(data)
    np.testing.assert_allclose(out.x[0], data.part("train").x.mean(axis=0), rtol=1e-5)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_dataset_stays_a_dataset_whatever_set_output_says(data: Dataset, library: Any) -> None:
    assert isinstance(noise().set_output(transform=library).fit_transform(data), Dataset)
    with sklearn.config_context(transform_output=library):
        assert isinstance(noise().fit(data).transform(data), Dataset)


def test_it_hides_and_keeps_end_to_end() -> None:
    data = of_world(two_attributes(800, 8, separation_suppress=2, separation_preserve=2))
    release = Suppressor(["secret"], ["useful"], method="leace").fit_transform(data)
    order, parts = release.original_rows, np.array(data.table["split"].to_pylist())
    train, test = (release.rows(parts[order] == part) for part in ("train", "test"))
    original = data.rows(order)
    useful = LogisticRegression().fit(train.x, codes(train, "useful"))
    assert useful.score(test.x, codes(test, "useful")) > 0.93
    secret = codes(original.part("train"), "secret")
    probe = LogisticRegression().fit(train.x, secret)
    assert probe.score(test.x, codes(original.part("test"), "secret")) < 0.6


# --- saving and resuming ----------------------------------------------------------------------


def test_save_and_load(x: FloatArray, frame: pd.DataFrame, tmp_path: Path) -> None:
    made = Suppressor(["secret"], ["colour"], method="mass", config=TINY, seed=4).fit(
        x, attributes=frame
    )
    made.save(tmp_path / "bundle")
    loaded = Suppressor.load(tmp_path / "bundle")
    np.testing.assert_array_equal(loaded.transform(x), made.transform(x))
    assert (loaded.suppress, loaded.preserve) == (["secret"], ["colour"])
    assert (loaded.method, loaded.seed, loaded.n_features_in_) == ("mass", 4, 7)
    # what was loaded can be fitted again, to the same
    np.testing.assert_array_equal(
        clone(loaded).fit(x, attributes=frame).transform(x), made.transform(x)
    )
    np.testing.assert_array_equal(
        load(tmp_path / "bundle").modifier.transform(x), made.transform(x)
    )


def test_a_seed_from_numpy_can_be_saved(x: FloatArray, frame: pd.DataFrame, tmp_path: Path) -> None:
    noise(seed=np.int64(5)).fit(x, attributes=frame).save(tmp_path / "bundle")
    assert json.loads((tmp_path / "bundle" / "bundle.json").read_text())["seed"] == 5


def test_checkpoints_resume(x: FloatArray, frame: pd.DataFrame, tmp_path: Path) -> None:
    whole = Suppressor("secret", method="mass", config=TINY).fit(x, attributes=frame)
    parts = Suppressor("secret", method="mass", config=TINY, checkpoints=tmp_path / "work")
    parts.set_params(progress=Recorder(stop_in="modifier", after=1))
    with pytest.raises(Interrupted):
        parts.fit(x, attributes=frame)
    assert any((tmp_path / "work").iterdir())
    parts.set_params(progress=None).fit(x, attributes=frame)
    np.testing.assert_array_equal(parts.transform(x), whole.transform(x))


def test_progress_is_told(x: FloatArray, frame: pd.DataFrame) -> None:
    said = Recorder()
    Suppressor("secret", method="mass", config=TINY, progress=said).fit(x, attributes=frame)
    assert set(said.steps) == {"attribute model secret", "contrastive encoder", "modifier"}


# --- errors -----------------------------------------------------------------------------------


def test_not_fitted(x: FloatArray, data: Dataset, tmp_path: Path) -> None:
    for call in (
        lambda: noise().transform(x),
        lambda: noise().transform(data),
        lambda: noise().save(tmp_path / "bundle"),
    ):
        with pytest.raises(NotFittedError):
            call()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"suppress": "secrte"}, r"'secrte' is not in the data; did you mean 'secret'\?"),
        ({"preserve": "colr"}, r"'colr'.*did you mean 'colour'\?"),
        ({"preserve": "secret"}, "'secret' is in both"),
        ({"suppress": None}, r"no attribute to suppress.*Suppressor\(suppress="),
        ({"suppress": []}, "no attribute to suppress"),
        ({"method": "nois"}, r"no method 'nois'; did you mean 'noise'\?"),
        ({"config": {"sigm": 1}}, r"no setting 'sigm'; did you mean 'sigma'\?"),
        ({"seed": -1}, "seed must be a whole number, 0 or more, not -1"),
        ({"seed": None}, "not None"),
        ({"seed": 0.5}, r"not 0\.5"),
    ],
    ids=str,
)
def test_wrong_settings_are_named(
    x: FloatArray, frame: pd.DataFrame, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(UserError, match=message):
        noise(**changes).fit(x, attributes=frame)


def test_labels_that_do_not_fit(x: FloatArray, frame: pd.DataFrame, data: Dataset) -> None:
    with pytest.raises(UserError, match=r"requires y to be passed.*attributes=frame"):
        noise().fit(x)
    with pytest.raises(UserError, match="y has 10 records, X has 160"):
        noise(suppress=None).fit(x, frame["secret"][:10])
    with pytest.raises(UserError, match="attributes have 10 records, the features 160"):
        noise().fit(x, attributes=frame[:10])
    with pytest.raises(UserError, match="'y' of the data is a column of fractions"):
        noise(suppress=None).fit(x, x[:, 0])
    for names in ("secret,colour", ["secret", "colour"]):
        with pytest.raises(UserError, match="labels of secret, colour were not passed"):
            noise(suppress=names).fit(x, frame["secret"])
    with pytest.raises(UserError, match="a Dataset already has its attributes"):
        noise().fit(data, attributes=frame)


def test_features_that_do_not_fit(x: FloatArray, frame: pd.DataFrame, data: Dataset) -> None:
    made = noise().fit(x, attributes=frame)
    with pytest.raises(ValueError, match=r"3 features.*expecting 7"):
        made.transform(x[:, :3])
    with pytest.raises(UserError, match=r"3 features.* 7\b"):
        made.transform(Dataset.from_arrays(x[:, :3]))
    huge = x.astype(np.float64) * 1e300
    for call in (lambda: noise().fit(huge, attributes=frame), lambda: made.transform(huge)):
        with pytest.raises(UserError, match="float32 cannot hold"):
            call()
