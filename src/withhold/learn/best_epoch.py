"""Keep the epoch of a training that does best on held-out records, and stop when none is better."""

from __future__ import annotations

import copy

from torch import Tensor, nn

from withhold.learn.losses.similarity import masked_cross_entropy


class BestEpoch:
    """The weights of the epoch with the lowest held-out error so far.

    `start` is the error of the weights before the first epoch, if they count.
    """

    def __init__(self, network: nn.Module, patience: int, start: float = float("inf")) -> None:
        self.network, self.patience = network, patience
        self.error, self.since = start, 0
        self.state = copy.deepcopy(network.state_dict())

    def look(self, error: float) -> bool:
        """Whether to go on after an epoch with this error."""
        self.since += 1
        if error < self.error:
            self.error, self.since = error, 0
            self.state = copy.deepcopy(self.network.state_dict())
        return self.since < self.patience and self.error > 0.0

    def restore(self) -> None:
        """Give the network these weights."""
        self.network.load_state_dict(self.state)


def held_out_error(scores: Tensor, codes: Tensor, *, multilabel: bool) -> float:
    """Share of wrong labels; the cross-entropy breaks ties. Unknown labels (-1) do not count."""
    known = codes >= 0
    guess = (scores > 0).long() if multilabel else scores.argmax(dim=1)
    wrong = float((guess != codes)[known].float().mean())
    if wrong == 0.0:
        return 0.0
    return wrong + 1e-4 * float(masked_cross_entropy(scores, codes, multilabel=multilabel).tanh())
