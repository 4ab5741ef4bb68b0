"""What a fit has done so far, so that it can be interrupted and resumed to the same bytes.

A fit is a sequence of *stages* (an attribute model, the contrastive encoder, the modifier). After
each epoch, everything that a stage changes (networks, optimisers) goes to one checkpoint. Batches
of an epoch are drawn from (seed, stage, epoch) and not from a running generator. A stage is found
again by its fingerprint: the digest of its data, its settings, its seed, and everything else that
affects the bits of a float. The secret key of the fit is kept beside the checkpoints, so a resumed
fit has the key that it began with.
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import safetensors
import torch
from safetensors.torch import load_file, save
from torch import Tensor

from withhold.core.atomic import write_bytes, writing_to
from withhold.core.errors import UserError
from withhold.core.key_file import new_key, read_key, replace_key
from withhold.core.progress import Progress, Stage
from withhold.learn.checkpoint import Part, load_checkpoint, save_checkpoint
from withhold.learn.nets.device import pick_device

Entry = dict[str, Any]
Watch = Callable[[Entry], None]
KEY_FILE = "key"


class Journal:
    """Stages by name, and the key of the fit; in memory only where no folder is given.

    Pictures of the training go to the folder `pictures`, if one is given. `watch` is told each
    entry of the history, those of an interrupted fit included.
    """

    def __init__(
        self,
        folder: Path | None = None,
        *,
        pictures: Path | None = None,
        watch: Watch | None = None,
    ) -> None:
        self.folder, self.pictures = folder, pictures
        self.watch = watch
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

        It is the key that was given, or the one that an interrupted fit left in the folder, or a
        random one.
        """
        if self._key is None:
            self._key = self._kept_key() or new_key()
            self.use_key(self._key)
        return self._key

    def use_key(self, key: bytes | None) -> None:
        """Use this key (None: the one described under `key`) and keep it in the folder."""
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
        """The journal of one stage. Earlier work is used only if all `settings` are the same."""
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
        return StageJournal(name, self._path(name, print_), entries, self.watch)

    def kept(
        self, name: str, print_: str, make: Callable[[], dict[str, Tensor]]
    ) -> dict[str, Tensor]:
        """Tensors that are expensive to compute: read from the folder, or made and kept there."""
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


@dataclass(frozen=True)
class FitContext:
    """What each stage of a fit is given beside its data and settings.

    `digest` is that of the data, so that a stage of other data is not resumed.
    """

    seed: int
    progress: Progress
    journal: Journal
    digest: str

    def stage(self, name: str, **settings: Any) -> StageJournal:
        """The journal of one stage on this data with this seed."""
        return self.journal.stage(name, data=self.digest, seed=self.seed, **settings)


class StageJournal:
    """Epochs of one stage."""

    def __init__(
        self, name: str, path: Path | None, entries: list[Entry], watch: Watch | None = None
    ) -> None:
        self.name, self.path, self.entries, self.watch = name, path, entries, watch
        self._parts: Mapping[str, Part] = {}
        self._done = 0

    def resume(self, **parts: Part) -> int:
        """Restore the newest state of all parts, by name; returns the epochs done."""
        self._parts, self._done = parts, 0
        note = None if self.path is None else load_checkpoint(self.path, parts)
        if note is not None:
            self.entries[:] = note["entries"]
            if self.watch is not None:
                for entry in self.entries:
                    self.watch(entry)
            self._done = int(note["epoch"])
        return self._done

    def epochs(
        self, total: int, bar: Stage, note: Callable[[dict[str, float]], str] | None = None
    ) -> Iterator[Epoch]:
        """The epochs that are still to do after `resume`.

        After each, the parts given to `resume` are saved with the epoch's mean losses, and the
        bar moves on. `note` says of the means what the bar shows: by default their sum.
        """
        bar.advance(self._done)
        for number in range(self._done, total):
            epoch = Epoch(number)
            yield epoch
            means = epoch.means()
            self.save(number + 1, means, **self._parts)
            bar.advance(note=note(means) if note else f"loss {sum(means.values()):.3f}")

    def save(self, epoch: int, entry: Entry, **parts: Part) -> None:
        """Record that `epoch` epochs are done, with the state of all parts."""
        self.entries.append({"stage": self.name, "epoch": epoch, **entry})
        if self.watch is not None:
            self.watch(self.entries[-1])
        if self.path is not None:
            save_checkpoint(self.path, parts, {"epoch": epoch, "entries": self.entries})


class Epoch:
    """One epoch: its number, from 0, and the sum of each loss over its steps."""

    def __init__(self, number: int) -> None:
        self.number = number
        self._steps: dict[str, int] = {}
        self._sums: dict[str, Tensor | float] = {}

    def add(self, losses: Mapping[str, Tensor | float]) -> None:
        """Count the losses of one step. Tensors are added up where they are, without a copy."""
        for name, loss in losses.items():
            self._steps[name] = self._steps.get(name, 0) + 1
            found = loss.detach() if isinstance(loss, Tensor) else loss
            self._sums[name] = self._sums.get(name, 0.0) + found

    def means(self) -> dict[str, float]:
        """The mean of each loss over the steps that had it."""
        return {
            name: round(float(total) / self._steps[name], 6) for name, total in self._sums.items()
        }
