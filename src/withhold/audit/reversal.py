"""Reversal: learn from pairs of a released image and its original to restore the originals.

Two ways are tried, and the one with the smaller error on val is kept: a U-Net, which undoes what
happens near each pixel (blur, large pixels, changed colours), and a linear map of all pixels, which
undoes what happens across the image (pixels in another order).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn import functional as F

from withhold.audit.attackers.attacker import PixelArray
from withhold.learn.best_epoch import BestEpoch
from withhold.learn.nets.channels_last import to_channels_last
from withhold.learn.nets.device import pick_device
from withhold.learn.nets.unet import UNet
from withhold.learn.training import (
    adamw,
    cosine_rate,
    epoch_batches,
    initialise,
    seeded,
    set_rate,
    steps_per_epoch,
    take_step,
)

Rows = npt.NDArray[np.int64]
_BLOCK = 512  # images restored at once
_MULTIPLY_ADDS = 2.4e10  # of training a second on one core, forward and backward
_PENALTIES = (1e-4, 1e-2, 1.0)  # of the linear map, times the mean variance of a pixel
_WIDEST = 3 * 32 * 32  # values of an image up to which the linear map is tried


@dataclass(frozen=True)
class Reversal:
    """How a U-Net learns to restore images: L1 loss, AdamW, the best epoch on val is kept.

    It halves images `depth` times, so their side must be a multiple of 2^depth.
    `images` is about how many it is shown in all, in `least_epochs` to `most_epochs` epochs.
    """

    width: int = 16
    depth: int = 3
    images: int = 40_000
    least_epochs: int = 3
    most_epochs: int = 40
    patience: int = 4
    batch: int = 32
    rate: float = 2e-3

    def epochs(self, n: int) -> int:
        """As many as show about `images` images of n."""
        return min(max(-(-self.images // max(n, 1)), self.least_epochs), self.most_epochs)

    def cost(self, n: int, side: int) -> float:
        """Estimated seconds on one core."""
        # Each level has a quarter of the area and four times the weights of the one above.
        level = 9 * self.width**2 * side**2 * (1 + 1 + 3 + 2)
        shown = 0.8 * n * self.epochs(n)
        linear = (3 * side**2) ** 3 / 5e9 if 3 * side**2 <= _WIDEST else 0.0
        return 0.5 + linear + 3.0 * level * (self.depth + 0.5) * shown / _MULTIPLY_ADDS / 2

    def restore(
        self, released: PixelArray, originals: PixelArray, train: Rows, val: Rows, *, seed: int
    ) -> PixelArray:
        """All released images (n, 3, side, side), restored; originals are read in train and val."""
        pairs = released[train], originals[train]
        held = released[val], originals[val]
        found = [self._by_network(*pairs, *held, released, seed=seed)]
        if released[:1].size <= _WIDEST:
            found.append(_by_linear_map(*pairs, *held, released))
        errors = [_error(images[val], originals[val]) for images in found]
        return found[int(np.argmin(errors))]

    def _by_network(
        self,
        x: PixelArray,
        y: PixelArray,
        x_val: PixelArray,
        y_val: PixelArray,
        released: PixelArray,
        *,
        seed: int,
    ) -> PixelArray:
        device = pick_device()
        side = x.shape[-1]
        network = UNet(side, width=self.width, depth=self.depth, noise=1)
        initialise(network, seed, "reverse")
        to_channels_last(network, device)
        optimiser = adamw(network, rate=self.rate, decay=0.0)
        inputs, targets = (torch.from_numpy(np.ascontiguousarray(a)) for a in (x, y))
        size = min(self.batch, max(len(x) // 4, 4))
        per_epoch, epochs = steps_per_epoch(len(x), size), self.epochs(len(x))
        best = BestEpoch(network, self.patience)
        for epoch in range(epochs):
            network.train()
            batches = epoch_batches(len(x), size, seeded(seed, "reverse", epoch))
            for step, rows in enumerate(batches):
                done = epoch * per_epoch + step
                set_rate(optimiser, cosine_rate(self.rate, done, epochs * per_epoch))
                made = _restored(network, inputs[rows].to(device))
                take_step(optimiser, F.l1_loss(made, targets[rows].to(device).float() / 255))
            if not best.look(_error(_in_blocks(network, x_val), y_val)):
                break
        best.restore()
        return _in_blocks(network, released)


def _restored(network: UNet, images: Tensor) -> Tensor:
    """Bytes (b, 3, side, side) to restored images in [0, 1]; the network's noise is not used."""
    x = (images.float() / 255).contiguous(memory_format=torch.channels_last)
    made: Tensor = network(x, torch.zeros(len(x), 1, device=x.device))
    return made


@torch.inference_mode()
def _in_blocks(network: UNet, images: PixelArray) -> PixelArray:
    network.eval()
    device = next(network.parameters()).device
    out = np.empty_like(images)
    for start in range(0, len(images), _BLOCK):
        # A copy: in a worker process, the images are a read-only map of a file.
        piece = torch.from_numpy(images[start : start + _BLOCK].copy())
        made = _restored(network, piece.to(device)).cpu()
        out[start : start + _BLOCK] = (made * 255).round().to(torch.uint8).numpy()
    return out


def _by_linear_map(
    x: PixelArray, y: PixelArray, x_val: PixelArray, y_val: PixelArray, released: PixelArray
) -> PixelArray:
    """Ridge regression of all original values on all released ones; its penalty is chosen on val.

    W = argmin ||Y - X W||^2 + n p v ||W||^2, with v the mean variance of a released value.
    """
    flat = [a.reshape(len(a), -1).astype(np.float32) / 255 for a in (x, y, x_val, released)]
    mean_x, mean_y = flat[0].mean(axis=0), flat[1].mean(axis=0)
    centred, target = flat[0] - mean_x, flat[1] - mean_y
    gram, cross = centred.T @ centred, centred.T @ target
    scale = max(float(np.trace(gram)) / len(gram), 1e-6)
    best, weights = float("inf"), np.zeros_like(cross)
    for penalty in _PENALTIES:
        found = np.linalg.solve(gram + penalty * scale * np.eye(len(gram), dtype=np.float32), cross)
        error = _error(_bytes((flat[2] - mean_x) @ found + mean_y, y_val.shape), y_val)
        if error < best:
            best, weights = error, found
    return _bytes((flat[3] - mean_x) @ weights + mean_y, released.shape)


def _bytes(values: npt.NDArray[np.float32], shape: tuple[int, ...]) -> PixelArray:
    whole: PixelArray = np.rint(values.clip(0, 1) * 255).astype(np.uint8)
    return whole.reshape(shape)


def _error(images: PixelArray, originals: PixelArray) -> float:
    """Mean absolute error in bytes."""
    return float(np.abs(images.astype(np.int16) - originals.astype(np.int16)).mean())
