"""Links in the way of what is written: none is followed to a file that was not named."""

from __future__ import annotations

import pyarrow as pa
import pytest

from media_support import constant, write_wav
from release_support import people
from withhold.core.atomic import write_bytes
from withhold.core.errors import UserError
from withhold.core.progress import Silent
from withhold.media.extract_features import plan
from withhold.media.sinks import open_media_sink
from withhold.media.to_file import extract_to
from withhold.records.readers import open_media
from withhold.records.writers import open_sink


def test_a_partial_name_that_is_a_link_is_not_followed(tmp_path):
    import pyarrow as pa

    precious = tmp_path / "precious"
    precious.write_text("mine")
    for name in (".a.json.partial", ".a.parquet.partial"):
        (tmp_path / name).symlink_to(precious)
    write_bytes(tmp_path / "a.json", b"{}")
    schema = pa.schema([("x", pa.float32())])
    with open_sink(tmp_path / "a.parquet", schema) as sink:
        sink.write(pa.RecordBatch.from_pydict({"x": [1.0]}, schema))
    assert precious.read_text() == "mine"
    assert (tmp_path / "a.json").read_bytes() == b"{}"
    assert not (tmp_path / "a.json").is_symlink()


def test_a_working_folder_that_is_a_link_is_refused(tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / "out.partial").symlink_to(elsewhere)
    (tmp_path / "out.parquet.partial").symlink_to(elsewhere)
    faces = open_media(people(tmp_path / "faces"), "image")
    with (
        pytest.raises(UserError, match=r"out\.partial is a link"),
        open_media_sink(faces, tmp_path / "out", {}, pa.table({})),
    ):
        pass
    write_wav(tmp_path / "s" / "a.wav", constant(0.1, 4000))
    with pytest.raises(UserError, match=r"out\.parquet\.partial is a link"):
        extract_to(plan(tmp_path / "s"), tmp_path / "out.parquet", progress=Silent())
    assert not any(elsewhere.iterdir())
