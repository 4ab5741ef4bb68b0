"""What the networks that read anonymised clips get: fresh batches, and a validation."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from withhold.learn.training import epoch_batches
from withhold.methods.clips.adversarial.config import AdversarialConfig
from withhold.methods.clips.adversarial.step import ClipPlayers, SeenClips
from withhold.methods.clips.label_heads import accuracy
from withhold.methods.clips.labelled_clips import ClipPart, LabelledClips, pixels
from withhold.methods.clips.networks import anonymise, clip_scores, draw_frames

_VALIDATED = 4  # batches of a validation


def seen_batches(
    players: ClipPlayers, data: ClipPart, config: AdversarialConfig, generator: torch.Generator
) -> Iterator[SeenClips]:
    """Batches without end, anonymised by f_D as it is when each is asked for."""
    device = next(players.anonymiser.parameters()).device
    while True:
        for rows in epoch_batches(len(data), config.batch, generator):
            frames = draw_frames(len(rows), config.frames, config.privacy_frames, generator)
            with torch.no_grad():
                made = anonymise(players.anonymiser, pixels(data.x[rows], device))
            yield SeenClips(
                made, data.action[rows].to(device), data.private[rows].to(device), frames
            )


@torch.no_grad()
def validation_accuracy(
    players: ClipPlayers, data: LabelledClips, config: AdversarialConfig, generator: torch.Generator
) -> float:
    """The accuracy of f_A on some clips of the validation part, as they would be released."""
    part = data.val if data.val is not None else data.train
    device = next(players.anonymiser.parameters()).device
    rows = torch.randperm(len(part), generator=generator)[: _VALIDATED * config.batch]
    players.anonymiser.eval()
    players.action.eval()
    scores = [
        clip_scores(players.action, anonymise(players.anonymiser, pixels(part.x[some], device)))
        for some in rows.split(config.batch)
    ]
    players.train()
    codes = part.action[rows].to(device)
    return float(accuracy(players.actions, torch.cat(scores), codes))
