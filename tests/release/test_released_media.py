"""A release of media in Python: the same bytes as the command line writes, and nothing beside."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import torch

import withhold
from release_support import below, people
from withhold import Dataset, Suppressor
from withhold.actions.release import ReleaseRequest, release_files
from withhold.core.errors import UserError
from withhold.media.folder_sink import names_path
from withhold.records.samples import Picture

PATTERN = "{person}_{pose}.png"
KEY = bytes(range(32))


@pytest.fixture
def faces(tmp_path: Path) -> Path:
    return people(tmp_path / "faces")


def fitted(faces: Path, method: str = "blur") -> Suppressor:
    made = Suppressor(suppress=["person"], method=method, key=KEY)
    return made.fit(Dataset.read(faces, pattern=PATTERN))


def test_python_and_the_command_line_write_the_same_bytes(faces: Path, tmp_path: Path) -> None:
    suppressor = fitted(faces)
    suppressor.save(tmp_path / "bundle")
    by_python, by_action = tmp_path / "one", tmp_path / "two"
    suppressor.transform(Dataset.read(faces, pattern=PATTERN)).write(by_python)
    release_files(ReleaseRequest(bundle=tmp_path / "bundle", data=faces, output=by_action))
    assert below(by_python) == below(by_action)
    assert names_path(by_python).read_bytes() == names_path(by_action).read_bytes()


def test_samples_are_those_that_are_written_and_have_no_names(faces: Path) -> None:
    data = Dataset.read(faces, pattern=PATTERN)
    released = withhold.fit(data, "person", method="blur", key=KEY).release(data)
    assert released.media is not None
    assert {"person", "file"} <= set(released.left_out)
    assert not {"person", "file"} & {*released.table.column_names, *released.schema.names}
    originals = [item.content for item in Dataset.read(faces).media.items()]  # type: ignore[union-attr]
    items = list(released.media.items())
    assert len(items) == len(originals) == len(released)
    for item in items:
        assert not {"person", "file"} & set(item.labels)
        assert not any(path.name.split("_")[0] in item.name for path in originals)  # type: ignore[union-attr]
        assert isinstance(item.content, Picture)
    assert sorted(released.original_rows.tolist()) == list(range(len(data)))
    assert released.original_rows.tolist() != list(range(len(data)))


def test_some_records_are_released_alone(faces: Path, tmp_path: Path) -> None:
    data = Dataset.read(faces, pattern=PATTERN)
    bundle = withhold.fit(data, "person", method="blur", key=KEY)
    some = bundle.release(data[1:4])
    some.write(tmp_path / "out")
    assert len(list((tmp_path / "out").glob("*.png"))) == len(some) == 3
    with pytest.raises(UserError, match="release these records alone"):
        bundle.release(data)[:2].write(tmp_path / "other")
    with pytest.raises(UserError, match="can only be written as a release"):
        data.write(tmp_path / "original.parquet")


def test_images_as_arrays_and_tensors() -> None:
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 256, (12, 20, 24, 3)).astype(np.uint8)
    who = {"person": ["a", "b"] * 6}
    blur = Suppressor(suppress=["person"], method="blur").fit(pixels, attributes=who)
    out = blur.transform(pixels)
    assert (out.shape, out.dtype) == (pixels.shape, np.uint8)
    assert np.abs(np.diff(out.astype(int), axis=1)).mean() < 5  # noise that was made smooth
    tensor = blur.transform(torch.from_numpy(pixels))
    assert isinstance(tensor, torch.Tensor)
    assert np.array_equal(tensor.numpy(), out)
    with pytest.raises(UserError, match=r"uint8 of shape \(records, height, width, 3\)"):
        blur.transform(pixels[..., :2])
    with pytest.raises(UserError, match="'blur' is for images and clips; X holds features"):
        blur.transform(np.zeros((3, 4)))
    people = {"person": ["a", "b"] * 20}
    noise = Suppressor(suppress=["person"], method="noise")
    noise.fit(rng.standard_normal((40, 3)), attributes=people)
    with pytest.raises(UserError, match="'noise' is for features; X holds images"):
        noise.transform(pixels)


def test_an_audit_and_a_suppressor_say_what_they_want(faces: Path) -> None:
    data = Dataset.read(faces, pattern=PATTERN)
    with pytest.raises(UserError, match="holds images; choose how to make features of them"):
        withhold.audit(data, suppress="person")
    for call in (fitted(faces).transform, Suppressor(suppress="person", method="blur").fit):
        with pytest.raises(UserError, match="read the data first"):
            call("faces")
    features = withhold.extract(data, extractor="pixels", settings={"side": 8})
    assert features.x.shape == (len(data), 64)
    assert features.attribute("person").classes == data.attribute("person").classes
    less = withhold.extract(data.without(["pose"]), extractor="pixels", settings={"side": 8})
    assert "pose" not in less.attribute_names


def test_labels_that_the_caller_changed_are_the_ones_that_count(
    faces: Path, tmp_path: Path
) -> None:
    data = Dataset.read(faces, pattern=PATTERN)
    bundle = withhold.fit(data, "person", method="blur", key=KEY)
    less = bundle.release(data.without(["pose"]), keep=["file"])
    assert "pose" not in less.table.column_names
    less.write(tmp_path / "out")
    assert (tmp_path / "out" / "manifest.csv").read_text().splitlines()[0] == "path"
    released = bundle.release(data, keep=["pose"])
    with pytest.raises(UserError, match="release these records alone"):
        released.without(["pose"]).write(tmp_path / "other")
    with pytest.raises(TypeError, match="handed over as a file"):
        pickle.dumps(released)
    assert not any(name in repr(released.media) for name in ("anna", "bert", str(faces)))


def test_null_and_nan_leave_as_one(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 256, (80, 8, 8, 3)).astype(np.uint8)
    who = np.arange(80) % 2
    missing = pa.array([None if w else float("nan") for w in who])
    data = Dataset.from_arrays(pixels, {"person": [f"p{w}" for w in who], "v": missing})
    released = withhold.fit(data, "person", method="blur").release(data, keep=["v"])
    assert released.table["v"].null_count == 80
    released.write(tmp_path / "out.npz")
    with np.load(tmp_path / "out.npz") as found:
        assert len(set(found["v"].view(np.uint64).tolist())) == 1


def test_a_column_is_not_called_harmless_where_every_person_has_one_record() -> None:
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 256, (60, 8, 8, 3)).astype(np.uint8)
    labels = {"person": [f"p{i}" for i in range(60)], "city": [f"c{i % 5}" for i in range(60)]}
    data = Dataset.from_arrays(pixels, labels)
    released = withhold.fit(data, "person", method="blur").release(data)
    assert "could not be checked" in released.left_out["city"]


def test_a_saved_one_is_loaded_by_either_door(faces: Path, tmp_path: Path) -> None:
    fitted(faces).save(tmp_path / "bundle")
    data = Dataset.read(faces, pattern=PATTERN)
    bundle, again = withhold.load(tmp_path / "bundle"), Suppressor.load(tmp_path / "bundle")
    for name, released in (("one", bundle.release(data)), ("two", again.transform(data))):
        released.write(tmp_path / name)
    assert below(tmp_path / "one") == below(tmp_path / "two")


def test_a_method_for_features_says_how_to_get_them(faces: Path) -> None:
    with pytest.raises(UserError, match="is for features; faces holds images; make features of"):
        fitted(faces, "codebook")
