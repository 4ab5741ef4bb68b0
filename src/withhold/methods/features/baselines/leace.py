"""`leace`: no linear classifier can do better than a constant (Belrose et al. 2023).

It uses the package concept-erasure (extra `leace`). A retrained network can still infer most of
what a linear classifier cannot: on AudioMNIST about 90 % of the speakers.
"""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

import numpy as np
import torch

from withhold.core.errors import UserError
from withhold.methods.features.baselines.baseline import ArrayModifier, Baseline
from withhold.methods.modifier import FloatArray, Labels
from withhold.methods.registry import method
from withhold.records.attribute import Attribute
from withhold.records.dataset import Dataset
from withhold.records.roles import Roles


class LeaceModifier(ArrayModifier):
    """x' = x - ((x - mean) right^T) left^T; left: (d, r), right: (r, d), r the rank erased."""

    method = "leace"
    shapes: ClassVar[dict[str, tuple[str, ...]]] = {
        "mean": ("d",),
        "left": ("d", "r"),
        "right": ("r", "d"),
    }

    def __init__(self, left: FloatArray, right: FloatArray, mean: FloatArray, key: bytes) -> None:
        self.left, self.right, self.mean, self.key = left, right, mean, key

    @property
    def dimension(self) -> int:
        """Features per record."""
        return len(self.mean)

    def _transform(self, x: FloatArray, labels: Labels) -> FloatArray:
        # Without einsum and in double: the erased directions must vanish exactly, for any batch.
        wide = x.astype(np.float64) - self.mean
        change = (wide @ self.right.T.astype(np.float64)) @ self.left.T.astype(np.float64)
        return (x - change).astype(np.float32)


@method
class Leace(Baseline):
    """The fitter."""

    name = "leace"
    modifier_type = LeaceModifier

    def measure(self, train: Dataset, roles: Roles, config: Any, seed: int) -> dict[str, Any]:
        """Erase every suppressed attribute at once; records with a missing label are left out."""
        try:
            with warnings.catch_warnings():
                # On import it calls torch.jit.script, which newer versions of torch deprecate.
                warnings.simplefilter("ignore", DeprecationWarning)
                from concept_erasure import LeaceFitter
        except ImportError as error:
            raise UserError(
                "method 'leace' needs the package concept-erasure: pip install 'withhold[leace]'"
            ) from error
        attributes = [train.attribute(name) for name in roles.suppress]
        known = np.logical_and.reduce(
            [(a.codes >= 0).reshape(len(train), -1).all(1) for a in attributes]
        )
        if not known.any():
            raise UserError("no training record has a label for every suppressed attribute")
        # Integer class ids would be read as numbers: pass one column per class.
        concept = np.concatenate([_one_hot(a.rows(known)) for a in attributes], axis=1)
        fitter = LeaceFitter(train.dimension, concept.shape[1], dtype=torch.float64)
        fitter.update(
            torch.from_numpy(train.x[known].astype(np.float64)), torch.from_numpy(concept)
        )
        eraser = fitter.eraser
        if eraser.bias is None:
            raise RuntimeError("concept-erasure returned an eraser without its mean")
        found = {"left": eraser.proj_left, "right": eraser.proj_right, "mean": eraser.bias}
        return {name: tensor.float().numpy() for name, tensor in found.items()}


def _one_hot(attribute: Attribute) -> np.ndarray[Any, np.dtype[np.float64]]:
    if attribute.multilabel:
        return attribute.codes.astype(np.float64)
    return np.eye(len(attribute.classes))[attribute.codes]
