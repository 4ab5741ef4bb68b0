from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from media_support import constant, write_wav
from withhold.core.errors import UserError
from withhold.records.readers import open_media
from withhold.records.readers.media_folder import MediaFolder
from withhold.records.readers.media_table import MediaTable
from withhold.records.readers.pixel_arrays import PixelArrays


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_wav(tmp_path / "sounds" / "a.wav", constant(0.1))
    pq.write_table(pa.table({"path": ["sounds/a.wav"]}), "list.parquet")
    np.savez("pixels.npz", pixels=np.zeros((2, 4, 4), np.uint8))


@pytest.mark.usefixtures("place")
def test_by_what_is_there():
    assert isinstance(open_media("sounds", "sound"), MediaFolder)
    assert isinstance(open_media("list.parquet", "sound"), MediaTable)
    assert isinstance(open_media("pixels.npz", "image"), PixelArrays)


@pytest.mark.usefixtures("place")
@pytest.mark.parametrize(
    ("path", "options", "told"),
    [
        ("sounds", {"column": "c"}, "is a folder and has no column 'c'"),
        ("list.parquet", {"pattern": "{a}"}, "--pattern reads file names in a folder"),
        ("sound", {}, "no such file or folder: sound; did you mean 'sounds'?"),
        ("no/where", {}, "no such file or folder: no/where"),
        ("lits.parquet", {}, "no such file or folder: lits.parquet; did you mean 'list.parquet'"),
        ("sounds/a.wav", {}, "is one file of media; name its folder"),
    ],
)
def test_mistakes(path, options, told):
    with pytest.raises(UserError) as caught:
        open_media(path, "sound", **options)
    assert told in str(caught.value)
