"""Turn an attacker's scores into calibrated probabilities, which can be combined over records."""

from __future__ import annotations

import numpy as np

from withhold.audit.attackers.attacker import FloatArray
from withhold.audit.metrics import cross_entropy_bits
from withhold.records.attribute import Attribute

# Keep every probability above 0: a class that train never saw must not cost infinite bits.
_DOUBT = 1e-4
_TEMPERATURES = np.geomspace(0.25, 64.0, 33)


def temperature(logits: FloatArray, truth: Attribute) -> float:
    """The T that minimises the cross-entropy of softmax(logits / T) on these (val) records.

    Networks are overconfident. T does not change which class is likeliest.
    """
    if not truth.known.any():
        return 1.0
    most = max(2_000_000 // logits.shape[1], 200)
    logits, truth = logits[:most], truth.rows(np.arange(min(len(logits), most)))
    spent = [
        cross_entropy_bits(calibrated(logits, t, truth.multilabel), truth) for t in _TEMPERATURES
    ]
    return float(_TEMPERATURES[int(np.argmin(spent))])


def calibrated(logits: FloatArray, t: float, multilabel: bool) -> FloatArray:
    """log of (1 - doubt) softmax(logits / t) + doubt / k; for multi-label, bounded log odds."""
    scaled = logits.astype(np.float64) / t
    if multilabel:
        most = np.log((1 - _DOUBT / 2) / (_DOUBT / 2))
        odds: FloatArray = np.clip(scaled, -most, most).astype(np.float32)
        return odds
    scaled -= scaled.max(axis=1, keepdims=True)
    p = np.exp(scaled)
    p /= p.sum(axis=1, keepdims=True)
    log_p: FloatArray = np.log((1 - _DOUBT) * p + _DOUBT / p.shape[1]).astype(np.float32)
    return log_p
