"""`attention.png`: where privacy models look (SPAct, supplement, Figures 7 and 8).

A supervised privacy model has learned a group of private attributes from original frames. The
branch of `spact` has learned without labels which frames belong together; it is shown as it is
before the game, when the anonymiser returns its input. Only ResNets have the stages to look at.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from withhold.audit.attackers.pixel_cnn import PixelPrediction
from withhold.bench.clip_set import PixelArray
from withhold.core.atomic import write_bytes
from withhold.core.progress import Silent
from withhold.learn.journal import FitContext, Journal
from withhold.learn.nets.attention import attention
from withhold.learn.nets.deep_resnet import DeepResNet
from withhold.media.contact_sheet import contact_sheet
from withhold.media.decode.pictures import resized
from withhold.methods.clips.labelled_clips import LabelledClips
from withhold.methods.clips.spact.config import SpactConfig
from withhold.methods.clips.spact.fit import prepared
from withhold.records.dataset import Dataset
from withhold.records.roles import Roles

FILE = "attention.png"
Models = Mapping[str, Mapping[str, PixelPrediction]]  # by group of attributes, then by name


def draw_attention(
    folder: Path,
    frames: PixelArray,
    supervised: Models,
    *,
    data: Dataset,
    roles: Roles,
    config: SpactConfig,
    seed: int,
) -> None:
    """Write the picture of original frames (n, h, w, 3) into the folder of a row with `spact`.

    `data` and what follows are those of its fit, whose checkpoints are in `fit` in this folder. No
    picture is made if no supervised model or the branch is no ResNet.
    """
    (folder / FILE).unlink(missing_ok=True)
    rows = {"original": list(frames)}
    for group, models in supervised.items():
        for name, model in models.items():
            if isinstance(model.network.scores, DeepResNet):
                shown = heated(frames, supervised_attention(model, frames))
                rows[f"supervised: {group} ({name})"] = shown
                break
    if len(rows) == 1:
        return
    small = np.stack([resized(frame, config.height, config.width) for frame in frames])
    found = branch_attention(folder / "fit", small, data, roles, config, seed)
    if found is not None:
        rows[f"self-supervised ({config.branch_model})"] = heated(small, found)
        write_bytes(folder / FILE, contact_sheet(rows))


def supervised_attention(model: PixelPrediction, frames: PixelArray) -> Tensor:
    """Of a ResNet that learned from originals; frames (n, h, w, 3) to (n, h, w)."""
    network: Any = model.network
    x = torch.from_numpy(frames).permute(0, 3, 1, 2).float()
    return attention(network.scores, (x - network.mean) / network.scale)


def branch_attention(
    journal: Path, frames: PixelArray, data: Dataset, roles: Roles, config: SpactConfig, seed: int
) -> Tensor | None:
    """Of the branch, from the checkpoints of its fit; None if it did not learn or is no ResNet."""
    if config.branch_epochs == 0:
        return None
    clips = LabelledClips.of(
        data.with_drawn_split(roles.suppress),
        roles,
        config,
        Silent(),
        method="spact",
        folder=journal,
    )
    # All phases are done, so nothing is trained here.
    networks = prepared(clips, config, FitContext(seed, Silent(), Journal(journal), clips.digest))
    branch, anonymiser = networks.branch.cpu().eval(), networks.anonymiser.cpu().eval()
    resnet = next((part for part in branch.children() if isinstance(part, DeepResNet)), None)
    if resnet is None:
        return None
    with torch.no_grad():
        return attention(resnet, anonymiser(torch.from_numpy(frames).permute(0, 3, 1, 2) / 255))


def heated(frames: PixelArray, found: Tensor) -> list[npt.NDArray[np.uint8]]:
    """Frames (n, h, w, 3) in grey under the colours of `found` (n, h, w): blue 0, red 1."""
    heat = found.numpy()[..., None]
    colours = np.concatenate([heat, 1 - np.abs(2 * heat - 1), 1 - heat], axis=-1)
    grey = frames.mean(axis=-1, keepdims=True) / 255
    return list((255 * (grey + colours) / 2).round().astype(np.uint8))
