"""What tests of releases of media share: noisy pictures and sounds, and what a folder holds."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from withhold.actions.fit import fit_bundle
from withhold.bundle.bundle import Bundle
from withhold.records.dataset import Dataset
from withhold.records.readers import Collection, open_media
from withhold.records.roles import Roles

Pixels = npt.NDArray[np.uint8]


def noisy(seed: int, height: int = 12, width: int = 10) -> Pixels:
    """Pixels that any filter changes."""
    rng = np.random.default_rng(seed)
    return rng.integers(0, 256, (height, width, 3), dtype=np.uint8)


def hum(seed: int, n: int = 800) -> npt.NDArray[np.float32]:
    """Sound that any filter changes."""
    return (0.3 * np.random.default_rng(seed).standard_normal(n)).clip(-1, 1).astype(np.float32)


def picture_bytes(pixels: Pixels, form: str = "PNG", **more: Any) -> bytes:
    from PIL import Image

    out = io.BytesIO()
    Image.fromarray(pixels).save(out, form, **more)
    return out.getvalue()


def write_picture(path: Path, seed: int, form: str | None = None, **more: Any) -> Path:
    """A picture in the format of its name, or in `form`."""
    known = {".jpg": "JPEG", ".jpeg": "JPEG", ".png": "PNG", ".gif": "GIF", ".bmp": "BMP"}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(picture_bytes(noisy(seed), form or known[path.suffix.lower()], **more))
    return path


def pixels_of(data: bytes | Path) -> Pixels:
    from PIL import Image

    with Image.open(io.BytesIO(data) if isinstance(data, bytes) else data) as image:
        return np.array(image.convert("RGB"))


def people(folder: Path, *, each: int = 3, who: tuple[str, ...] = ("anna", "ben")) -> Path:
    """A folder `person_number.png`."""
    for place, person in enumerate(who):
        for i in range(each):
            write_picture(folder / f"{person}_{i}.png", seed=10 * place + i)
    return folder


def below(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, hidden ones too."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def bundle_of(
    media: Path | Collection,
    method: str = "blur",
    *,
    kind: Any = "image",
    suppress: str = "person",
    config: dict[str, Any] | None = None,
    seed: int = 0,
    key: bytes | None = None,
    **where: Any,
) -> tuple[Bundle, Dataset]:
    """A bundle, and the dataset it is for."""
    if isinstance(media, Path):
        media = open_media(media, kind, stills=False, **where)
    roles = Roles.of(suppress, "")
    data = Dataset.of_media(media)
    return fit_bundle(data, roles, method=method, config=config, seed=seed, key=key), data
