"""`noisy-features`: the losses against their equation, what they move, and no private label."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from methods.clips.toy_clips import clips, fitted
from support import Recorder, key_of
from withhold.core.errors import UserError
from withhold.learn.nets.r3d18_net import R3D18Net
from withhold.learn.training import initialise
from withhold.methods import read_config
from withhold.methods.clips.noisy_features import gram, losses


def action_model() -> R3D18Net:
    network = R3D18Net(3, width=0.1)
    initialise(network, 0)
    return network.double().eval()


def random_clips(seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(2, 4, 3, 16, 16, generator=generator, dtype=torch.float64)


def test_the_losses_are_those_of_the_equation() -> None:
    action = action_model()
    made, x, noise = (random_clips(seed) for seed in range(3))
    content, style, scores = losses(action, made, x, noise)
    phi = [action.maps(clip.transpose(1, 2)) for clip in (made, x, noise)]
    a, b = phi[0][3], phi[1][3]
    torch.testing.assert_close(content, ((a - b) ** 2).sum() / (b**2).sum())
    parts = []
    for j in range(3):
        g, h = (torch.einsum("bcthw,bdthw->bcd", p[j], p[j]) for p in (phi[0], phi[2]))
        parts.append(((g - h) ** 2).sum() / (h**2).sum())
    torch.testing.assert_close(style, sum(parts) / 3)
    torch.testing.assert_close(scores, action(made.transpose(1, 2)))


def test_originals_have_no_loss_of_content_and_noise_none_of_style() -> None:
    action, x, noise = action_model(), random_clips(0), 3 * random_clips(1)
    content, style, _ = losses(action, x, x, noise)
    assert content == 0
    assert style > 0.01
    content, style, _ = losses(action, noise, x, noise)
    assert style == 0
    assert content > 0.01


def test_a_gram_matrix_forgets_places() -> None:
    maps = torch.rand(2, 5, 3, 4, 4, dtype=torch.float64)
    mixed = maps.flatten(2)[:, :, torch.randperm(48)].view_as(maps)
    torch.testing.assert_close(gram(maps), gram(mixed))


def test_labels_of_the_suppressed_attribute_change_nothing() -> None:
    said = Recorder()
    one, two = (
        fitted("noisy-features", data, key=key_of(0), progress=said)
        for data in (clips(), clips(secret="of other clips"))
    )
    assert "'noisy-features' learns without these labels" in said.text
    for name, array in one.modifier.state().items():
        np.testing.assert_array_equal(array, two.modifier.state()[name], err_msg=name)


def test_more_weight_brings_the_style_nearer_to_noise() -> None:
    found = [
        fitted("noisy-features", clips(), key=key_of(0), weight=weight, epochs=12).history[-1]
        for weight in (0, 10)
    ]
    assert found[1]["style"] < found[0]["style"]
    assert found[1]["content"] > found[0]["content"]


def test_the_action_model_needs_stages() -> None:
    with pytest.raises(UserError, match="c3d has no stages to compare; use r3d18"):
        read_config("noisy-features", {"action_model": "c3d"})
    paper = read_config("noisy-features", {"preset": "paper"})
    assert paper.model_dump()["action_model"] == "r3d18"
