from __future__ import annotations

import io
import zipfile

import numpy as np
import pytest

from withhold.core.errors import UserError
from withhold.records.readers.pixel_arrays import PixelArrays

RNG = np.random.default_rng(0)
GREY = RNG.integers(0, 256, (5, 4, 3), np.uint8)
COLOUR = RNG.integers(0, 256, (5, 4, 6, 3), np.uint8)
CLIPS = RNG.integers(0, 256, (5, 7, 4, 6, 3), np.uint8)


def save(path, **arrays):
    np.savez(path, **arrays)
    return path


def test_colour_grey_and_clips(tmp_path):
    path = save(tmp_path / "a.npz", pictures=COLOUR, who=list("abcde"), age=np.arange(5))
    arrays = PixelArrays.read(path, "image")
    items = list(arrays.items(2))
    assert [item.name for item in items] == ["row 2", "row 3", "row 4"]
    assert dict(items[0].labels) == {"who": "c", "age": 2}
    assert np.array_equal(items[0].content.pixels, COLOUR[2])
    assert (len(arrays), arrays.schema.names) == (5, ["who", "age"])

    grey = next(PixelArrays.read(save(tmp_path / "g.npz", x=GREY), "image").items(1)).content.pixels
    assert grey.shape == (4, 3, 3)
    assert (grey == GREY[1][..., None]).all()

    clips = PixelArrays.read(save(tmp_path / "c.npz", clips=CLIPS, images=COLOUR), "clip")
    assert np.array_equal(next(clips.items(4)).content.frames, CLIPS[4])
    assert clips.labels() is None


def test_only_arrays_of_one_value_a_record_are_labels(tmp_path):
    path = save(
        tmp_path / "a.npz",
        pixels=GREY, good=np.ones(5, bool), other=np.zeros(4), wide=np.zeros((5, 2)),
    )  # fmt: skip
    assert PixelArrays.read(path, "image").schema.names == ["good"]


def test_the_stamp_tells_the_column(tmp_path):
    path = save(tmp_path / "a.npz", a=GREY, b=GREY)
    one, two = (PixelArrays.read(path, "image", column=c) for c in "ab")
    assert one.stamp() != two.stamp()
    assert one.digest() != two.digest()
    assert one.digest() == PixelArrays.read(path, "image", column="a").digest()


@pytest.mark.parametrize(
    ("arrays", "kind", "column", "told"),
    [
        ({"a": GREY}, "sound", None, "an npz has images or clips, not sounds"),
        ({"a": GREY}, "image", "b", "array 'b' is not in"),
        ({"a": GREY, "b": GREY}, "image", None, "cannot find the array with the images"),
        ({"a": np.zeros(4)}, "clip", None, "cannot find the array with the clips"),
        ({"a": GREY.astype(float)}, "image", "a", "is float64 in 3 dimensions"),
        ({"a": CLIPS}, "image", "a", "is uint8 in 5 dimensions"),
        ({"a": COLOUR[..., :2]}, "image", None, "has 2 colours, not 3"),
        ({"a": GREY[:0]}, "image", None, "has no rows"),
        ({"a": np.array([{}], object)}, "image", None, "has Python objects"),
    ],
)
def test_mistakes(tmp_path, arrays, kind, column, told):
    with pytest.raises(UserError) as caught:
        PixelArrays.read(save(tmp_path / "a.npz", **arrays), kind, column=column)
    assert told in str(caught.value)


def test_damage(tmp_path):
    data = io.BytesIO()
    np.savez_compressed(data, pixels=RNG.integers(0, 256, (50, 30, 30), np.uint8))
    whole = data.getvalue()
    bare = io.BytesIO()
    np.save(bare, GREY)
    flipped = bytearray(whole)
    start = zipfile.ZipFile(data).infolist()[0].header_offset + 60
    flipped[start : start + 200] = bytes(200)
    path = tmp_path / "a.npz"
    for content in (b"", b"x", whole[: len(whole) // 2], bytes(flipped), bare.getvalue()):
        path.write_bytes(content)
        with pytest.raises(UserError, match=r"a\.npz"):
            PixelArrays.read(path, "image")
    with pytest.raises(UserError, match="no such file"):
        PixelArrays.read(tmp_path / "b.npz", "image")
