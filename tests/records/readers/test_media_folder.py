from __future__ import annotations

import os

import pytest

from media_support import constant, write_wav
from withhold.core.errors import UserError
from withhold.records.readers.media_folder import MediaFolder, file_names
from withhold.records.samples import BadMedia


@pytest.fixture
def root(tmp_path):
    for name in ("b/2.wav", "a/1.wav", "a/10.WAV", "a/2.flac"):
        write_wav(tmp_path / "sounds" / name, constant(0.1))
    return tmp_path / "sounds"


def read(root, kind="sound", **how):
    return MediaFolder.read(root, kind, **how)


def names(folder):
    return [item.name for item in folder.items()]


def test_files_of_one_kind_in_order_of_name(root):
    (root / "a" / "notes.txt").write_text("x")
    folder = read(root)
    assert names(folder) == ["a/1.wav", "a/10.WAV", "a/2.flac", "b/2.wav"]
    assert (len(folder), folder.others, folder.name) == (4, 1, "sounds")
    assert [item.content for item in folder.items(2)] == [root / "a/2.flac", root / "b/2.wav"]
    assert len(folder.labels()) == 4


def test_the_first_folder_is_a_label_where_every_file_has_one(root):
    rows = [dict(item.labels) for item in read(root).items()]
    assert rows[0] == {"file": "a/1", "folder": "a"}
    assert [row["folder"] for row in rows] == ["a", "a", "a", "b"]
    write_wav(root / "top.wav", constant(0.1))
    assert read(root).schema.names == ["file"]


def test_more_than_a_thousand_files(tmp_path):
    for i in range(2050):
        (tmp_path / f"{i:04d}.txt").write_text("x")
    folder = read(tmp_path, "text")
    for start in (0, 1023, 1024, 1500, 2050):
        assert names(folder)[start:] == [item.name for item in folder.items(start)]


def test_hidden_files_and_folders_are_left_out(root):
    write_wav(root / ".hidden.wav", constant(0.1))
    write_wav(root / ".git" / "x.wav", constant(0.1))
    assert len(read(root)) == 4
    assert read(root).others == 0


def test_a_folder_with_the_name_of_a_file_is_a_folder(root):
    write_wav(root / "z.wav" / "in.wav", constant(0.1))
    (root / "empty.wav").mkdir()
    assert names(read(root))[-1] == "z.wav/in.wav"
    assert len(read(root)) == 5


def test_links_in_circles_end(root):
    (root / "a" / "up").symlink_to(root)
    (root / "b" / "again").symlink_to(root / "a")
    (root / "b" / "self").symlink_to("self")
    (root / "loop.wav").symlink_to("loop.wav")
    (root / "gone.wav").symlink_to("nowhere.wav")
    folder = read(root)
    assert names(folder) == [
        "a/1.wav", "a/10.WAV", "a/2.flac", "b/2.wav", "gone.wav", "loop.wav"
    ]  # fmt: skip
    assert folder.stamp() == read(root).stamp()
    assert folder.digest() == read(root).digest()


def test_a_link_to_a_folder_elsewhere_is_followed_once(root, tmp_path):
    write_wav(tmp_path / "other" / "far.wav", constant(0.1))
    for name in ("one", "two"):
        (root / name).symlink_to(tmp_path / "other")
    found = names(read(root, allow_outside=True))
    assert [n for n in found if "far" in n] == ["one/far.wav"]


@pytest.mark.parametrize("name", ["größe 😀.wav", 'a,b\n"c".wav', " x .wav", "-o.wav"])
def test_odd_names(tmp_path, name):
    write_wav(tmp_path / "s" / name, constant(0.1))
    item = next(read(tmp_path / "s").items())
    assert item.name == name
    assert item.labels["file"] == name.removesuffix(".wav")
    assert item.content.exists()


def test_names_that_are_no_utf8(tmp_path):
    for folder in (b"caf\xe9", b"th\xe9"):
        os.makedirs(os.fsencode(tmp_path) + b"/" + folder)
        path = os.fsdecode(os.fsencode(tmp_path) + b"/" + folder + b"/na\xefve_7.wav")
        write_wav(type(tmp_path)(path), constant(0.1))
    folder = read(tmp_path)
    for item in folder.items():
        assert item.content.exists()
        assert "�" in item.labels["file"]
        assert "�" in item.labels["folder"]
    assert folder.stamp() == read(tmp_path).stamp()
    assert folder.digest() == read(tmp_path).digest()
    rows = read(tmp_path, pattern="{who}/{what}_{n}").labels().to_pylist()
    assert rows[0] == {"file": "caf�/na�ve_7", "who": "caf�", "what": "na�ve", "n": 7}


def test_a_pattern_gives_labels_and_misfits_their_reason(root):
    write_wav(root / "b" / "x.wav", constant(0.1))
    folder = read(root, pattern="{who}/{take}.wav")
    items = list(folder.items())
    assert folder.schema.names == ["file", "who", "take"]
    assert [item.labels["take"] for item in items] == ["1", "10", None, "2", "x"]
    assert isinstance(items[2].content, BadMedia)
    assert "does not match the pattern" in str(items[2].content)
    assert folder.stamp() != read(root).stamp()
    # The same columns, read from other places.
    two = read(root, pattern="{take}/{who}.wav"), read(root, pattern="{who}/{take}.wav")
    assert two[0].stamp() != two[1].stamp()


def test_file_names_lose_their_suffix_where_they_stay_apart():
    assert file_names(["a.x/1.wav", "b.wav", "c"]) == ["a.x/1", "b", "c"]
    assert file_names(["a.wav", "a.flac"]) == ["a.wav", "a.flac"]
    assert file_names(["", ".", "..", "/", ".wav"]) == ["", ".", "..", "/", ".wav"]


def test_the_stamp_tells_changes(root):
    first, digest = read(root).stamp(), read(root).digest()
    assert read(root).stamp() == first
    os.utime(root / "a/1.wav", ns=(1, 1))
    touched = read(root)
    assert touched.stamp() != first
    assert touched.digest() == digest
    before = os.stat(root / "a/1.wav").st_mtime_ns
    write_wav(root / "a/1.wav", constant(0.2))
    os.utime(root / "a/1.wav", ns=(before, before))
    assert read(root).stamp() == touched.stamp()  # the limit of what is quick
    assert read(root).digest() != digest
    write_wav(root / "new.wav", constant(0.1))
    assert read(root).stamp() != touched.stamp()


def test_images_are_clips_that_stand_still(tmp_path):
    for name in ("a.mp4", "b.jpg"):
        (tmp_path / name).write_bytes(b"x")
    assert names(read(tmp_path, "clip")) == ["a.mp4", "b.jpg"]
    assert names(read(tmp_path, "clip", stills=False)) == ["a.mp4"]


def test_mistakes(tmp_path, root):
    (tmp_path / "none").mkdir()
    with pytest.raises(UserError, match=r"holds no sound files \(\.aif, .*\)$"):
        read(tmp_path / "none")
    with pytest.raises(UserError, match=r"holds no image files .*; sound files in it: 4"):
        read(root, "image")
    (tmp_path / "none" / "x.zip").write_bytes(b"x")
    with pytest.raises(UserError, match="; files of other kinds: 1"):
        read(tmp_path / "none")
    with pytest.raises(UserError, match=r"matches no file of .*, e.g. a/1.wav"):
        read(root, pattern="{a}-{b}")
    with pytest.raises(UserError, match="'file' is the column of file names"):
        read(root, pattern="{file}/*")


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_folder_that_cannot_be_read_is_listed(root):
    (root / "b").chmod(0)
    try:
        bad = [item for item in read(root).items() if isinstance(item.content, BadMedia)]
        assert [(item.name, str(item.content)) for item in bad] == [
            ("b", "cannot be read: Permission denied")
        ]
    finally:
        (root / "b").chmod(0o755)


def test_a_folder_that_goes_away_is_listed(root, monkeypatch):
    real = os.scandir

    def scandir(path):
        if str(path).endswith("/b"):
            raise PermissionError(13, "Permission denied", str(path))
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    items = list(read(root).items())
    assert [item.name for item in items] == ["a/1.wav", "a/10.WAV", "a/2.flac", "b"]
    assert str(items[-1].content) == "cannot be read: Permission denied"
    monkeypatch.setattr(os, "scandir", lambda path: scandir(f"{path}/b"))
    with pytest.raises(UserError, match="cannot be read: Permission denied"):
        read(root)
