"""Image and clip models: what every one of them must do."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from withhold.core.errors import UserError
from withhold.learn.nets.channels_last import channels_last, to_channels_last
from withhold.learn.nets.model_registry import CLIP_MODELS, IMAGE_MODELS, clip_model, image_model
from withhold.learn.training import initialise, seeded

NARROW = 0.125
every_model = pytest.mark.parametrize("name", [*IMAGE_MODELS, *CLIP_MODELS])


def make(name: str, classes: int | None = 4) -> nn.Module:
    if name in CLIP_MODELS:
        return clip_model(name, classes, width=NARROW)
    return image_model(name, classes, width=NARROW, side=32)


def batch(name: str, size: int = 4) -> Tensor:
    shape = (size, 3, 8, 32, 32) if name in CLIP_MODELS else (size, 3, 32, 32)
    return torch.rand(shape, generator=seeded(0, name))


# The deepest networks repeat the blocks of resnet50.
@pytest.mark.parametrize("name", [n for n in IMAGE_MODELS if "101" not in n and "152" not in n])
@pytest.mark.parametrize("width", [NARROW, 0.75])
@pytest.mark.parametrize(
    ("side", "shapes"), [(32, [(32, 32), (48, 64), (33, 45)]), (64, [(64, 64), (112, 112)])]
)
def test_images_of_all_sizes_get_scores(
    name: str, width: float, side: int, shapes: list[tuple[int, int]]
) -> None:
    with torch.device("meta"):
        network = image_model(name, 7, width=width, side=side)
        for shape in shapes:
            assert network(torch.rand(2, 3, *shape)).shape == (2, 7)


@pytest.mark.parametrize("name", CLIP_MODELS)
@pytest.mark.parametrize("width", [NARROW, 1.0])
def test_clips_of_all_sizes_get_scores(name: str, width: float) -> None:
    with torch.device("meta"):
        network = clip_model(name, 7, width=width)
        for frames in (8, 11, 16):
            for shape in ((32, 32), (48, 64), (112, 112)):
                assert network(torch.rand(2, 3, frames, *shape)).shape == (2, 7)


@every_model
def test_without_classes_there_are_the_features_that_the_head_takes(name: str) -> None:
    with torch.device("meta"):
        network, headless = make(name, 4), make(name, None)
        head = [m for m in network.modules() if isinstance(m, nn.Linear)][-1]
        assert headless(batch(name).to("meta")).shape == (4, head.in_features)
        assert headless.dimension == head.in_features
        lost = set(network.state_dict()) - set(headless.state_dict())
    assert len(lost) == 2


@every_model
def test_one_seed_makes_equal_networks(name: str) -> None:
    first, again, other = make(name), make(name), make(name)
    for network, seed in ((first, 0), (again, 0), (other, 1)):
        initialise(network, seed)
    states = first.state_dict(), again.state_dict()
    assert all(torch.equal(states[0][key], states[1][key]) for key in states[0])
    x = batch(name)
    assert not torch.equal(first(x), other(x))


@every_model
def test_a_small_step_down_the_gradient_lowers_the_loss(name: str) -> None:
    """By about rate * |gradient|^2: a layer that is not trained would leave that unequal."""
    network = make(name)
    initialise(network, 0)
    network.double()
    x, truth = batch(name, 8).double(), torch.arange(8) % 4

    def loss() -> Tensor:
        return F.cross_entropy(network(x), truth)

    before = loss()
    before.backward()
    gradients = [p.grad for p in network.parameters()]
    assert all(g is not None and bool(g.abs().sum() > 0) for g in gradients)
    square = sum(float((g**2).sum()) for g in gradients if g is not None)
    rate = 1e-6 / square
    with torch.no_grad():
        for p in network.parameters():
            p -= rate * p.grad
        fallen = float(before - loss())
    assert fallen == pytest.approx(1e-6, rel=0.05)


@every_model
def test_channels_last_changes_nothing_but_rounding(name: str) -> None:
    # In double precision: 152 layers of batch norms over few values enlarge single rounding errors.
    network, x = make(name).double(), batch(name).double()
    initialise(network, 0)
    plain = network(x)
    initialise(network, 0)
    to_channels_last(network, torch.device("cpu"))
    x = channels_last(x)
    assert x.stride(1) == 1
    widest = max((p for p in network.parameters() if p.ndim > 3), key=Tensor.numel)
    assert widest.stride(1) == 1
    torch.testing.assert_close(network(x), plain, rtol=1e-6, atol=1e-8)


def test_the_start_of_c3d_keeps_the_size_of_the_signal() -> None:
    """torch's own start would leave 6^-8 of its square after eight convolutions with ReLU."""
    network = clip_model("c3d", 4, width=NARROW)
    initialise(network, 0)
    x = torch.randn(batch("c3d").shape, generator=seeded(1))
    for name in network.path:
        if not name.startswith("pool"):
            x = getattr(network, name)(x)
    assert 0.3 < float((x.detach() ** 2).mean()) < 3


def test_unknown_names_and_widths_are_explained() -> None:
    with pytest.raises(UserError, match=r"no image model 'resnet51'; did you mean 'resnet50'\?"):
        image_model("resnet51", 2)
    with pytest.raises(UserError, match=r"no clip model 'i3d'.*r3d18, r2plus1d18, r3d50, c3d"):
        clip_model("i3d", 2)
    with pytest.raises(UserError, match="the width of image model 'mobilenet-v2' is 0"):
        image_model("mobilenet-v2", 2, width=0)
