"""Networks of a few weights in double precision, so that updates are compared to the last digits.

Their batch norms make second derivatives, and their averages over pixels keep them small.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from withhold.methods.clips.adversarial.step import ClipPlayers, ClipTask, SeenClips
from withhold.methods.clips.label_heads import Head, LabelHeads

ACTIONS = LabelHeads((Head("useful", 3, multilabel=False),))
PRIVATE = LabelHeads((Head("person", 4, multilabel=False), Head("marks", 2, multilabel=True)))
FRAMES = 4


def players(models: int = 3, seed: int = 0, rate: float = 0.1) -> ClipPlayers:
    """A U-Net's stand-in, a clip model and some frame models, with plain gradient descent."""
    torch.manual_seed(seed)
    made = ClipPlayers(
        nn.Sequential(
            nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.Tanh(),
            nn.Conv2d(4, 3, 1), nn.Sigmoid(),
        ).double(),
        nn.Sequential(nn.Conv3d(3, 4, 2), nn.Tanh(), MeanPixels(), nn.Linear(4, 3)).double(),
        tuple(
            nn.Sequential(
                nn.Conv2d(3, 5, 3), nn.BatchNorm2d(5), nn.Tanh(), MeanPixels(), nn.Linear(5, 6)
            ).double()
            for _ in range(models)
        ),
        ACTIONS,
        PRIVATE,
    )  # fmt: skip
    named = {"anonymiser": made.anonymiser, "action": made.action}
    named |= {f"privacy_{i}": network for i, network in enumerate(made.privacy)}
    made.optimisers = {f"{n}_adam": torch.optim.SGD(m.parameters(), rate) for n, m in named.items()}
    made.train()
    return made


class MeanPixels(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.flatten(2).mean(2)


def task(seed: int, b: int = 4, **changes: Any) -> ClipTask:
    """Random clips, with everything shown to all models."""
    generator = torch.Generator().manual_seed(seed)
    fields: dict[str, Any] = {
        "x": torch.rand(b, FRAMES, 3, 6, 6, generator=generator, dtype=torch.float64),
        "action": torch.randint(0, 3, (b, 1), generator=generator),
        "shown": torch.ones(b, 3, dtype=torch.bool),
        "models": (0, 1, 2),
        "frames": torch.rand(b, FRAMES, generator=generator).argsort(1)[:, :2],
    }
    return ClipTask(**fields | changes)


def seen(seed: int, b: int = 4) -> SeenClips:
    """What the opponents of a task see, with some labels missing."""
    generator = torch.Generator().manual_seed(100 + seed)
    private = torch.cat(
        [
            torch.randint(-1, 4, (b, 1), generator=generator),
            torch.randint(-1, 2, (b, 2), generator=generator),
        ],
        dim=1,
    )
    t = task(seed, b)
    return SeenClips(t.x, t.action, private, t.frames)
