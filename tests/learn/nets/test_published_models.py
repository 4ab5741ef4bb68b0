"""Names, shapes, parameters and cost of the published networks, written down from their tables."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from withhold.learn.nets.model_registry import CLIP_MODELS, clip_model, image_model
from withhold.learn.nets.multiply_adds import multiply_adds


def published(name: str, *, width: float = 1.0, side: int = 224) -> nn.Module:
    """Without memory for its parameters, with the classes of ImageNet, Kinetics or UCF101."""
    with torch.device("meta"):
        if name in CLIP_MODELS:
            return clip_model(name, 101 if name == "c3d" else 400, width=width)
        return image_model(name, 1000, width=width, side=side)


@pytest.mark.parametrize(
    ("name", "width", "count"),
    [
        ("resnet18", 1, 11_689_512),
        ("resnet34", 1, 21_797_672),
        ("resnet50", 1, 25_557_032),
        ("resnet101", 1, 44_549_160),
        ("resnet152", 1, 60_192_808),
        ("resnet50-v2", 1, 25_549_352),
        ("mobilenet-v1", 1, 4_231_976),
        ("mobilenet-v1", 0.75, 2_585_560),
        ("mobilenet-v1", 0.5, 1_331_592),
        ("mobilenet-v1", 0.25, 470_072),
        ("mobilenet-v2", 1, 3_504_872),
        ("mobilenet-v2", 0.5, 1_968_680),
        ("inception-v1", 1, 6_624_904),
        ("r3d18", 1, 33_371_472),
        ("r2plus1d18", 1, 31_505_325),
        # resnet50 with 27 for 9 weights in each 3 x 3, 343 for 49 in the first, and 400 classes
        ("r3d50", 1, 25_557_032 + 18 * 1_257_472 + 56_448 - 600 * 2_049),
        ("c3d", 1, 78_409_573),
    ],
)
def test_number_of_parameters(name: str, width: float, count: int) -> None:
    assert sum(p.numel() for p in published(name, width=width).parameters()) == count


def test_inception_v2_has_the_parameters_of_the_published_one_less_its_biases() -> None:
    network = published("inception-v2")
    biases = sum(m.out_channels for m in network.modules() if isinstance(m, nn.Conv2d))
    assert sum(p.numel() for p in network.parameters()) + biases == 11_295_240


NAMES: dict[str, tuple[int, dict[str, tuple[int, ...]]]] = {
    "resnet18": (
        122,
        {
            "conv1.weight": (64, 3, 7, 7),
            "bn1.running_var": (64,),
            "layer1.0.conv1.weight": (64, 64, 3, 3),
            "layer1.1.bn2.num_batches_tracked": (),
            "layer2.0.downsample.0.weight": (128, 64, 1, 1),
            "layer2.0.downsample.1.bias": (128,),
            "layer4.1.conv2.weight": (512, 512, 3, 3),
            "fc.weight": (1000, 512),
        },
    ),
    "resnet50": (
        320,
        {
            "layer1.0.conv1.weight": (64, 64, 1, 1),
            "layer1.0.conv3.weight": (256, 64, 1, 1),
            "layer1.0.downsample.0.weight": (256, 64, 1, 1),
            "layer2.0.conv2.weight": (128, 128, 3, 3),
            "layer3.5.bn3.weight": (1024,),
            "layer4.2.conv1.weight": (512, 2048, 1, 1),
            "fc.bias": (1000,),
        },
    ),
    "resnet152": (932, {"layer3.35.conv3.weight": (1024, 256, 1, 1)}),
    "mobilenet-v1": (
        164,
        {
            "model.0.0.weight": (32, 3, 3, 3),
            "model.1.0.weight": (32, 1, 3, 3),
            "model.1.3.weight": (64, 32, 1, 1),
            "model.13.4.running_mean": (1024,),
            "fc.weight": (1000, 1024),
        },
    ),
    "mobilenet-v2": (
        314,
        {
            "features.0.0.weight": (32, 3, 3, 3),
            "features.0.1.weight": (32,),
            "features.1.conv.0.0.weight": (32, 1, 3, 3),
            "features.1.conv.1.weight": (16, 32, 1, 1),
            "features.1.conv.2.weight": (16,),
            "features.2.conv.0.0.weight": (96, 16, 1, 1),
            "features.2.conv.1.0.weight": (96, 1, 3, 3),
            "features.2.conv.2.weight": (24, 96, 1, 1),
            "features.17.conv.3.running_var": (320,),
            "features.18.0.weight": (1280, 320, 1, 1),
            "classifier.1.weight": (1000, 1280),
        },
    ),
    "inception-v1": (
        344,
        {
            "conv1.conv.weight": (64, 3, 7, 7),
            "conv3.bn.weight": (192,),
            "inception3a.branch1.conv.weight": (64, 192, 1, 1),
            "inception3a.branch2.1.conv.weight": (128, 96, 3, 3),
            "inception3a.branch3.1.conv.weight": (32, 16, 3, 3),
            "inception5b.branch4.1.conv.weight": (128, 832, 1, 1),
            "fc.weight": (1000, 1024),
        },
    ),
    "r3d18": (
        122,
        {"stem.0.weight": (64, 3, 3, 7, 7), "layer2.0.downsample.0.weight": (128, 64, 1, 1, 1)},
    ),
    "r2plus1d18": (
        224,
        {
            "stem.0.weight": (45, 3, 1, 7, 7),
            "stem.3.weight": (64, 45, 3, 1, 1),
            "stem.4.running_mean": (64,),
            "layer1.0.conv1.0.0.weight": (144, 64, 1, 3, 3),
            "layer1.0.conv1.0.1.weight": (144,),
            "layer1.0.conv1.0.3.weight": (64, 144, 3, 1, 1),
            "layer1.0.conv1.1.weight": (64,),
            "layer2.0.conv1.0.0.weight": (230, 64, 1, 3, 3),
            "layer2.0.conv2.0.0.weight": (230, 128, 1, 3, 3),
            "layer2.1.conv1.0.0.weight": (288, 128, 1, 3, 3),
            "layer2.0.downsample.0.weight": (128, 64, 1, 1, 1),
            "layer4.1.conv2.0.3.weight": (512, 1152, 3, 1, 1),
            "fc.weight": (400, 512),
        },
    ),
    "r3d50": (
        320,
        {
            "conv1.weight": (64, 3, 7, 7, 7),
            "bn1.running_var": (64,),
            "layer1.0.conv1.weight": (64, 64, 1, 1, 1),
            "layer1.0.downsample.0.weight": (256, 64, 1, 1, 1),
            "layer2.0.conv2.weight": (128, 128, 3, 3, 3),
            "layer2.0.downsample.1.bias": (512,),
            "layer3.5.bn3.weight": (1024,),
            "layer4.2.conv1.weight": (512, 2048, 1, 1, 1),
            "fc.weight": (400, 2048),
        },
    ),
    "c3d": (
        22,
        {
            "conv1.weight": (64, 3, 3, 3, 3),
            "conv3a.bias": (256,),
            "conv5b.weight": (512, 512, 3, 3, 3),
            "fc6.weight": (4096, 8192),
            "fc7.weight": (4096, 4096),
            "fc8.weight": (101, 4096),
        },
    ),
}


@pytest.mark.parametrize("name", NAMES)
def test_parameters_have_the_published_names_and_shapes(name: str) -> None:
    entries, known = NAMES[name]
    state = published(name).state_dict()
    assert len(state) == entries
    assert {key: tuple(state[key].shape) for key in known} == known


@pytest.mark.parametrize("name", ["resnet50", "mobilenet-v1", "mobilenet-v2", "inception-v1"])
def test_the_side_changes_no_parameter(name: str) -> None:
    large, small = published(name).state_dict(), published(name, side=32).state_dict()
    assert {k: v.shape for k, v in large.items()} == {k: v.shape for k, v in small.items()}


@pytest.mark.parametrize(
    ("name", "billions"),
    [
        ("resnet18", 1.814),
        ("resnet34", 3.664),
        ("resnet50", 4.089),
        ("resnet101", 7.801),
        ("resnet152", 11.514),
        ("mobilenet-v1", 0.569),
        ("mobilenet-v2", 0.301),
        ("inception-v1", 1.498),
        ("r3d18", 40.697),
        ("r2plus1d18", 40.519),
        ("c3d", 38.547),
    ],
)
def test_multiply_adds_of_one_published_sample(name: str, billions: float) -> None:
    shape = (3, 16, 112, 112) if name in CLIP_MODELS else (3, 224, 224)
    assert round(multiply_adds(published(name), *shape) / 1e9, 3) == billions


def test_counting_multiply_adds_leaves_a_network_as_it_was() -> None:
    network = image_model("mobilenet-v2", 3, width=0.25, side=32).train()
    before = {key: value.clone() for key, value in network.state_dict().items()}
    layer = nn.Conv2d(2, 4, 3, padding=1)
    assert multiply_adds(layer, 2, 5, 6) == 5 * 6 * 4 * 2 * 9
    assert multiply_adds(network, 3, 32, 32) > 0
    after = network.state_dict()
    assert all(torch.equal(before[key], after[key]) for key in before)
    assert network.training


def test_r3d50_halves_published_clips_as_published() -> None:
    with torch.device("meta"):
        found = clip_model("r3d50", 3).maps(torch.zeros(1, 3, 16, 112, 112))
    assert [tuple(x.shape[1:]) for x in found] == [
        (256, 8, 28, 28), (512, 4, 14, 14), (1024, 2, 7, 7), (2048, 1, 4, 4)
    ]  # fmt: skip


def test_c3d_pools_published_clips_as_published() -> None:
    """The pools of the original, without rounding up, on what enters the last of them."""
    network = clip_model("c3d", 3, width=0.125)
    x = torch.randn(1, 64, 2, 7, 7, generator=torch.Generator().manual_seed(0))
    want = nn.functional.max_pool3d(x, 2, padding=(0, 1, 1))
    assert want.shape == (1, 64, 1, 4, 4)
    assert torch.equal(network.fit(network.pool5(x)), want)
