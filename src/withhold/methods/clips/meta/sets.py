"""Support and query sets that differ in attributes or in privacy models (seed paper, section 4).

An attribute here is one column of codes: a categorical attribute, present in a record where its
class is known; or one binary label, present where it is 1.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from withhold.methods.clips.label_heads import LabelHeads


@dataclass(frozen=True, eq=False)
class AttributeSets:
    """X1 and X2 as row numbers, and the codes (n, columns) that each record keeps; others are -1.

    `attributes` (columns,) is true for those of Attr1.
    """

    first: Tensor
    second: Tensor
    codes: Tensor
    attributes: Tensor

    @property
    def usable(self) -> bool:
        """Whether both sets have clips."""
        return len(self.first) > 0 and len(self.second) > 0


def attribute_sets(
    heads: LabelHeads, codes: Tensor, proportion: float, generator: torch.Generator
) -> AttributeSets:
    """Divide attributes, then records, of which each loses its labels of the other side.

    A record that has attributes of Attr1 only goes to X1, of Attr2 only to X2. Of the mixed ones,
    and of those that have none, a random `proportion` goes to X1 and the others to X2.
    """
    first = halves(codes.shape[1], proportion, generator)
    present = heads.present(codes)
    one, two = (present & first).any(1), (present & ~first).any(1)
    to_first = one & ~two
    undecided = torch.nonzero(one == two)[:, 0]
    drawn = undecided[torch.randperm(len(undecided), generator=generator)]
    to_first[drawn[: round(proportion * len(drawn))]] = True
    kept = torch.where(to_first[:, None] == first, codes, -1)
    return AttributeSets(torch.nonzero(to_first)[:, 0], torch.nonzero(~to_first)[:, 0], kept, first)


def model_sets(
    count: int, proportion: float, generator: torch.Generator
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The numbers of the privacy models of either set."""
    first = halves(count, proportion, generator)
    one, two = torch.nonzero(first)[:, 0].tolist(), torch.nonzero(~first)[:, 0].tolist()
    return tuple(one), tuple(two)


def halves(count: int, proportion: float, generator: torch.Generator) -> Tensor:
    """Which of `count` things are in the first set: about `proportion`, and never none or all."""
    size = min(max(round(proportion * count), 1), count - 1)
    first = torch.zeros(count, dtype=torch.bool)
    first[torch.randperm(count, generator=generator)[:size]] = True
    return first


def draw_rows(rows: Tensor, count: int, generator: torch.Generator) -> Tensor:
    """`count` different rows, or some of them twice if there are fewer."""
    if len(rows) >= count:
        return rows[torch.randperm(len(rows), generator=generator)[:count]]
    return rows[torch.randint(len(rows), (count,), generator=generator)]
