"""UTKFace: what is said where it cannot be read, and what the real file holds."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from withhold.core.errors import UserError
from withhold.core.progress import Silent
from withhold.datasets.public import public
from withhold.datasets.utkface import AGES, FILE, GENDERS, RACES, read_faces


def test_without_pillow(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(UserError, match=r'needs the package pillow: pip install "withhold\[media'):
        read_faces(tmp_path / FILE, Silent())


def test_without_the_file(tmp_path: Path) -> None:
    pytest.importorskip("PIL.Image", reason="pillow is not installed")
    with pytest.raises(UserError, match=rf"cannot read .*{FILE}"):
        read_faces(tmp_path / FILE, Silent())


@pytest.mark.realdata
def test_the_real_faces(realdata: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("PIL.Image", reason="pillow is not installed")
    monkeypatch.setenv("WITHHOLD_DATA", str(realdata))
    data = public("utkface")
    assert data.x.shape == (12_000, 32 * 32)
    assert data.x.min() >= 0
    assert 0.9 < data.x.max() <= 1
    wanted = {"gender": GENDERS, "race": RACES, "age": tuple(AGES.values())}
    assert data.attribute_names == tuple(wanted)
    for name, classes in wanted.items():
        assert set(data.attribute(name).classes) == set(classes)
        assert data.attribute(name).missing == 0
    parts = data.parts
    assert parts is not None
    assert [int((parts == part).sum()) for part in ("train", "val", "test")] == [7200, 2400, 2400]
    women = data.attribute("gender").codes == data.attribute("gender").classes.index("female")
    for part in ("train", "val", "test"):
        assert women[parts == part].mean() == pytest.approx(women.mean(), abs=1e-3)
    # The split belongs to the data and not to a run.
    again = data.without(["split"]).with_split(stratify=["gender"])
    assert np.array_equal(again.parts, parts)
