"""The entropy of an attribute model's prediction (MaSS Eq. 3, second term)."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor


def prediction_entropy(p: Tensor, *, multilabel: bool = False) -> Tensor:
    """mean H(softmax p) in nats, p: (n, k); multi-label: mean binary entropy of the sigmoids."""
    if multilabel:
        yes, no = F.logsigmoid(p), F.logsigmoid(-p)
        return -(yes.exp() * yes + no.exp() * no).mean()
    log_p = F.log_softmax(p, dim=-1)
    return -(log_p.exp() * log_p).sum(-1).mean()
