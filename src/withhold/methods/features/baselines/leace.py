"""`leace`: no linear classifier can do better than a constant (Belrose et al. 2023).

Through the package concept-erasure (extra `leace`). A retrained network reads most of what a
linear one cannot: on AudioMNIST about 90 % of the speakers.
"""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

import numpy as np
import torch

from withhold.core.errors import UserError
from withhold.core.progress import Progress
from withhold.learn.journal import Journal
from withhold.methods.checked_state import Arrays, StateSettings, checked_modifier
from withhold.methods.features.baselines.config import NoConfig
from withhold.methods.modifier import FeatureModifier, FloatArray, Labels, State
from withhold.methods.registry import method
from withhold.records.attribute import Attribute
from withhold.records.dataset import Dataset
from withhold.records.roles import Roles


class LeaceModifier(FeatureModifier):
    """x' = x - ((x - mean) right^T) left^T; left: (d, r), right: (r, d), r the rank erased."""

    method = "leace"

    def __init__(self, left: FloatArray, right: FloatArray, mean: FloatArray, key: bytes) -> None:
        self.left, self.right, self.mean, self.key = left, right, mean, key

    @property
    def dimension(self) -> int:
        """Features per record."""
        return len(self.mean)

    def _transform(self, x: FloatArray, labels: Labels) -> FloatArray:
        # einsum-free and in double: the erased directions must vanish exactly, whatever the batch.
        wide = x.astype(np.float64) - self.mean
        change = (wide @ self.right.T.astype(np.float64)) @ self.left.T.astype(np.float64)
        return (x - change).astype(np.float32)

    def state(self) -> State:
        """The projection's two factors, and the mean."""
        return {"left": self.left, "right": self.right, "mean": self.mean}

    @classmethod
    def from_state(cls, state: State, settings: dict[str, Any], key: bytes) -> LeaceModifier:
        """The modifier that was saved."""
        arrays = Arrays(state)
        checked_modifier(settings, StateSettings)
        mean = arrays.take("mean", "d")
        made = cls(arrays.take("left", "d", "r"), arrays.take("right", "r", "d"), mean, key)
        arrays.close()
        return made


@method
class Leace:
    """The fitter."""

    name = "leace"
    config_type = NoConfig
    presets: ClassVar[dict[str, dict[str, Any]]] = {}
    modifier_type = LeaceModifier

    def fit(
        self,
        dataset: Dataset,
        roles: Roles,
        config: NoConfig,
        progress: Progress,
        *,
        seed: int,
        journal: Journal,
    ) -> LeaceModifier:
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
        train = dataset.part("train")
        attributes = [train.attribute(name) for name in roles.suppress]
        known = np.logical_and.reduce(
            [(a.codes >= 0).reshape(len(train), -1).all(1) for a in attributes]
        )
        if not known.any():
            raise UserError("no training record has a label for every suppressed attribute")
        # An integer class id would be read as one number: pass one column a class.
        concept = np.concatenate([_one_hot(a.rows(known)) for a in attributes], axis=1)
        fitter = LeaceFitter(train.dimension, concept.shape[1], dtype=torch.float64)
        fitter.update(
            torch.from_numpy(train.x[known].astype(np.float64)), torch.from_numpy(concept)
        )
        eraser = fitter.eraser
        left, right = eraser.proj_left.float().numpy(), eraser.proj_right.float().numpy()
        if eraser.bias is None:
            raise RuntimeError("concept-erasure returned an eraser without its mean")
        return LeaceModifier(left, right, eraser.bias.float().numpy(), journal.key)


def _one_hot(attribute: Attribute) -> np.ndarray[Any, np.dtype[np.float64]]:
    if attribute.multilabel:
        return attribute.codes.astype(np.float64)
    return np.eye(len(attribute.classes))[attribute.codes]
