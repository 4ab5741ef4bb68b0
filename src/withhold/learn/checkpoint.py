"""Everything that a training loop changes, saved together and restored to the same bytes.

Parts are named: networks, optimisers, schedulers and random generators, any number of each.
One safetensors file holds their tensors, and its metadata everything that is not a tensor. The file
is written atomically, so a killed process leaves either the old state or the new one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import safetensors
import torch
from safetensors.torch import save
from torch import Tensor, nn

from withhold.core.atomic import write_bytes

Scheduler = torch.optim.lr_scheduler.LRScheduler
Part = nn.Module | torch.optim.Optimizer | Scheduler | torch.Generator
Tensors = dict[str, Tensor]
_FIELD = "withhold"


def save_checkpoint(path: Path, parts: Mapping[str, Part], note: Any = None) -> None:
    """Write the state of all parts; `note` is JSON that `load_checkpoint` gives back."""
    tensors: Tensors = {}
    numbers: dict[str, Any] = {}
    for name, part in parts.items():
        found, numbers[name] = _state(part)
        tensors |= {f"{name}/{key}": t.detach().cpu().contiguous() for key, t in found.items()}
    text = json.dumps({"note": note, "parts": numbers})
    # safetensors refuses tensors that share memory, as tied weights do; a copy of each is kept.
    whole = {key: tensor.clone() for key, tensor in tensors.items()}
    write_bytes(path, save(whole, {_FIELD: text}), sync=False)


def load_checkpoint(path: Path, parts: Mapping[str, Part]) -> Any:
    """Restore all parts and return the note; None if there is no complete checkpoint.

    A power cut can leave a torn file; nothing is restored from it.
    """
    if not path.exists():
        return None
    try:
        with safetensors.safe_open(str(path), framework="pt") as file:
            tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
            text = json.loads((file.metadata() or {})[_FIELD])
        note, numbers = text["note"], text["parts"]
    except (safetensors.SafetensorError, KeyError, TypeError, ValueError, OSError):
        return None
    if set(numbers) != set(parts):
        return None
    for name, part in parts.items():
        own = {
            key.removeprefix(f"{name}/"): t
            for key, t in tensors.items()
            if key.startswith(f"{name}/")
        }
        _restore(part, own, numbers[name])
    return note


def _state(part: Part) -> tuple[Tensors, Any]:
    """The tensors of a part, and what else it needs as JSON."""
    if isinstance(part, torch.Generator):
        return {"state": part.get_state()}, None
    state = part.state_dict()
    if isinstance(part, nn.Module):
        return dict(state), None
    if isinstance(part, torch.optim.Optimizer):
        tensors = {
            f"{number}/{key}": torch.as_tensor(value)
            for number, moments in state["state"].items()
            for key, value in moments.items()
            if value is not None
        }
        return tensors, state["param_groups"]
    return {}, state


def _restore(part: Part, tensors: Tensors, numbers: Any) -> None:
    if isinstance(part, torch.Generator):
        part.set_state(tensors["state"])
    elif isinstance(part, nn.Module):
        part.load_state_dict(tensors)
    elif isinstance(part, torch.optim.Optimizer):
        state: dict[int, Tensors] = {}
        for name, tensor in tensors.items():
            number, key = name.split("/", 1)
            state.setdefault(int(number), {})[key] = tensor
        groups = [_as_before(g) for g in numbers]
        part.load_state_dict({"state": state, "param_groups": groups})
        for parameter, moments in part.state.items():
            for key, tensor in moments.items():
                if tensor.shape == parameter.shape:
                    # In memory as its parameter (channels last, perhaps): a fused step reads both
                    # in the order in which they lie.
                    moments[key] = torch.empty_like(parameter).copy_(tensor)
    else:
        part.load_state_dict(numbers)


def _as_before(group: dict[str, Any]) -> dict[str, Any]:
    """JSON makes lists of tuples, such as the betas of Adam."""
    return {k: tuple(v) if isinstance(v, list) and k != "params" else v for k, v in group.items()}
