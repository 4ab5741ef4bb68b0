"""After each epoch, a sheet of a few training frames: the original over the anonymised."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

from withhold.core.atomic import write_bytes
from withhold.learn.journal import FitContext
from withhold.media.contact_sheet import contact_sheet
from withhold.methods.clips.labelled_clips import LabelledClips, pixels
from withhold.methods.clips.networks import anonymise
from withhold.methods.images.replace.modifier import as_bytes

_CLIPS, _FRAMES = 3, 3


class EpochPictures:
    """Writes to the folder that the journal names; nothing if it names none."""

    def __init__(self, data: LabelledClips, context: FitContext) -> None:
        self.folder = context.journal.pictures
        count, frames = data.train.x.shape[:2]
        rows = np.linspace(0, count - 1, min(_CLIPS, count)).astype(int)
        moments = np.linspace(0, frames - 1, min(_FRAMES, frames)).astype(int)
        self.x = data.train.x[rows][:, moments]
        if self.folder is not None:
            context.progress.say(f"pictures of each epoch: {self.folder} (they show originals)")

    @torch.no_grad()
    def draw(self, anonymiser: nn.Module, epoch: int) -> None:
        """Write `epoch-NNNN.png`."""
        if self.folder is None:
            return
        x = pixels(self.x, next(anonymiser.parameters()).device)
        made = anonymise(anonymiser.eval(), x)
        rows = {
            "original": list(as_bytes(x.flatten(0, 1))),
            "anonymised": list(as_bytes(made.flatten(0, 1))),
        }
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_bytes(self.folder / f"epoch-{epoch:04d}.png", contact_sheet(rows))
