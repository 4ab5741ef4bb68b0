"""R3D-18: the names and sizes of the published weights, and what the network computes."""

from __future__ import annotations

import torch

from withhold.learn.nets.r3d18_net import R3D18Net, empty_r3d18, random_r3d18

NORM = ("weight", "bias", "running_mean", "running_var", "num_batches_tracked")
# Written by hand after the published file: per stage its blocks, and who has a shortcut to learn.
BLOCKS = [
    "layer1.0", "layer1.1", "layer2.0", "layer2.1", "layer3.0", "layer3.1", "layer4.0", "layer4.1"
]  # fmt: skip
SHORTCUTS = ["layer2.0", "layer3.0", "layer4.0"]


def test_parameters_have_the_published_names_and_number() -> None:
    pairs = ["stem.0 stem.1"]
    for block in BLOCKS:
        pairs += [f"{block}.conv1.0 {block}.conv1.1", f"{block}.conv2.0 {block}.conv2.1"]
        if block in SHORTCUTS:
            pairs.append(f"{block}.downsample.0 {block}.downsample.1")
    names = {"fc.weight", "fc.bias"}
    for pair in pairs:
        convolution, norm = pair.split()
        names |= {f"{convolution}.weight", *(f"{norm}.{part}" for part in NORM)}
    with torch.device("meta"):
        network = R3D18Net(400)
    assert set(network.state_dict()) == names
    assert sum(p.numel() for p in network.parameters()) == 33_371_472


def test_shapes_of_known_parameters() -> None:
    with torch.device("meta"):
        state = R3D18Net(400).state_dict()
    known = {
        "stem.0.weight": (64, 3, 3, 7, 7),
        "layer1.0.conv1.0.weight": (64, 64, 3, 3, 3),
        "layer2.0.conv1.0.weight": (128, 64, 3, 3, 3),
        "layer3.0.downsample.0.weight": (256, 128, 1, 1, 1),
        "layer4.1.conv2.0.weight": (512, 512, 3, 3, 3),
        "layer4.1.conv2.1.running_var": (512,),
        "fc.weight": (400, 512),
    }
    assert {name: tuple(state[name].shape) for name in known} == known


def test_stages_halve_time_and_place() -> None:
    network = random_r3d18(0).eval()
    sizes = []
    with torch.inference_mode():
        x = network.stem(torch.zeros(1, 3, 16, 32, 32))
        for stage in (network.layer1, network.layer2, network.layer3, network.layer4):
            x = stage(x)
            sizes.append(tuple(x.shape[1:]))
    assert sizes == [(64, 16, 16, 16), (128, 8, 8, 8), (256, 4, 4, 4), (512, 2, 2, 2)]


def test_random_weights_follow_their_seed_and_leave_torchs_alone() -> None:
    torch.manual_seed(7)
    before = torch.random.get_rng_state()
    first, again, other = (random_r3d18(seed).state_dict() for seed in (0, 0, 1))
    assert torch.equal(torch.random.get_rng_state(), before)
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert not torch.equal(first["stem.0.weight"], other["stem.0.weight"])
    # He by fan-out: deviation sqrt(2 / (outputs * 27)).
    weight = first["layer4.1.conv1.0.weight"]
    assert abs(float(weight.std()) / (2 / (512 * 27)) ** 0.5 - 1) < 0.01
    assert float(first["layer4.1.conv1.1.running_var"].min()) == 1


def test_a_head_gives_scores_of_the_features() -> None:
    with_head, without = random_r3d18(0, classes=5).eval(), empty_r3d18().eval()
    assert with_head.fc is not None
    state = {k: v for k, v in with_head.state_dict().items() if not k.startswith("fc.")}
    without.load_state_dict(state)
    with torch.inference_mode():
        clip = torch.randn(1, 3, 4, 16, 16, generator=torch.Generator().manual_seed(0))
        features = without(clip)
        assert features.shape == (1, 512)
        torch.testing.assert_close(with_head(clip), with_head.fc(features))
