"""The face detector: MTCNN (Zhang et al., 2016), three networks in a row.

PNet scans the picture at many sizes, so that a face of any size fits its 12 x 12 window once; RNet
and ONet judge the candidates again. After each step, boxes that overlap are one face, and the most
probable is kept. Weights and constants are those of facenet-pytorch.

A filter that hides faces needs this detector: dlib's misses seven times as many (21 instead of 3 of
1,000 faces of UTKFace). `dlib-face` uses dlib's, whose boxes its landmarks were trained on.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import adaptive_avg_pool2d

from withhold.learn.nets.mtcnn import ONet, PNet, RNet
from withhold.media.decode.pictures import sized_between
from withhold.media.regions import box_overlaps
from withhold.media.weights import PackageFile, load_into
from withhold.records.samples import ByteArray, FloatArray

_WINDOW, _STEP, _SHRINK = 12, 2, 0.709
_LEAST_FACE, _LEAST_SIDE = 20, 120  # pixels
_THRESHOLDS = (0.6, 0.7, 0.7)  # probabilities of PNet, RNet and ONet
# Candidates that a network judges at once, to bound the memory.
_BATCH = 512


def _file(name: str, sha256: str) -> PackageFile:
    return PackageFile(
        "facenet_pytorch", f"data/{name}.pt", sha256, "facenet-pytorch==2.6.0", "MIT"
    )


FILES = {
    "pnet": _file("pnet", "a2a71925e0b9996a42f63e47efc1ca19043e69558b5c523b978d611dfae49c8f"),
    "rnet": _file("rnet", "bbb937de72efc9ef83b186c49f5f558467a1d7e3453a8ece0d71a886633f6a86"),
    "onet": _file("onet", "165bfbe42940416ccfb977545cf0e976d5bf321f67083ae2aaaa5c764280118d"),
}


class FaceDetector:
    """Finds faces of 20 pixels and more; may be used from several threads at once.

    A picture whose shorter side is under 120 pixels is enlarged first, since even a large face has
    few pixels in a thumbnail. One whose longer side is over `most_side` is reduced, which
    bounds time and memory.
    """

    def __init__(self, *, most_side: int = 1600) -> None:
        self.most_side = most_side
        self._pnet, self._rnet, self._onet = PNet(), RNet(), ONet()
        for name, network in zip(FILES, (self._pnet, self._rnet, self._onet), strict=True):
            load_into(network, FILES[name].locate())
            network.eval().requires_grad_(False)

    @torch.inference_mode()
    def boxes(self, pixels: ByteArray) -> FloatArray:
        """Faces of a picture (h, w, 3): (k, 5), x0, y0, x1, y1, probability; most probable first.

        Boxes are in pixels of the picture as given, and inside it.
        """
        sized = sized_between(pixels, least=_LEAST_SIDE, most=self.most_side)
        picture = torch.tensor(sized).permute(2, 0, 1)[None].float()
        found, moves = self._look(picture, self._scan(picture), self._rnet, _THRESHOLDS[1])
        distinct = _distinct(found, 0.7)
        found = _square(_moved(found[distinct], moves[distinct]))
        found = _moved(*self._look(picture, found, self._onet, _THRESHOLDS[2]))
        boxes: FloatArray = found[_distinct(found, 0.7, of_the_smaller=True)].numpy()
        height, width = pixels.shape[:2]
        scale = np.array([width / sized.shape[1], height / sized.shape[0]] * 2, np.float32)
        boxes[:, :4] = np.clip(boxes[:, :4] * scale, 0, [width, height] * 2)
        return boxes

    def _scan(self, picture: Tensor) -> Tensor:
        """Candidates (k, 5) of PNet at every size of the picture, as squares."""
        height, width = picture.shape[2:]
        some = [torch.empty(0, 9)]
        for scale in _scales(min(height, width)):
            size = (int(height * scale + 1), int(width * scale + 1))
            moves, probability = self._pnet(_input(adaptive_avg_pool2d(picture, size)))
            y, x = torch.nonzero(probability[0] >= _THRESHOLDS[0], as_tuple=True)
            corner = torch.stack([x, y], dim=1) * _STEP
            box = [(corner + 1) / scale, (corner + _WINDOW) / scale]
            candidates = torch.cat(
                [torch.cat(box, dim=1).floor(), probability[0, y, x, None], moves[0, :, y, x].T],
                dim=1,
            )
            some.append(candidates[_distinct(candidates, 0.5)])
        found = torch.cat(some)
        found = found[_distinct(found, 0.7)]
        sides = (found[:, 2:4] - found[:, :2]).repeat(1, 2)
        return _square(torch.cat([found[:, :4] + found[:, 5:] * sides, found[:, 4:5]], dim=1))

    def _look(
        self, picture: Tensor, boxes: Tensor, network: RNet | ONet, threshold: float
    ) -> tuple[Tensor, Tensor]:
        """The boxes (k, 5) that a network takes for faces, and how they should move (k, 4)."""
        crops, kept = _crops(picture, boxes, network.side)
        looks = [network(some) for some in crops.split(_BATCH)]
        moves, probability = (torch.cat(part) for part in zip(*looks, strict=True))
        face = probability > threshold
        found = torch.cat([boxes[kept][face, :4], probability[face, None]], dim=1)
        return found, moves[face]


def _scales(shorter: int) -> Iterator[float]:
    scale = _WINDOW / _LEAST_FACE
    while shorter * scale >= _WINDOW:
        yield scale
        scale *= _SHRINK


def _moved(boxes: Tensor, moves: Tensor) -> Tensor:
    sides = (boxes[:, 2:4] - boxes[:, :2] + 1).repeat(1, 2)
    return torch.cat([boxes[:, :4] + moves * sides, boxes[:, 4:]], dim=1)


def _input(pixels: Tensor) -> Tensor:
    return (pixels - 127.5) / 128


def _crops(picture: Tensor, boxes: Tensor, side: int) -> tuple[Tensor, list[int]]:
    """The pixels in the boxes, (k', 3, side, side), and which boxes have any."""
    height, width = picture.shape[2:]
    crops, kept = [torch.empty(0, 3, side, side)], []
    # The weights were trained with corners counted from 1.
    for i, (x0, y0, x1, y1) in enumerate(boxes[:, :4].trunc().int().tolist()):
        left, top = max(x0, 1) - 1, max(y0, 1) - 1
        right, bottom = min(x1, width), min(y1, height)
        if right > left and bottom > top:
            crops.append(adaptive_avg_pool2d(picture[:, :, top:bottom, left:right], side))
            kept.append(i)
    return _input(torch.cat(crops)), kept


def _square(boxes: Tensor) -> Tensor:
    """Squares about the same middles, with the longer side."""
    sides = boxes[:, 2:4] - boxes[:, :2]
    longer = sides.amax(dim=1, keepdim=True)
    corner = boxes[:, :2] + (sides - longer) / 2
    return torch.cat([corner, corner + longer, boxes[:, 4:]], dim=1)


def _distinct(boxes: Tensor, most: float, *, of_the_smaller: bool = False) -> Tensor:
    """The boxes that stay if no two may overlap by more than `most`; the most probable first.

    Overlap is the common area over that of both together, or over that of the smaller one.
    """
    values = boxes.numpy()
    area = np.prod(np.maximum(values[:, 2:4] - values[:, :2], 0), axis=1)
    # Boxes cut off at the edge may show the same and be equally probable: then the smallest first.
    order = np.lexsort((area, -values[:, 4]))
    stay = []
    while len(order):
        first, order = order[0], order[1:]
        stay.append(int(first))
        shared = box_overlaps(values[[first]], values[order], of_the_smaller=of_the_smaller)[0]
        order = order[shared <= most]
    return torch.tensor(stay, dtype=torch.long)
