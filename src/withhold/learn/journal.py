"""What a fit has done so far, so that it can be interrupted and resumed to the same bytes.

A fit is a sequence of *stages* (an attribute model, the contrastive encoder, the modifier). After
each epoch a stage's weights and optimiser state go to one safetensors file, written atomically.
Batches of an epoch are drawn from (seed, stage, epoch) and not from a running generator, so
nothing else need be saved. A stage is found again by its fingerprint: the digest of its data,
its settings, its seed, and what else decides the bits of a float. The secret key of the fit is
kept beside them, so that a resumed fit has the key that it began with.
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import safetensors
import torch
from safetensors.torch import load_file, save
from torch import Tensor, nn

from withhold.core.atomic import write_bytes, writing_to
from withhold.core.errors import UserError
from withhold.core.key_file import new_key, read_key, replace_key
from withhold.learn.nets.device import pick_device

Entry = dict[str, Any]
KEY_FILE = "key"


class Journal:
    """Stages by name, and the key of the fit; in memory only where no folder is given."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder
        self._key: bytes | None = None
        self._history: dict[str, list[Entry]] = {}
        if folder is not None:
            with writing_to(folder):
                folder.mkdir(parents=True, exist_ok=True)

    @property
    def history(self) -> list[Entry]:
        """One entry per stage and epoch, in the order the stages began."""
        return [entry for entries in self._history.values() for entry in entries]

    @property
    def key(self) -> bytes:
        """The secret key of this fit; every method takes the key of its draws from here.

        It is the one that was given, else the one that an interrupted fit left in the folder, else
        a random one.
        """
        if self._key is None:
            self._key = self._kept_key() or new_key()
            self.use_key(self._key)
        return self._key

    def use_key(self, key: bytes | None) -> None:
        """Use this key, or the one described under `key`, and keep it in the folder from now on."""
        key = key or self.key
        self._key = key
        if self.folder is not None and key != self._kept_key():
            replace_key(self.folder / KEY_FILE, key)

    def _kept_key(self) -> bytes | None:
        if self.folder is None or not (self.folder / KEY_FILE).exists():
            return None
        with suppress(UserError):  # a torn file is replaced
            return read_key(self.folder / KEY_FILE)
        return None

    def forget_key(self) -> None:
        """Remove the key from the folder: the fit is done, and the next one gets its own."""
        if self.folder is not None:
            with suppress(OSError):
                (self.folder / KEY_FILE).unlink(missing_ok=True)

    def remove_if_empty(self) -> None:
        """Remove the folder if no stage was saved in it."""
        if self.folder is None or any(f.name != KEY_FILE for f in self.folder.iterdir()):
            return
        self.forget_key()
        with suppress(OSError):
            self.folder.rmdir()

    def stage(self, name: str, **settings: Any) -> StageJournal:
        """The journal of one stage; what is in `settings` decides whether old work is used."""
        everything = {
            "settings": settings,
            "torch": torch.__version__,
            "threads": torch.get_num_threads(),
            "machine": platform.machine(),
            "device": str(pick_device()),
        }
        text = json.dumps(everything, sort_keys=True, default=str)
        print_ = hashlib.sha256(text.encode()).hexdigest()[:16]
        entries: list[Entry] = []
        self._history[name] = entries
        return StageJournal(name, self._path(name, print_), entries)

    def kept(
        self, name: str, print_: str, make: Callable[[], dict[str, Tensor]]
    ) -> dict[str, Tensor]:
        """Tensors that are dear to make: from the folder where they were made before."""
        path = self._path(name, hashlib.sha256(print_.encode()).hexdigest()[:16])
        if path is not None and path.exists():
            with suppress(safetensors.SafetensorError, OSError):  # a torn file is made again
                return load_file(path)
        made = make()
        if path is not None:
            write_bytes(path, save({k: v.contiguous() for k, v in made.items()}), sync=False)
        return made

    def _path(self, name: str, print_: str) -> Path | None:
        if self.folder is None:
            return None
        safe = "".join(c if c.isalnum() or c in "-_" else "_" for c in name)
        return self.folder / f"{safe}-{print_}.safetensors"


class StageJournal:
    """Epochs of one stage."""

    def __init__(self, name: str, path: Path | None, entries: list[Entry]) -> None:
        self.name, self.path, self.entries = name, path, entries

    def resume(self, network: nn.Module, optimiser: torch.optim.Optimizer | None = None) -> int:
        """Load the newest state into `network` and `optimiser`; returns the epochs done."""
        if self.path is None or not self.path.exists():
            return 0
        try:
            with safetensors.safe_open(str(self.path), framework="pt") as file:
                tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
                note = json.loads((file.metadata() or {})["withhold"])
        except (safetensors.SafetensorError, KeyError, ValueError, OSError):
            # A power cut can leave a torn file; the stage is then simply done again.
            return 0
        network.load_state_dict(_under("network.", tensors))
        if optimiser is not None:
            _load_optimiser(optimiser, _under("optimiser.", tensors))
        self.entries[:] = note["entries"]
        return int(note["epoch"])

    def save(
        self, epoch: int, network: nn.Module, optimiser: torch.optim.Optimizer, entry: Entry
    ) -> None:
        """Record that `epoch` epochs are done."""
        self.entries.append({"stage": self.name, "epoch": epoch, **entry})
        if self.path is None:
            return
        tensors = {f"network.{k}": v for k, v in network.state_dict().items()}
        tensors |= {f"optimiser.{k}": v for k, v in _optimiser_tensors(optimiser).items()}
        note = json.dumps({"epoch": epoch, "entries": self.entries})
        cpu = {k: v.detach().cpu().contiguous() for k, v in tensors.items()}
        write_bytes(self.path, save(cpu, {"withhold": note}), sync=False)


def _under(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {k.removeprefix(prefix): v for k, v in tensors.items() if k.startswith(prefix)}


def _optimiser_tensors(optimiser: torch.optim.Optimizer) -> dict[str, Tensor]:
    """Moments and step counts by parameter number, flat."""
    state = optimiser.state_dict()["state"]
    return {
        f"{number}.{key}": torch.as_tensor(value)
        for number, moments in state.items()
        for key, value in moments.items()
        if value is not None
    }


def _load_optimiser(optimiser: torch.optim.Optimizer, tensors: dict[str, Tensor]) -> None:
    state: dict[int, dict[str, Tensor]] = {}
    for name, tensor in tensors.items():
        number, key = name.split(".", 1)
        state.setdefault(int(number), {})[key] = tensor
    optimiser.load_state_dict(
        {"state": state, "param_groups": optimiser.state_dict()["param_groups"]}
    )
