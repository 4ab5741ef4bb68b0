"""Small made-up files under the names, and with the columns, of the public media sets."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from clip_folders import make_clip_sets
from face_folders import make_adience, make_celeba
from release_support import picture_bytes


def make_media(folder: Path) -> Path:
    """All sets that are read: who and what can be seen and heard in each."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(0)
    _faces(folder, rng)
    _small_faces(folder, rng)
    _voices(folder, rng)
    _signs(folder, rng)
    make_celeba(folder / "celeba")
    make_adience(folder / "adience")
    make_clip_sets(folder)
    return folder


def _faces(folder: Path, rng: np.random.Generator, n: int = 90) -> None:
    gender, race = rng.integers(0, 2, n), rng.integers(0, 5, n)
    pixels = rng.integers(0, 100, (n, 64, 64, 3), dtype=np.uint8)
    pixels[:, :32] += (100 * gender[:, None, None, None]).astype(np.uint8)
    table = {
        "jpeg": pa.array([picture_bytes(p, "JPEG") for p in pixels], pa.binary()),
        "age": rng.integers(0, 90, n),
        "gender": gender,
        "race": race,
    }
    pq.write_table(pa.table(table), folder / "utkface_12000_64px.parquet")


def _small_faces(folder: Path, rng: np.random.Generator, n: int = 120) -> None:
    person, eyes = np.arange(n) % 3, np.arange(n) // 3 % 2
    pixels = rng.integers(0, 60, (n, 30, 32), dtype=np.uint8)
    for i in range(n):
        pixels[i, 10 * person[i] : 10 * person[i] + 10] += 90
        pixels[i, :, 16 * eyes[i] : 16 * eyes[i] + 16] += 60
    np.savez(
        folder / "cmufaces_30x32_u8.npz",
        X=pixels,
        person=np.array(["an2i", "at33", "boland"])[person],
        eyes=np.array(["open", "sunglasses"])[eyes],
    )


def _voices(folder: Path, rng: np.random.Generator, takes: int = 8) -> None:
    rows = []
    for take in range(takes):
        for speaker in range(1, 5):
            for digit in range(2):
                wave = np.sin(np.arange(1600) * (0.2 + 0.15 * speaker + 0.05 * digit))
                level = 127 + 100 * wave + rng.integers(-20, 20, 1600)
                rows.append(
                    {
                        "audio_mulaw_8khz": bytes(level.clip(0, 255).astype(np.uint8)),
                        "speaker": speaker,
                        "digit": digit,
                        "take": take,
                        "gender": "female" if speaker % 2 else "male",
                        "age": 20 + speaker,
                        "accent": "german" if speaker < 3 else "danish",
                        "room": "Kino",
                    }
                )
    table = pa.Table.from_pylist(rows)
    pq.write_table(table, folder / "audiomnist_takes00-39_8khz.parquet")


def _signs(folder: Path, rng: np.random.Generator, signers: int = 4) -> None:
    sign, signer, again = (a.ravel() for a in np.mgrid[1:3, 1 : signers + 1, 1:6])
    frames = rng.integers(0, 60, (len(sign), 16, 12, 16, 3), dtype=np.uint8)
    np.savez(
        folder / "lsa64_10signs_16x48x64_u8.npz",
        X=frames,
        sign=sign.astype(np.int16),
        signer=signer.astype(np.int16),
        repetition=again.astype(np.int16),
    )
