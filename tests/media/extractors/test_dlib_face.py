"""dlib's descriptors: dlib's own numbers, of the face that is found."""

from __future__ import annotations

from pathlib import Path

import dlib
import numpy as np
import pyarrow.parquet as pq
import pytest

from contracts.extractor import ExtractorContract
from media.drawn_face import drawn_face
from withhold.media.decode.pictures import decode_picture
from withhold.media.extractors.dlib_face import NETWORK, DlibFace, DlibFaceConfig
from withhold.records.samples import BadMedia, Picture, Sample


class TestDlibFace(ExtractorContract):
    @classmethod
    def make(cls) -> DlibFace:
        return DlibFace()

    @classmethod
    def samples(cls, n: int, seed: int) -> list[Sample]:
        return [Picture(drawn_face(10 * seed + i, 160 + 20 * (i % 3))) for i in range(n)]

    def test_the_same_numbers_as_dlib(self) -> None:
        samples, x = self.known()
        chips = [self.extractor().prepare(sample) for sample in samples[:2]]
        network = dlib.face_recognition_model_v1(str(NETWORK.locate()))
        for chip, mine in zip(chips, x, strict=False):
            assert chip.shape == (150, 150, 3)
            np.testing.assert_allclose(network.compute_face_descriptor(chip), mine, atol=1e-4)

    def test_the_face_is_what_counts_and_not_where_it_is(self) -> None:
        face = drawn_face(side=240)
        pixels = np.full((400, 600, 3), face[0, 0], np.uint8)
        pixels[80:320, 300:540] = face
        alone, placed = self.features([Picture(face), Picture(pixels)])
        assert np.linalg.norm(alone - placed) < 0.2

    def test_a_small_picture_is_made_larger(self) -> None:
        small, large = self.features([Picture(drawn_face(side=64)), Picture(drawn_face(side=256))])
        assert np.linalg.norm(small - large) < 0.6

    def test_no_face(self) -> None:
        rng = np.random.default_rng(0)
        for pixels in (
            rng.integers(0, 256, (200, 200, 3), dtype=np.uint8),
            np.zeros((2, 900, 3), np.uint8),
        ):
            with pytest.raises(BadMedia, match="no face found"):
                self.extractor().prepare(Picture(pixels))

    def test_the_whole_picture_is_the_face_if_told_so(self) -> None:
        whole = DlibFace(DlibFaceConfig(faces="whole"))
        cropped = np.ascontiguousarray(drawn_face()[75:205, 50:180])
        found, told = (
            self.features([Picture(drawn_face())]),
            self.features([Picture(cropped)], whole),
        )
        assert np.linalg.norm(found - told) < 0.3
        noise = np.random.default_rng(0).integers(0, 256, (50, 50, 3), dtype=np.uint8)
        assert whole.prepare(Picture(noise)).shape == (150, 150, 3)


@pytest.mark.realdata
def test_most_real_faces_are_found(realdata: Path) -> None:
    table = pq.read_table(realdata / "utkface_12000_64px.parquet", columns=["jpeg"])
    extractor, found = DlibFace(), 0
    for data in table["jpeg"].slice(0, 50).to_pylist():
        try:
            extractor.prepare(decode_picture(data))
            found += 1
        except BadMedia:
            pass
    assert found >= 42
