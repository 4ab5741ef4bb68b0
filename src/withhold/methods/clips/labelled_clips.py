"""What the trained methods on clips learn from: frames, actions, and what to suppress."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from withhold.core.errors import UserError, listing
from withhold.core.progress import Progress
from withhold.learn.training import tensor_digest
from withhold.media.clip_tensor import FrameSize, clip_tensor
from withhold.methods.clips.clip_config import ClipConfig
from withhold.methods.clips.label_heads import LabelHeads, label_codes
from withhold.records.dataset import Dataset
from withhold.records.roles import Roles


@dataclass(frozen=True, eq=False)
class ClipPart:
    """Clips x (n, t, 3, h, w) uint8 with codes of the preserved (n, a) and suppressed (n, p)."""

    x: Tensor
    action: Tensor
    private: Tensor

    def __len__(self) -> int:
        return len(self.x)


@dataclass(frozen=True, eq=False)
class LabelledClips:
    """The training and the validation part, and the attributes. Action: all that is preserved."""

    train: ClipPart
    val: ClipPart | None
    actions: LabelHeads
    private: LabelHeads

    @classmethod
    def of(
        cls,
        dataset: Dataset,
        roles: Roles,
        config: ClipConfig,
        progress: Progress,
        *,
        method: str,
        folder: Path | None,
    ) -> LabelledClips:
        """Decode both parts, and refuse what the losses are not made for.

        Many clips are kept in a file in `folder`; None: in that of the system's temporary files.
        """
        if dataset.kind != "clip":
            raise UserError(
                f"method '{method}' learns from clips, and {dataset.name} holds {dataset.kind}s;"
                " fit it on clips, then transform the others with the bundle"
            )
        if not roles.preserve:
            raise UserError(
                f"method '{method}' keeps an action recognisable, so it needs the attribute of the"
                " action; name it with --preserve (preserve= in Python)"
            )
        size = FrameSize(config.frames, config.height, config.width, config.step)
        folder = folder or Path(tempfile.gettempdir())
        parts = {}
        for name in ("train", "val"):
            part = dataset.part(name)
            if not len(part):
                continue
            kept, x = clip_tensor(part, size, folder=folder, progress=progress)
            for attribute in roles.named if name == "train" else ():
                kept.attribute(attribute).require_label(f"the training part of {dataset.name}")
            action, private = (
                label_codes([kept.attribute(n) for n in names])
                for names in (roles.preserve, roles.suppress)
            )
            parts[name] = ClipPart(x, action, private)
        if "val" not in parts:
            progress.say(
                f"{dataset.name} has no validation part: the action model is measured on the"
                " training part"
            )
        if len(parts["train"]) < 2:
            raise UserError(f"the training part of {dataset.name} has a single clip")
        if len(parts["train"]) < config.batch:
            progress.say(
                f"warning: the training part has {len(parts['train'])} clips, fewer than a batch"
                f" ({config.batch})"
            )
        progress.say(
            f"hides {listing(roles.suppress)}, keeps {listing(roles.preserve)}:"
            f" {len(parts['train']):,} clips, {config.frames} frames of {config.height} x"
            f" {config.width} pixels"
        )
        return cls(
            parts["train"],
            parts.get("val"),
            LabelHeads.of([dataset.attribute(n) for n in roles.preserve]),
            LabelHeads.of([dataset.attribute(n) for n in roles.suppress]),
        )

    @property
    def digest(self) -> str:
        """A hash of pixels and codes."""
        parts = [p for p in (self.train, self.val) if p is not None]
        return "".join(tensor_digest(t) for p in parts for t in (p.x, p.action, p.private))


def pixels(x: Tensor, device: torch.device) -> Tensor:
    """Bytes as numbers in [0, 1]."""
    return x.to(device).float().div_(255)
