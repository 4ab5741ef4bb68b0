"""Every reader of files: a valid file to begin from, how it is damaged, and how it is read.

A reader keeps its contract where it returns or raises UserError (BadMedia for one medium). Any
other exception, a crash, a hang or a gigabyte of memory is a finding.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import struct
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from fuzz.bundle_targets import (
    MEMBERS,
    certificate_seed,
    read_certificate,
    reader_of,
    seed_of,
)
from withhold.core.errors import UserError
from withhold.records.samples import BadMedia

REFUSALS = (UserError, BadMedia)
Wrap = Callable[[bytes], bytes]


@dataclass(frozen=True)
class Target:
    """A reader. `seeds` gives bytes to damage, and how the damaged bytes become a file: a header
    inside an archive is damaged before it is packed, so that checksums are right."""

    name: str
    suffix: str
    seeds: Callable[[], list[tuple[bytes, Wrap]]]
    read: Callable[[Path], Any]
    weight: int = 4  # how many inputs a run gives it, relative to others


def read_input(target: Target, data: bytes, folder: Path) -> str:
    """Read one input as its reader would: "read" or "refused"; anything else is raised."""
    path = folder / f"input{target.suffix}"
    path.write_bytes(data)
    try:
        target.read(path)
    except REFUSALS as error:
        if isinstance(error, UserError) and not str(error).strip():
            raise AssertionError("a refusal without a word") from error
        return "refused"
    return "read"


def _as_it_is(data: bytes) -> bytes:
    return data


# --- tables ---


def _table(rows: int = 40) -> pa.Table:
    rng = np.random.default_rng(0)
    x = pa.FixedSizeListArray.from_arrays(pa.array(rng.standard_normal(rows * 3).astype("f4")), 3)
    return pa.table(
        {
            "x": x,
            "lists": pa.array([[1.0, 2.0]] * rows, pa.list_(pa.float64())),
            "who": pa.array([f"person {i % 5}" for i in range(rows)]),
            "kind": pa.array(["a", "b"] * (rows // 2)).dictionary_encode(),
            "n": pa.array([None if i == 3 else i % 4 for i in range(rows)], pa.int64()),
            "day": pa.array(range(rows), pa.date32()),
            "at": pa.array(range(rows), pa.timestamp("ns", "UTC")),
            "flag": pa.array([i % 2 == 0 for i in range(rows)]),
            "blob": pa.array([bytes([i]) for i in range(rows)]),
            "split": pa.array((["train"] * 6 + ["val", "test"] * 2) * (rows // 10)),
        }
    )


def _parquet(table: pa.Table, **how: Any) -> bytes:
    out = io.BytesIO()
    pq.write_table(table, out, **how)
    return out.getvalue()


def _parquet_seeds() -> list[tuple[bytes, Wrap]]:
    table = _table()
    found = []
    for how in (
        {"compression": "none", "use_dictionary": False},
        {"compression": "zstd", "row_group_size": 16},
        {"compression": "snappy", "data_page_version": "2.0"},
        {"compression": "gzip", "write_statistics": False, "store_schema": False},
    ):
        whole = _parquet(table, **how)
        length = struct.unpack("<I", whole[-8:-4])[0]
        before, footer = whole[: -8 - length], whole[-8 - length : -8]

        def with_footer(data: bytes, before: bytes = before) -> bytes:
            return before + data + struct.pack("<I", len(data)) + b"PAR1"

        found += [(whole, _as_it_is), (footer, with_footer), (footer, with_footer)]
    return found


def _read_dataset(path: Path) -> None:
    from withhold.records.dataset import Dataset

    for spec in ("x", "n,f_*"):
        try:
            data = Dataset.read(path, features=spec)
        except UserError:
            if spec != "x":
                raise
            continue
        assert np.isfinite(data.x).all()
        data.labels()
        data.digest()
        data.rows(np.arange(min(3, len(data))))
        return


_CSV = (
    "f_0,f_1,who,flag,n,day\n"
    + "".join(
        f'{i / 7},{-i}e-3,"per, son {i % 3}",{str(i % 2 == 0).lower()},{i % 4},2024-01-{i + 1:02}\n'
        for i in range(20)
    )
).encode()


def _gzip_seeds() -> list[tuple[bytes, Wrap]]:
    return [(gzip.compress(_CSV, mtime=0), _as_it_is), (_CSV, partial(gzip.compress, mtime=0))]


def _read_csv(path: Path) -> None:
    from withhold.records.dataset import Dataset

    data = Dataset.read(path, features="f_*")
    data.labels()
    data.digest()


def _npy(array: Any) -> bytes:
    out = io.BytesIO()
    np.lib.format.write_array(out, np.asarray(array), allow_pickle=False)
    return out.getvalue()


def _zip(member: bytes, *, name: str = "x", others: dict[str, bytes] | None = None) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for n, data in {name: member, **(others or {})}.items():
            archive.writestr(zipfile.ZipInfo(f"{n}.npy"), data)
    return out.getvalue()


def _npz_seeds() -> list[tuple[bytes, Wrap]]:
    rng = np.random.default_rng(0)
    x = _npy(rng.standard_normal((12, 3)).astype(np.float32))
    who = _npy(np.array(["a", "bc", "ä"] * 4))
    when = _npy(np.array(["2024-01-01"] * 12, "M8[D]"))
    code = _npy(np.array([b"a", b"b"] * 6))
    fortran = _npy(np.asfortranarray(rng.integers(0, 9, (12, 3))))
    rest = {"who": who, "day": when, "code": code, "wide": fortran}
    whole = _zip(x, others=rest)
    return [
        (whole, _as_it_is),
        (x, partial(_zip, others=rest)),
        (x[:128], lambda head: _zip(head + x[128:], others=rest)),
        *((data, partial(_zip, name=name, others={"x": x})) for name, data in rest.items()),
    ]


def _frame_seeds() -> list[tuple[bytes, Wrap]]:
    out = io.BytesIO()
    with pa.ipc.new_stream(out, _table().schema) as writer:
        writer.write_table(_table())
    return [(out.getvalue(), _as_it_is)]


def _read_frames(path: Path) -> None:
    """A frame of any columns in memory: the bytes choose the values, not Arrow's own buffers."""
    import pandas as pd
    import polars as pl

    from withhold.records.dataset import Dataset

    raw = path.read_bytes()
    n = 1 + raw[0] % 30 if raw else 1
    padded = (raw * (1 + 64 * n // max(len(raw), 1)) + bytes(64 * n))[: 64 * n]
    rng = np.frombuffer(padded, np.uint8)
    columns = {
        "x": np.frombuffer(padded[: 4 * n], np.float32),
        "big": np.frombuffer(padded[: 8 * n], np.float64),
        "n": np.frombuffer(padded[8 * n : 16 * n], np.int64),
        "when": np.frombuffer(padded[16 * n : 24 * n], "M8[ns]"),
        "text": [bytes(rng[4 * i : 4 * i + 4]).decode("latin-1") for i in range(n)],
        "odd": [[None, 1.5, "a", b"b", True][v % 5] for v in rng[:n]],
        "blob": [bytes(rng[i : i + 3]) for i in range(n)],
    }
    pick = [name for i, name in enumerate(columns) if rng[i] % 3 or name == "x"]
    for make in (pd.DataFrame, partial(pl.DataFrame, strict=False), pa.table):
        try:
            frame = make({name: columns[name] for name in pick})
        except Exception:
            continue  # the library itself does not make such a frame
        try:
            data = Dataset.read(frame)
        except UserError:
            continue
        data.labels()
        data.digest()


# --- media in folders, tables and arrays ---


def _walk(collection: Any) -> None:
    from withhold.media.cutting import decode

    len(collection)
    collection.labels()
    collection.stamp()
    for item in collection.items():
        if isinstance(item.content, BadMedia):
            continue
        try:
            decode(item.content, collection.kind)
        except BadMedia:
            continue
    collection.digest()


def _read_folder(path: Path) -> None:
    """The bytes are a pattern, and the names of files."""
    import shutil

    from withhold.records.readers import open_media

    pattern, *names = path.read_bytes().split(b"\n")
    root = path.parent / "folder"
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir()
    for name in names[:20]:
        safe = b"/".join(p for p in name.split(b"/") if p not in (b"", b".", b".."))
        try:
            place = Path(str(root) + "/" + safe.decode("utf-8", "surrogateescape"))
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(b"some words")
        except (OSError, ValueError):
            continue  # the system has no such name
    text = pattern.decode("utf-8", "surrogateescape")
    for how in (text, None):
        try:
            _walk(open_media(root, "text", pattern=how))
        except UserError:
            continue


def _read_manifest(path: Path) -> None:
    from withhold.records.readers import open_media

    (path.parent / "a.txt").write_text("words")
    _walk(open_media(path, "text", column="path"))


def _manifest_seeds() -> list[tuple[bytes, Wrap]]:
    rows = [["path", "who", "n"], *([f"a.txt", f"p{i}", i] for i in range(5))]  # noqa: F541
    out = io.StringIO()
    csv.writer(out).writerows(rows)
    return [(out.getvalue().encode(), _as_it_is)]


def _read_names(path: Path) -> None:
    from withhold.records.readers import open_media

    root = path.parent / "named"
    root.mkdir(exist_ok=True)
    for i in range(3):
        (root / f"0000000{i}.txt").write_text("words")
    _walk(open_media(root, "text", names=path, pattern="{who}_{n}"))


_NAMES = (
    "released,original\n" + "".join(f"0000000{i}.txt,anna_{i}.txt\n" for i in range(3))
).encode()


def _stored_seeds(column: str, values: list[Any], kind: Any = None) -> Callable[[], Any]:
    def seeds() -> list[tuple[bytes, Wrap]]:
        table = pa.table(
            {column: pa.array(values, kind), "who": [str(i) for i in range(len(values))]}
        )
        whole = _parquet(table, compression="none", use_dictionary=False)

        def inside(data: bytes) -> bytes:
            changed = pa.array([data, *values[1:]], kind)
            return _parquet(pa.table({column: changed, "who": table["who"]}))

        bytes_inside = [(values[0], inside)] if isinstance(values[0], bytes) else []
        return [(whole, _as_it_is), *bytes_inside]

    return seeds


def _read_stored(kind: Any, path: Path) -> None:
    from withhold.records.readers import open_media

    _walk(open_media(path, kind, rate=8000))


def _pixel_seeds() -> list[tuple[bytes, Wrap]]:
    pixels = _npy(np.zeros((4, 6, 5, 3), np.uint8))
    who = _npy(np.array(["a", "b"] * 2))
    return [
        (_zip(pixels, others={"who": who}), _as_it_is),
        (pixels, partial(_zip, others={"who": who})),
        (pixels[:128], lambda head: _zip(head + pixels[128:], others={"who": who})),
        (who, partial(_zip, name="who", others={"x": pixels})),
    ]


# --- single media ---


@cache
def _picture(form: str) -> bytes:
    from PIL import Image

    rng = np.random.default_rng(1)
    pixels = rng.integers(0, 256, (24, 20, 3), dtype=np.uint8)
    image, more = Image.fromarray(pixels), {}
    if form == "GIF":
        image = image.convert("P")
    if form == "JPEG":
        exif = Image.Exif()
        exif[0x0112] = 6
        more = {"exif": exif}
    if form == "TIFF":
        more = {"compression": "tiff_lzw"}
    out = io.BytesIO()
    image.save(out, form, **more)
    return out.getvalue()


def _png_with_checksums(data: bytes) -> bytes:
    """Chunks get the checksum of what they hold now, else every damage is found by it alone."""
    out, at = bytearray(data[:8]), 8
    while at + 12 <= len(data):
        length = min(struct.unpack(">I", data[at : at + 4])[0], len(data) - at - 12)
        body = data[at + 4 : at + 8 + length]
        out += data[at : at + 4] + body + struct.pack(">I", zlib.crc32(body))
        at += 12 + length
    return bytes(out + data[at:])


def _picture_seeds() -> list[tuple[bytes, Wrap]]:
    forms = ["PNG", "JPEG", "GIF", "BMP", "WEBP", "TIFF", "PPM", "AVIF"]
    found: list[tuple[bytes, Wrap]] = []
    for form in forms:
        try:
            found.append((_picture(form), _as_it_is))
        except (OSError, KeyError):  # a build of Pillow without it
            continue
    return [
        *found,
        (_picture("PNG"), _png_with_checksums),
        (_picture("PNG")[:60], _png_with_checksums),
    ]


def _read_picture(path: Path) -> None:
    from withhold.media.decode.pictures import decode_picture

    assert decode_picture(path).pixels.ndim == 3


def _sound_seeds() -> list[tuple[bytes, Wrap]]:
    from withhold.media.decode.sounds import encode_sound
    from withhold.records.samples import Sound

    wave = (0.3 * np.sin(np.arange(2000) / 7)).astype(np.float32)
    suffixes = (".wav", ".flac", ".ogg", ".opus", ".mp3", ".aiff", ".au", ".w64", ".caf")
    return [(encode_sound(Sound(wave, 8000), None, suffix), _as_it_is) for suffix in suffixes]


def _read_sound(path: Path) -> None:
    from withhold.media.decode.sounds import decode_sound

    assert np.isfinite(decode_sound(path).samples).all()


def _clip_seeds() -> list[tuple[bytes, Wrap]]:
    from withhold.media.decode.encoded_clips import encode_clip
    from withhold.records.samples import Clip

    frames = np.random.default_rng(2).integers(0, 256, (6, 16, 16, 3), dtype=np.uint8)
    return [
        (encode_clip(Clip(frames), suffix), _as_it_is)
        for suffix in (".mp4", ".avi", ".mkv", ".webm", ".mov")
    ]


def _read_clip(path: Path) -> None:
    from withhold.media.decode.clips import count_frames, decode_clip, each_window
    from withhold.media.windows import centre_window

    decode_clip(path)
    count, _ = count_frames(path)
    list(each_window(path, [centre_window(count, min(count, 4), 1)]))


def _read_text(path: Path) -> None:
    from withhold.media.decode.texts import decode_text

    assert decode_text(path).strip()


# --- documents and weights ---

_ANNOTATIONS = json.dumps(
    {
        "wave_01": {
            "action": "wave",
            "face": [[0, 40, "complete"], [41, 95, "partial"]],
            "skin": [[0, 95, 2]],
            "both": [[3, 4, 1], [4, 9, True]],
            "note": "x",
        },
        "wave_02": {"action": "run", "skin": None, "face": [[5, 9, ["a", "b"]]]},
    }
).encode()


def _read_annotations(path: Path) -> None:
    from withhold.media.annotations import Annotations

    found = Annotations.read(path)
    found.digest()
    for video in list(found.videos)[:5]:
        found.windows(video, 120)
        found.video_labels(video, 120)
        for attribute in found.attributes[:5]:
            pa.array([found.value(video, attribute, 50)], found.type_of(attribute))


_SETTINGS = b"""title: A table
data: adult
method: codebook
seed: 7
config: &c {codes: 16, rounds: [1, 2.5, -3e2], when: 2024-01-02, off: yes}
measure: [sex, income]
rows:
  - {label: one, suppress: sex, config: *c}
  - label: two
    <<: {suppress: income}
"""


def _read_yaml(path: Path) -> None:
    from withhold.bench.recipe import find_recipe
    from withhold.core.settings import read_settings
    from withhold.methods import read_config

    for read in (
        lambda: read_config("codebook", read_settings(path)),
        lambda: find_recipe(str(path)),
    ):
        try:
            read()
        except UserError:
            continue


def _dlib() -> bytes:
    """A small network as dlib writes it; see tests/learn/nets/test_dlib_format.py for the parts."""

    def integers(*values: int) -> bytes:
        out = b""
        for value in values:
            digits = abs(value).to_bytes(max(1, (abs(value).bit_length() + 7) // 8), "little")
            out += bytes([len(digits) | (0x80 if value < 0 else 0)]) + digits
        return out

    def text(value: str) -> bytes:
        return integers(len(value)) + value.encode()

    def tensor(*values: float) -> bytes:
        return integers(2, len(values), 1, 1, 1) + struct.pack(f"<{len(values)}f", *values)

    one = integers(1 << 23, -23)
    left = b"110" + 3 * integers(2, 0, 0, 0, 0)
    con = text("con_4") + tensor(*range(6)) + integers(2, 1, 2, 1, 1, 0, 1)
    con += integers(1, 2, 1, 1, 2) + integers(1, 1, 2, 1, 1) + 4 * one
    affine = text("affine_") + tensor(7, 8, 9, 10) + 2 * integers(1, 1, 2, 1, 1) + integers(0)
    fc = text("fc_2") + integers(1, 2) + tensor(11, 12) + integers(1, 2, 1, 1, 1)
    fc += integers(1, 0, 0, 0, 0) + integers(1) + 4 * one
    head = integers(1) + text("loss_metric_2") + 2 * one
    start = text("input_rgb_image_sized") + 3 * one + integers(150, 300)
    body = con + left + integers(1) + affine + left + text("relu_") + left + fc + left
    return head + integers(2, 2, 2, 3) + start + body


def _read_dlib(path: Path) -> None:
    from withhold.learn.nets.dlib_format import read_network

    read_network(path)


def _safetensors() -> bytes:
    import safetensors.torch
    import torch

    return safetensors.torch.save({"a": torch.zeros(2, 3)})


def _torch_seeds() -> list[tuple[bytes, Wrap]]:
    import torch

    found = []
    for zipped in (True, False):
        out = io.BytesIO()
        torch.save({"a": torch.zeros(2, 3)}, out, _use_new_zipfile_serialization=zipped)
        found.append((out.getvalue(), _as_it_is))
    return found


def _read_weights(path: Path) -> None:
    import torch

    from withhold.media.weights import load_into

    network = torch.nn.Module()
    network.a = torch.nn.Parameter(torch.zeros(2, 3))
    load_into(network, path)


def _note_seeds() -> list[tuple[bytes, Wrap]]:
    note = {
        "name": "logmel",
        "config": {"bands": 128},
        "fingerprint": "",
        "mean": [0.0] * 1024,
        "deviation": [1.0] * 1024,
        "media": {"items": 3, "skipped": [1], "clips": None, "annotated": False},
    }

    def wrap(data: bytes) -> bytes:
        table = pa.table({"x": [1.0]}).replace_schema_metadata({b"withhold.extractor": data})
        return _parquet(table)

    return [(json.dumps(note).encode(), wrap)]


def _read_note(path: Path) -> None:
    from withhold.media.extract_features import plan
    from withhold.media.extraction_note import with_raw_media
    from withhold.records.dataset import Dataset

    root = path.parent / "sounds"
    root.mkdir(exist_ok=True)
    (root / "a.wav").write_bytes(b"RIFF")
    for read in (
        lambda: plan(root, like=path),
        lambda: with_raw_media(Dataset.read(path), root),
    ):
        try:
            read()
        except UserError:
            continue


def _plain(data: bytes) -> Callable[[], list[tuple[bytes, Wrap]]]:
    return lambda: [(data, _as_it_is)]


def _targets() -> list[Target]:
    struct_ = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    wav = b"RIFF" + bytes(60)
    return [
        Target("parquet", ".parquet", _parquet_seeds, _read_dataset, 10),
        Target("csv", ".csv", _plain(_CSV), _read_csv, 6),
        Target("csv-gz", ".csv.gz", _gzip_seeds, _read_csv),
        Target("npz", ".npz", _npz_seeds, _read_dataset, 8),
        Target("frame", ".bin", _frame_seeds, _read_frames),
        Target(
            "folder",
            ".bin",
            _plain(b"{who}_{n}_*.txt\nanna_1_x.txt\nb/ben_2_y.txt"),
            _read_folder,
            3,
        ),
        Target("manifest", ".csv", _manifest_seeds, _read_manifest),
        Target("names", ".csv", _plain(_NAMES), _read_names, 3),
        Target(
            "stored-image",
            ".parquet",
            _stored_seeds("image", [_picture("PNG"), b"x"]),
            partial(_read_stored, "image"),
        ),
        Target(
            "stored-sound",
            ".parquet",
            _stored_seeds("audio", [wav, wav]),
            partial(_read_stored, "sound"),
        ),
        Target(
            "stored-struct",
            ".parquet",
            _stored_seeds("audio", [{"bytes": wav, "path": "a.wav"}, None], struct_),
            partial(_read_stored, "sound"),
        ),
        Target(
            "mulaw",
            ".parquet",
            _stored_seeds("audio_mulaw_8khz", [bytes(range(256)), b""]),
            partial(_read_stored, "sound"),
            3,
        ),
        Target(
            "samples",
            ".parquet",
            _stored_seeds("audio", [[0.5, 0.25], [1.0]], pa.list_(pa.float32())),
            partial(_read_stored, "sound"),
            3,
        ),
        Target("pixels", ".npz", _pixel_seeds, partial(_read_stored, "image")),
        Target("picture", ".img", _picture_seeds, _read_picture, 12),
        Target("sound", ".snd", _sound_seeds, _read_sound, 10),
        Target("clip", ".vid", _clip_seeds, _read_clip, 8),
        Target("text", ".txt", _plain("größe und 😀 words".encode()), _read_text, 2),
        Target("annotations", ".json", _plain(_ANNOTATIONS), _read_annotations),
        Target("settings", ".yaml", _plain(_SETTINGS), _read_yaml),
        Target("dlib", ".dat", _plain(_dlib()), _read_dlib),
        Target(
            "safetensors", ".safetensors", lambda: [(_safetensors(), _as_it_is)], _read_weights, 3
        ),
        Target("torch", ".pt", _torch_seeds, _read_weights, 3),
        Target("note", ".parquet", _note_seeds, _read_note),
        Target("certificate", ".json", certificate_seed, read_certificate),
        *(Target(name, ".bin", seed_of(name), reader_of(name)) for name in MEMBERS),
    ]


TARGETS = {target.name: target for target in _targets()}
