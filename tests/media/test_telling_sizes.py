"""A warning where the size or length of media reveals a suppressed attribute."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import withhold
from support import key_of
from withhold import Dataset
from withhold.core.progress import Silent
from withhold.media.file_facts import HIDDEN, facts_of
from withhold.records.readers import Samples
from withhold.records.samples import Picture, Sample, Sound

N = 120
LABELS = np.random.default_rng(3).integers(0, 2, N)


class Noting(Silent):
    """Keeps what was said."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def say(self, line: str) -> None:
        self.said.append(line)


def picture(width: int) -> Sample:
    return Picture(np.zeros((16, width, 3), np.uint8))


def sound(length: int) -> Sample:
    return Sound(np.zeros(8_000 + length, np.float32), 8_000)


def made(sample: object, sizes: np.ndarray) -> Dataset:
    samples = [sample(int(size)) for size in sizes]  # type: ignore[operator]
    kind = "image" if sample is picture else "sound"
    table = pa.table({"gender": LABELS})
    return Dataset.of_media(Samples(samples, table, kind))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("sample", "method", "fact"), [(picture, "blur", "width"), (sound, "mcadams", "samples")]
)
def test_sizes_that_reveal_an_attribute(sample: object, method: str, fact: str) -> None:
    told = Noting()
    withhold.fit(made(sample, 16 + LABELS), "gender", method=method, key=key_of(0), progress=told)
    assert any(f"the {fact} of the" in s and "'gender' (100 % right" in s for s in told.said)


@pytest.mark.parametrize("sizes", [np.full(N, 16), 16 + np.arange(N) % 3])
def test_equal_or_unrelated_sizes_are_not_mentioned(sizes: np.ndarray) -> None:
    told = Noting()
    bundle = withhold.fit(
        made(picture, sizes), "gender", method="blur", key=key_of(0), progress=told
    )
    assert not any("reveals" in line for line in told.said)
    assert bundle.method == "blur"


def test_a_release_warns_too() -> None:
    told = Noting()
    data = made(picture, 16 + LABELS)
    bundle = withhold.fit(data, "gender", method="blur", key=key_of(0))
    bundle.release(data, progress=told)
    assert any("the width of the images reveals 'gender'" in line for line in told.said)


def test_an_image_whose_header_cannot_be_read_counts_as_hidden_content() -> None:
    assert HIDDEN in facts_of(b"not an image", "image")
    assert facts_of(b"not a sound", "sound") == {}
