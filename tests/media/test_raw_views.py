from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest

from media_support import RATE, Brightness, ClipBrightness, Mean, sounds, videos
from support import Recorder
from withhold.core.errors import UserError
from withhold.core.progress import Silent
from withhold.media.augmentations import view_of
from withhold.media.cutting import Cutting
from withhold.media.extract_features import extract
from withhold.media.raw_views import MediaViews
from withhold.records.readers import Samples, Selection
from withhold.records.samples import BadMedia, Picture, Sound


@pytest.fixture(scope="module")
def data():
    """40 tones, each a tenth higher than the one before, in a little noise."""
    rng = np.random.default_rng(0)
    waves = []
    for i, n in enumerate(rng.integers(2000, 6000, 40)):
        wave = np.sin(2 * np.pi * 80 * 1.1**i * np.arange(n) / RATE)
        waves.append(Sound((wave + 0.01 * rng.standard_normal(n)).astype(np.float32), RATE))
    return extract(Samples(waves, pa.table({"n": np.arange(40)}), "sound"))


def views(raw, rows, seed=0):
    return raw.views(np.asarray(rows), seed=seed, progress=Silent())


def test_two_views_of_each_clip_that_differ_and_are_still_that_clip(data):
    rows = np.random.default_rng(0).permutation(40)[:30]
    first, second = views(data.raw, rows)
    plain = data.x
    for view in (first, second):
        assert view.shape == (30, 1024)
        assert np.allclose(np.linalg.norm(view, axis=1), 1, atol=1e-5)
        assert np.abs(view - plain[rows]).max() > 1e-3
    # What is left of a tone is that tone; silence in half of it is no longer.
    # (The seam where a stretch was cut out sounds like a click, louder than the lowest tones.)
    nearest = (first @ plain.T).argmax(axis=1)
    assert (nearest == rows)[rows > 7].all()
    assert (nearest == rows).mean() > 0.8
    assert ((first * plain[rows]).sum(axis=1) > (second * plain[rows]).sum(axis=1)).all()


def test_the_seed_decides(data):
    one, two, other = (views(data.raw, np.arange(40), seed) for seed in (1, 1, 2))
    assert np.array_equal(one, two)
    for which in (0, 1):
        assert (np.abs(one[which] - other[which]).max(axis=1) > 1e-4).all()


def test_a_record_has_its_view_whatever_is_asked_for_beside_it(data):
    everything = views(data.raw, np.arange(40))
    for rows in ([7, 3, 30], [39], [5, 5, 0]):
        for some, all_ in zip(views(data.raw, rows), everything, strict=True):
            assert np.abs(some - all_[rows]).max() < 1e-5


def test_some_records_are_those_records(data):
    some = data.rows(np.array([5, 2, 31])).raw
    assert some.places.tolist() == [5, 2, 31]
    assert np.abs(some.features(np.arange(3)) - data.x[[5, 2, 31]]).max() < 1e-5
    for one, two in zip(views(some, [2, 0]), views(data.raw, [31, 5]), strict=True):
        assert np.abs(one - two).max() < 1e-5
    assert some.fingerprint() != data.raw.fingerprint()
    again = data.rows(np.array([0, 5, 2, 31])).rows(np.array([1, 2, 3])).raw
    assert again.fingerprint() == some.fingerprint()


def test_progress_counts_every_clip(data):
    seen = Recorder()
    data.raw.views(np.arange(40), seed=0, progress=seen)
    assert list(seen.steps.values()) == [40, 40]


def test_several_records_of_one_item():
    found = extract(videos(5), extractor=ClipBrightness(), clips=3)
    raw = found.raw
    assert raw.places.tolist() == [i for i in range(5) for _ in range(3)]
    assert raw.turns.tolist() == [0, 1, 2] * 5
    assert np.abs(raw.features(np.array([14, 0, 7])) - found.x[[14, 0, 7]]).max() < 1e-5


def test_two_instants_of_a_video_belong_to_the_video():
    pytest.importorskip("PIL")
    raw = extract(videos(6), extractor=ClipBrightness()).raw
    whole = views(raw, np.arange(6))
    green = [view[:, 1] for view in whole]
    assert (np.abs(green[0] - green[1]) > 0.2).sum() >= 4  # two times, as good as always
    for some, all_ in zip(views(raw, [4, 1]), whole, strict=True):
        assert np.abs(some - all_[[4, 1]]).max() < 1e-3


def test_windows_of_annotations_stay_where_they_are(tmp_path):
    path = tmp_path / "a.json"
    labels = {"pose": [[0, 19, "sit"], [20, 39, "run"]]}
    path.write_text(json.dumps({f"record {i}": labels for i in range(3)}))
    found = extract(videos(3), extractor=ClipBrightness(), annotations=path)
    assert found.raw.places.tolist() == [i for i in range(3) for _ in range(4)]
    plain = found.x
    for view in views(found.raw, np.arange(12)):
        # Red is the video and green the time; a grey view has mixed them, most have not.
        coloured = view[:, 2] < 0.5
        assert coloured.sum() >= 6
        assert np.abs(view - plain)[coloured].max() < 1


def test_a_view_that_cannot_be_used_is_the_sample_itself():
    class Careful(Mean):
        def prepare(self, sample):
            if len(sample.samples) < 40:
                raise BadMedia("too short")
            return super().prepare(sample)

    found = extract(sounds(4), extractor=Careful())
    first, second = views(found.raw, np.arange(4))
    assert np.array_equal(first, found.x)  # cropping makes it too short
    assert np.allclose(second[:, 0], found.x[:, 0] / 2, rtol=1e-5)  # half is masked


def test_media_that_are_no_longer_good():
    good, bad = sounds(4), sounds(4)
    bad.samples[2] = Sound(np.full(40, 9, np.float32), RATE)
    raw = extract(good, extractor=Mean()).raw
    spoilt = MediaViews(bad, raw.extractor, raw.cutting, raw.places, raw.turns)
    with pytest.raises(UserError, match=r"record 2 gave features when .* none now: it is too loud"):
        views(spoilt, np.arange(4))
    fewer = MediaViews(good, raw.extractor, raw.cutting, raw.places, raw.turns + 1)
    with pytest.raises(UserError, match="gave more records when they were extracted than now"):
        views(fewer, np.arange(4))


def test_the_fingerprint_tells_media_extractors_and_cuttings_apart():
    def raw(media, **how):
        return extract(media, extractor=how.pop("extractor", Mean()), **how).raw

    class Other(Mean):
        name = "other"

    some = [
        raw(sounds(4)),
        raw(Samples(sounds(5).samples[1:], sounds(4).table, "sound")),
        raw(sounds(4), extractor=Other()),
        raw(videos(4), extractor=ClipBrightness()),
        raw(videos(4), extractor=ClipBrightness(), clips=2),
    ]
    prints = [one.fingerprint() for one in some]
    assert len(set(prints)) == len(prints)
    assert raw(sounds(4)).fingerprint() == prints[0]


def test_views_of_pictures_and_of_text():
    pixels = np.random.default_rng(0).integers(0, 256, (9, 8, 3), np.uint8)
    drawn = {
        view_of(Picture(pixels), 0, np.random.default_rng(i)).pixels.tobytes() for i in range(5)
    }
    assert len(drawn) == 5
    media = Samples([Picture(pixels)] * 3, pa.table({"n": range(3)}), "image")
    raw = extract(media, extractor=Brightness()).raw
    first, second = views(raw, np.arange(3))
    assert not np.array_equal(first, second)
    assert len(np.unique(first, axis=0)) == 3  # equal pictures, each with a draw of its own
    with pytest.raises(UserError, match="no views of text"):
        view_of("hello", 0, np.random.default_rng(0))


def test_a_mistake_in_a_worker_comes_out():
    class Words(Mean):
        kind = "text"

        def prepare(self, sample):
            return np.zeros(3, np.float32)

    media = Samples(["a", "b"], pa.table({"n": range(2)}), "text")
    raw = extract(media, extractor=Words()).raw
    with pytest.raises(UserError, match="no views of text"):
        views(raw, np.arange(2))


def test_picked_items():
    picked = Selection(sounds(300), np.array([2, 3, 255, 256, 299]))
    assert len(picked) == 5
    for start in range(6):
        found = [item.labels["n"] for item in picked.items(start)]
        assert found == [2, 3, 255, 256, 299][start:]
    assert picked.labels()["n"].to_pylist() == [2, 3, 255, 256, 299]
    assert (picked.kind, picked.schema) == ("sound", sounds(1).schema)
    assert list(Selection(sounds(3), np.array([], np.int64)).items()) == []
    assert (
        MediaViews.of(sounds(3), Mean(), Cutting("sound"), np.array([], np.int64)).turns.size == 0
    )
