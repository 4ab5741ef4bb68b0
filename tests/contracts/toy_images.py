"""A toy method on images: what a new method takes is this file and three lines of test.

A filter f(x) keeps images near x while a reader tries to tell the suppressed attribute from f(x):
two convolutional networks with an optimiser each, updated in turn.
"""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from pydantic import BaseModel, ConfigDict, Field
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from withhold.core.progress import Progress
from withhold.learn.journal import Journal
from withhold.learn.training import epoch_batches, initialise, seeded, tensor_digest
from withhold.media.pixel_tensor import pixel_tensor
from withhold.methods.images.network_modifier import NetworkModifier
from withhold.methods.registry import method
from withhold.records.dataset import Dataset
from withhold.records.roles import Roles


class ToyConfig(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    epochs: int = Field(4, ge=1, description="times that every image is seen")


class ToyModifier(NetworkModifier):
    method = "toy"

    @classmethod
    def build(cls, settings: dict[str, Any]) -> nn.Module:
        return nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 3, 1))


@method
class Toy:
    name, config_type, modifier_type = "toy", ToyConfig, ToyModifier
    presets: ClassVar[dict[str, dict[str, Any]]] = {}

    def fit(
        self, dataset: Dataset, roles: Roles, config: ToyConfig, progress: Progress, *,
        seed: int, journal: Journal,
    ) -> ToyModifier:  # fmt: skip
        train, pixels = pixel_tensor(dataset.part("train"), 16, progress=progress)
        x = pixels / 255
        secret = torch.from_numpy(train.attribute(roles.suppress[0]).codes.copy())
        change = ToyModifier.build({})
        reader = nn.Sequential(nn.Conv2d(3, 8, 3, 2), nn.ReLU(), nn.Flatten(), nn.Linear(392, 2))
        parts: dict[str, Any] = {"change": change, "reader": reader}
        for name, network in list(parts.items()):
            initialise(network, seed, name)
            parts[f"{name}_adam"] = torch.optim.Adam(network.parameters(), 0.01)
        stage = journal.stage("toy", data=tensor_digest(x), seed=seed, config=config)
        first = stage.resume(**parts)
        with progress.stage("toy", config.epochs) as bar:
            bar.advance(first)
            for epoch in range(first, config.epochs):
                for rows in epoch_batches(len(x), 32, seeded(seed, "toy", epoch)):
                    made = change(x[rows])
                    read = cross_entropy(reader(made.detach()), secret[rows])
                    step(parts["reader_adam"], read)
                    hide = -cross_entropy(reader(made), secret[rows])
                    step(parts["change_adam"], 0.1 * hide + (made - x[rows]).square().mean())
                stage.save(epoch + 1, {"read": round(read.item(), 6)}, **parts)
                bar.advance()
        return ToyModifier(change, journal.key)


def step(optimiser: torch.optim.Optimizer, loss: Tensor) -> None:
    optimiser.zero_grad(set_to_none=True)
    loss.backward()
    optimiser.step()
