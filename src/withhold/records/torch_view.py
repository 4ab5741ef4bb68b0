"""A dataset as a `torch.utils.data.Dataset` of pairs (features, labels)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch.utils.data import Dataset as TorchDataset

if TYPE_CHECKING:
    from withhold.records.dataset import Dataset

Labels = torch.Tensor | dict[str, torch.Tensor]


class TorchRecords(TorchDataset[tuple[torch.Tensor, Labels]]):
    """Pairs (x, labels); x: (d,) float32, labels as codes, one tensor or a mapping of them."""

    def __init__(self, x: torch.Tensor, codes: torch.Tensor | Mapping[str, torch.Tensor]) -> None:
        self._x, self._codes = x, codes

    @classmethod
    def of(cls, data: Dataset, labels: str | Sequence[str] | None = None) -> TorchRecords:
        """The view of a dataset; `labels` names one attribute, several, or (None) all labels."""
        # Share writable features; copy read-only ones, because torch warns about them.
        x = torch.from_numpy(data.x if data.x.flags.writeable else data.x.copy())
        if isinstance(labels, str):
            return cls(x, _codes(data, labels))
        names = list(data.labels()) if labels is None else list(labels)
        return cls(x, {name: _codes(data, name) for name in names})

    def __len__(self) -> int:
        return len(self._x)

    def __getitem__(self, which: Any) -> tuple[torch.Tensor, Labels]:
        if isinstance(self._codes, torch.Tensor):
            return self._x[which], self._codes[which]
        return self._x[which], {name: codes[which] for name, codes in self._codes.items()}


def _codes(data: Dataset, name: str) -> torch.Tensor:
    attribute = data.attribute(name)
    attribute.require_label(data.name)
    return torch.as_tensor(attribute.codes.copy(), dtype=torch.int64)
