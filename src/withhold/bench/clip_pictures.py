"""Pictures of a recipe of `kind: clips`: frames of the same test clips, released by every row."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from withhold.bench.clip_attention import FILE as ATTENTION
from withhold.bench.clip_set import PixelArray
from withhold.bench.pixel_set import folder_of
from withhold.bench.recipe import Recipe
from withhold.bench.row_cache import row_folder
from withhold.core.atomic import write_bytes
from withhold.media.contact_sheet import contact_sheet

EXAMPLES = "examples.rgb"  # the released frames, in the folder of a row
_CLIPS = 4  # on the sheet, two frames each


def draw_pictures(recipe: Recipe, shown: PixelArray, output: Path) -> None:
    """Write `examples.png`, and `attention.png` of the first row that has one.

    `shown` are the original frames, (n, h, w, 3).
    """
    sheet, attention = {"original": list(shown)}, None
    for row in recipe.rows:
        folder = row_folder(folder_of(output, recipe.clips.seeds[0]), row.label)
        if (folder / EXAMPLES).exists():
            released = np.frombuffer((folder / EXAMPLES).read_bytes(), np.uint8)
            sheet[row.label] = list(released.reshape(shown.shape))
        if attention is None and (folder / ATTENTION).exists():
            attention = (folder / ATTENTION).read_bytes()
    write_bytes(output / "examples.png", contact_sheet(sheet))
    if attention is not None:
        write_bytes(output / ATTENTION, attention)


def some_frames(clips: PixelArray, test: Any) -> PixelArray:
    """Two frames of some clips of the test part, (2 * _CLIPS, h, w, 3)."""
    spread = test[np.linspace(0, len(test) - 1, min(_CLIPS, len(test))).astype(int)]
    t = clips.shape[1]
    some = clips[spread][:, [t // 4, t // 2]]
    return np.ascontiguousarray(some.reshape(-1, *clips.shape[2:]))
