"""What can be read from released images, and how they look (seed paper, section 4.3).

Privacy loss is the accuracy of a fresh attacker that was trained on the released training part. The
paper trains one; here it is the highest of three. A recipe shows the fresh ones at least as many
images as the adversary of the training saw; the one that starts from a model of the originals sees
half as many, and so do the models that learn useful attributes from the release. Utility is read by
fixed models, which learned from originals, and by models that learned from the release.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from withhold.audit.attackers.pixel_cnn import PixelCnn, PixelCnnDeep, PixelPrediction
from withhold.bench.pixel_set import PixelArray, PixelSet, planes
from withhold.bench.recipe import PixelSettings
from withhold.records.attribute import Attribute

_SHOWN = 300  # test images whose likeness and faces are measured


@dataclass(frozen=True)
class PixelFigures:
    """Figures of one release, as shares; of the test part.

    attack: by attacker, retrained on the release. success: how often a fixed model sees the new
    class s'; None without one. correlation: Pearson's, of a fixed model's score for the last class
    of each attribute and for that of the suppressed one. bound: of a certificate.
    """

    attack: dict[str, float]
    ignorant: float
    utility_fixed: dict[str, float]
    utility_retrained: dict[str, float]
    success: float | None
    correlation: dict[str, float]
    distortion: float
    ssim: float
    faces: float | None
    bound: float | None
    seconds: float

    @property
    def privacy_loss(self) -> float:
        """The highest accuracy of a retrained attacker."""
        return max(self.attack.values())


@dataclass(frozen=True, eq=False)
class Original:
    """Images, the attribute to suppress, the useful ones, and fixed models of all of them."""

    data: PixelSet
    suppressed: Attribute
    useful: tuple[Attribute, ...]
    models: Mapping[str, PixelPrediction]
    how: PixelSettings
    seed: int

    def accuracy(self, model: PixelPrediction, images: PixelArray, truth: Attribute) -> float:
        """The share of known classes of the test part that the model names."""
        rows = self.data.rows("test")
        rows = rows[truth.known[rows]]
        guess = model.logits(planes(images[rows])).argmax(axis=1)
        return float((guess == truth.codes[rows]).mean())

    @property
    def small(self) -> PixelCnn:
        """A ResNet-10."""
        how = self.how
        return PixelCnn(images=how.shown, width=how.width, batch=how.batch, rate=how.rate)

    @property
    def deep(self) -> PixelCnn:
        """A ResNet-18."""
        how = self.how
        return PixelCnnDeep(images=how.shown, width=how.width, batch=how.batch, rate=how.rate)

    def learned(self, attacker: PixelCnn, images: PixelArray, truth: Attribute) -> PixelPrediction:
        """The attacker after learning from the train and val parts of these images."""
        train, val = self.data.rows("train"), self.data.rows("val")
        return attacker.fit(
            planes(images[train]),
            truth.rows(train),
            planes(images[val]),
            truth.rows(val),
            seed=self.seed,
        )


def fixed_model(
    data: PixelSet, truth: Attribute, how: PixelSettings, *, seed: int
) -> PixelPrediction:
    """A model of the originals."""
    bare = Original(data, truth, (), {}, how, seed)
    return bare.learned(bare.deep, data.images, truth)


def figures(
    original: Original,
    images: PixelArray,
    *,
    new: npt.NDArray[np.int64] | None,
    bound: float | None,
    seconds: float,
) -> PixelFigures:
    """Attack and measure released images, in the order of the originals; `new` are their s'."""
    secret, models = original.suppressed, original.models
    raw = models[secret.name]
    ladder = {
        "ResNet-10": original.small,
        "ResNet-18": original.deep,
        "ResNet-18 from the raw model": original.deep.warm(raw.state()),
    }
    attack = {
        name: original.accuracy(original.learned(one, images, secret), images, secret)
        for name, one in ladder.items()
    }
    half = replace(original.small, images=original.how.shown // 2)
    test = original.data.rows("test")
    seen = planes(images[test])
    scores = {name: _last(model.logits(seen)) for name, model in models.items()}
    some = test[:_SHOWN]
    before, after = original.data.images[some], images[some]
    return PixelFigures(
        attack=attack,
        ignorant=original.accuracy(raw, images, secret),
        utility_fixed={
            a.name: original.accuracy(models[a.name], images, a) for a in original.useful
        },
        utility_retrained={
            a.name: original.accuracy(original.learned(half, images, a), images, a)
            for a in original.useful
        },
        success=None if new is None else _right(raw.logits(seen), new[test]),
        correlation={
            a.name: _pearson(scores[secret.name], scores[a.name]) for a in original.useful
        },
        distortion=float(np.mean((before / 255.0 - after / 255.0) ** 2)),
        ssim=likeness(before, after),
        faces=face_rate(after) if after.shape[1] >= 64 else None,
        bound=bound,
        seconds=seconds,
    )


def likeness(before: PixelArray, after: PixelArray) -> float:
    """Mean structural similarity (Wang et al., 2004), 1 for equal images."""
    from skimage.metrics import structural_similarity

    return float(
        np.mean(
            [
                structural_similarity(a, b, channel_axis=-1)
                for a, b in zip(before, after, strict=True)
            ]
        )
    )


def face_rate(images: PixelArray) -> float:
    """The share of images in which a face is found."""
    from withhold.media.face_detector import FaceDetector

    detector = FaceDetector()
    return float(np.mean([len(detector.boxes(image)) > 0 for image in images]))


def _right(scores: npt.NDArray[np.float32], truth: npt.NDArray[np.int64]) -> float:
    return float((scores.argmax(axis=1) == truth).mean())


def _last(scores: npt.NDArray[np.float32]) -> npt.NDArray[np.float64]:
    """The probability of the last class."""
    shifted = np.exp(scores - scores.max(axis=1, keepdims=True), dtype=np.float64)
    last: npt.NDArray[np.float64] = shifted[:, -1] / shifted.sum(axis=1)
    return last


def _pearson(one: npt.NDArray[np.float64], two: npt.NDArray[np.float64]) -> float:
    if one.std() < 1e-9 or two.std() < 1e-9:
        return 0.0
    return float(np.corrcoef(one, two)[0, 1])
