"""MTCNN's networks with the published weights, against what facenet-pytorch 2.6.0 computes."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from withhold.learn.nets.mtcnn import ONet, PNet, RNet
from withhold.media.face_detector import FILES
from withhold.media.weights import load_into


def waves(height: int, width: int) -> Tensor:
    y, x = torch.meshgrid(
        torch.arange(height, dtype=torch.float64),
        torch.arange(width, dtype=torch.float64),
        indexing="ij",
    )
    parts = [torch.sin(x / (5 + c) + c) * torch.cos(y / (7 - c)) for c in range(3)]
    return torch.stack(parts)[None].float()


def published(name: str) -> PNet | RNet | ONet:
    network = {"pnet": PNet, "rnet": RNet, "onet": ONet}[name]()
    load_into(network, FILES[name].locate())
    return network.eval().requires_grad_(False)


@pytest.mark.parametrize(
    ("name", "side", "moves", "probability"),
    [
        ("pnet", 12, [0.10093553, -0.16266790, 0.02868669, 0.04566148], 0.02421088),
        ("rnet", 24, [-0.03003214, -0.11735332, -0.04761553, 0.16830875], 0.01739935),
        ("onet", 48, [0.13823944, -0.02553297, -0.11504281, -0.09417674], 0.00163012),
    ],
)
def test_the_same_numbers_as_the_published_networks(
    name: str, side: int, moves: list[float], probability: float
) -> None:
    found, face = published(name)(waves(side, side))
    torch.testing.assert_close(found.flatten(), torch.tensor(moves), atol=1e-5, rtol=0)
    torch.testing.assert_close(face.flatten(), torch.tensor([probability]), atol=1e-5, rtol=0)


def test_pnet_sees_every_window_of_12_pixels_by_itself() -> None:
    network, picture = published("pnet"), waves(40, 52)
    moves, face = network(picture)
    assert face.shape == (1, 15, 21)
    for row, column in ((0, 0), (7, 3), (14, 20)):
        window = picture[:, :, 2 * row : 2 * row + 12, 2 * column : 2 * column + 12]
        alone, probability = network(window)
        torch.testing.assert_close(alone[0, :, 0, 0], moves[0, :, row, column])
        torch.testing.assert_close(probability[0, 0, 0], face[0, row, column])
