"""The update of `meta`: virtual training on the support set, virtual testing on the query set.

    phi' = phi - alpha grad L(phi, D_s)
    g = grad_phi [ L(phi, D_s) + L(phi', D_q) ]
      = grad L(phi, D_s) + v - alpha H v,  v = grad L(phi', D_q), H the Hessian of L(phi, D_s)

H v is one more backward pass through the gradient of the support set, so that the graphs of both
sets are never in memory together.
"""

from __future__ import annotations

from contextlib import nullcontext

import torch
from torch import Tensor, nn
from torch.func import functional_call

from withhold.learn.second_gradients import SecondGradients
from withhold.methods.clips.adversarial.step import ClipPlayers, ClipTask, Losses, objective, update
from withhold.methods.clips.meta.config import MetaConfig
from withhold.methods.clips.networks import Frames, frozen

Weights = dict[str, Tensor]


def meta_step(
    players: ClipPlayers, support: ClipTask, query: ClipTask, config: MetaConfig
) -> Losses:
    """Update the anonymiser; returns what was measured."""
    gradient, found = meta_gradient(players, support, query, config)
    update(players, gradient)
    return found


def meta_gradient(
    players: ClipPlayers, support: ClipTask, query: ClipTask, config: MetaConfig
) -> tuple[tuple[Tensor, ...], Losses]:
    """g, in the order of the anonymiser's parameters, and what was measured."""
    network = players.anonymiser
    weights: Weights = dict(network.named_parameters())
    joint = config.sets == "joint"
    second = config.order == "second" and not joint
    # Gradients by the weights of the readers would be computed twice and thrown away.
    with frozen(players.action, *players.privacy):
        with SecondGradients() if second else nullcontext():
            loss, _, found = objective(players, with_weights(network, weights), support, config)
        g_s = torch.autograd.grad(loss, [*weights.values()], create_graph=second)
        moved = weights
        if not joint:
            moved = {
                name: (p - config.alpha * g).detach().requires_grad_()
                for (name, p), g in zip(weights.items(), g_s, strict=True)
            }
        # The running statistics of batch norms are those of phi: phi' gets a copy of its own.
        tested = with_weights(network, moved, own_statistics=not joint)
        query_loss, _, query_found = objective(players, tested, query, config)
        v = torch.autograd.grad(query_loss, [*moved.values()])
        bent = torch.autograd.grad(g_s, [*weights.values()], grad_outputs=v) if second else None
    gradient = [a.detach() + b for a, b in zip(g_s, v, strict=True)]
    if bent is not None:
        gradient = [g - config.alpha * h for g, h in zip(gradient, bent, strict=True)]
    found["query_suppress"] = query_found["suppress"]
    found["query_action"] = query_found["action"]
    return tuple(gradient), found


def with_weights(network: nn.Module, weights: Weights, *, own_statistics: bool = False) -> Frames:
    """The network as a function with other weights."""
    everything = {**weights, **dict(network.named_buffers())}
    if own_statistics:
        everything |= {name: b.clone() for name, b in network.named_buffers()}

    def change(frames: Tensor) -> Tensor:
        made: Tensor = functional_call(network, everything, (frames,))
        return made

    return change
