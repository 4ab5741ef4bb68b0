"""A table of paths names files below its own folder, and no others unless that is allowed."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from media_support import constant, write_wav
from withhold.core.errors import UserError
from withhold.media.extract_features import extract
from withhold.records.readers import open_media
from withhold.records.readers.fence import Fence
from withhold.records.samples import BadMedia


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with one sound in it, and a sound beside it that no table in it may name."""
    write_wav(tmp_path / "secret.wav", constant(0.1, 4000))
    write_wav(tmp_path / "media" / "a" / "in.wav", constant(0.1, 4000))
    return tmp_path / "media"


def table(place: Path, *paths: str | None, suffix: str = ".parquet") -> Path:
    found = place / f"list{suffix}"
    if suffix == ".csv":
        found.write_text("path,who\n" + "".join(f'"{p}",x\n' for p in paths))
    else:
        pq.write_table(pa.table({"path": pa.array(paths, pa.string())}), found)
    return found


def outside(place: Path, how: str) -> str:
    """A path in the table that leads to the file beside the folder."""
    secret = place.parent / "secret.wav"
    if how == "absolute":
        return str(secret)
    if how == "dots":
        return "../secret.wav"
    if how == "dots below":
        return "a/../../secret.wav"
    if how == "a link":
        (place / "link.wav").symlink_to(secret)
        return "link.wav"
    (place / "far").symlink_to(place.parent)
    return "far/secret.wav"


HOWS = ["absolute", "dots", "dots below", "a link", "a linked folder"]


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize("how", HOWS)
def test_what_leads_out_is_refused_by_row_and_path(place, how, suffix):
    path = outside(place, how)
    with pytest.raises(UserError) as caught:
        open_media(table(place, "a/in.wav", path, suffix=suffix), "sound")
    told = str(caught.value)
    assert "\n" not in told
    assert f"list{suffix}, row 1" in told
    assert repr(path) in told
    assert "--allow-outside" in told


@pytest.mark.parametrize("how", HOWS)
def test_it_is_followed_where_that_is_allowed(place, how):
    listed = table(place, "a/in.wav", outside(place, how))
    items = list(open_media(listed, "sound", allow_outside=True).items())
    assert os.path.samefile(items[1].content, place.parent / "secret.wav")
    assert len(extract(listed, extractor="logmel", allow_outside=True)) == 2


def test_what_stays_inside_is_read(place):
    (place / "again.wav").symlink_to("a/in.wav")
    paths = ["a/in.wav", "a/../a/in.wav", str(place / "a" / "in.wav"), "again.wav", None, "gone"]
    items = list(open_media(table(place, *paths), "sound").items())
    for item in items[:4]:
        assert os.path.samefile(item.content, place / "a" / "in.wav")


def test_a_folder_reached_by_a_link_is_its_own_place(place):
    table(place, "a/in.wav", str(place / "a" / "in.wav"))
    (place.parent / "link").symlink_to(place)
    assert len(open_media(place.parent / "link" / "list.parquet", "sound")) == 2


def test_a_folder_whose_name_begins_alike_is_outside(place):
    write_wav(place.parent / "media-2" / "x.wav", constant(0.1))
    with pytest.raises(UserError, match="row 0"):
        open_media(table(place, "../media-2/x.wav"), "sound")


def test_a_link_that_appears_later_is_refused_when_it_is_opened(place):
    stored = open_media(table(place, "a/in.wav"), "sound")
    (place / "a" / "in.wav").unlink()
    (place / "a" / "in.wav").symlink_to(place.parent / "secret.wav")
    with pytest.raises(UserError, match="row 0"):
        list(stored.items())


def test_paths_in_structs_are_held_to_the_same(place):
    rows = [{"bytes": b"RIFF", "path": "/etc/passwd"}, {"bytes": None, "path": "../secret.wav"}]
    kind = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    path = place / "s.parquet"
    pq.write_table(pa.table({"audio": pa.array(rows, kind)}), path)
    items = open_media(path, "sound").items()
    assert next(items).content == b"RIFF"  # the path is not needed
    with pytest.raises(UserError, match=r"s\.parquet, row 1 .*\.\./secret\.wav"):
        next(items)
    assert len(list(open_media(path, "sound", allow_outside=True).items())) == 2


def test_the_root_of_the_file_system_is_a_folder_too():
    assert Fence(Path("/list.csv")).resolve("etc/passwd", 0) == Path("/etc/passwd")


@pytest.fixture
def linked(place: Path) -> Path:
    """A folder with a sound of its own, and two links that lead out: to a file, to a folder."""
    (place / "link.wav").symlink_to(place.parent / "secret.wav")
    write_wav(place.parent / "elsewhere" / "far.wav", constant(0.2, 4000))
    (place / "a" / "far").symlink_to(place.parent / "elsewhere")
    (place / "same.wav").symlink_to("a/in.wav")
    return place


def test_links_of_a_folder_that_lead_out_are_skipped_and_listed(linked):
    folder = open_media(linked, "sound")
    bad = {i.name: str(i.content) for i in folder.items() if isinstance(i.content, BadMedia)}
    assert sorted(bad) == ["a/far", "link.wav"]
    assert all(
        "leads out of the folder" in why and "--allow-outside" in why for why in bad.values()
    )
    read = [i.name for i in folder.items() if i.name not in bad]
    assert read == ["a/in.wav", "same.wav"]
    assert len(extract(linked, extractor="logmel")) == 2


def test_a_folder_of_links_that_lead_out_is_refused_in_one_line(tmp_path, linked):
    (tmp_path / "only").mkdir()
    (tmp_path / "only" / "x.wav").symlink_to(tmp_path / "secret.wav")
    with pytest.raises(
        UserError, match=r"x\.wav.*leads out of the folder.*--allow-outside"
    ) as caught:
        open_media(tmp_path / "only", "sound")
    assert "\n" not in str(caught.value)


def test_links_of_a_folder_are_followed_where_that_is_allowed(linked):
    folder = open_media(linked, "sound", allow_outside=True)
    assert [i.name for i in folder.items()] == ["a/far/far.wav", "a/in.wav", "link.wav", "same.wav"]
    assert not folder.bad
    assert len(extract(linked, extractor="logmel", allow_outside=True)) == 4


def test_what_a_link_leads_to_does_not_enter_the_digest(linked):
    before = open_media(linked, "sound").digest()
    write_wav(linked.parent / "secret.wav", constant(0.7, 4000))
    assert open_media(linked, "sound").digest() == before


def test_a_link_that_appears_in_a_folder_later_is_not_followed(linked):
    folder = open_media(linked, "sound")
    (linked / "a" / "in.wav").unlink()
    (linked / "a" / "in.wav").symlink_to(linked.parent / "secret.wav")
    later = {i.name: i.content for i in folder.items()}
    assert isinstance(later["a/in.wav"], BadMedia)


def test_a_folder_of_media_that_is_itself_a_link_is_its_own_place(linked):
    (linked.parent / "door").symlink_to(linked)
    assert len(extract(linked.parent / "door", extractor="logmel")) == 2
