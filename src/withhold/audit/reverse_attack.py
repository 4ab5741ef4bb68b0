"""`reverse`: restore the originals, then recognise them.

A network learns from released and original images of train and val to restore the originals. Of
clips, it learns from some frames and restores each frame by itself. Then the model of the originals
reads the restored images (`reverse`), and is trained further on them (`reverse-warm`). Many face
anonymisers that blinded models of the originals fell to this attack.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from withhold.audit.attack import Attack, Outcome
from withhold.audit.attack_plan import Question, Seen
from withhold.audit.attackers.attacker import Attacker, PixelArray
from withhold.audit.attackers.pixel_cnn import PixelCnn
from withhold.audit.metrics import accuracy
from withhold.audit.reversal import Reversal
from withhold.audit.split import Rows

NAME = "reverse"
PAIRED = 4  # frames of a clip from which a reversal learns
RESTORED = ("pixels", "frames")


@dataclass(frozen=True, eq=False)
class RestoreTask:
    """Restore all released images. Call it to run it, in any process."""

    released: PixelArray
    originals: PixelArray
    train: Rows
    val: Rows
    reversal: Reversal
    seed: int

    @property
    def cost(self) -> float:
        """About how many seconds it will take."""
        n = len(self.train) * (1 if self.released.ndim == 4 else PAIRED)
        return self.reversal.cost(n, self.released.shape[-1])

    def __call__(self) -> PixelArray:
        """The restored images or frames, in the order of the records."""
        if self.released.ndim == 4:
            return self.reversal.restore(
                self.released, self.originals, self.train, self.val, seed=self.seed
            )
        n, frames, *shape = self.released.shape
        made = self.reversal.restore(
            self.released.reshape(-1, *shape),
            self.originals.reshape(-1, *shape),
            _frames(self.train, frames),
            _frames(self.val, frames),
            seed=self.seed,
        )
        return made.reshape(n, frames, *shape)


@dataclass(frozen=True, eq=False)
class ReverseAttack:
    """The reversals of an audit, one for all attributes that train and test on the same records.

    Its originals are blank outside train and val: no attack sees the original of a test record.
    """

    tasks: list[RestoreTask] = field(default_factory=list)
    of: dict[str, int] = field(default_factory=dict)  # attribute: number of its task
    restored: list[PixelArray] = field(default_factory=list)  # results, in the order of tasks

    @classmethod
    def plan(
        cls,
        asks: Sequence[Question],
        before: Seen | None,
        after: Seen,
        attackers: Sequence[Attacker],
        *,
        seed: int,
        reversal: Reversal | None = None,
    ) -> ReverseAttack:
        """The tasks. There are none without images of both sides and an attacker that reads them.

        asks: questions; questions with the same parts share a task.
        """
        plan = cls()
        view = next((a.view for a in _readers(attackers).values() if after.can_show(a.view)), None)
        if before is None or view is None or not before.can_show(view):
            return plan
        released = after.view(view)
        for q in asks:
            train, val = q.parts.train, q.parts.val
            same = [
                number
                for number, task in enumerate(plan.tasks)
                if np.array_equal(task.train, train) and np.array_equal(task.val, val)
            ]
            if not same:
                known = _blank_outside(before.view(view), train, val)
                how = reversal or Reversal()
                plan.tasks.append(RestoreTask(released, known, train, val, how, seed))
            plan.of[q.name] = same[0] if same else len(plan.tasks) - 1
        return plan

    def cost(self, q: Question, attackers: Sequence[Attacker]) -> float:
        """About how many seconds the attacks on the restored images will take."""
        n, k = len(q.parts.train), len(q.attribute.classes)
        d = self.tasks[0].released[:1].size
        return max(a.warm({}).cost(n, d, k) for a in _readers(attackers).values())

    def attacks(
        self, q: Question, attackers: Sequence[Attacker], models: Sequence[Outcome], *, seed: int
    ) -> Iterator[Attack]:
        """The attacks on the restored images, with the best model of the originals' pixels.

        It is chosen on val of the originals. Without one, a fresh network reads restored images.
        """
        if q.name not in self.of:
            return
        images = self.restored[self.of[q.name]]
        readers = _readers(attackers)
        val = q.attribute.rows(q.parts.val)
        able = [m for m in models if m.name in readers and m.state is not None]
        if not able:
            fresh = next(iter(readers.values()))
            yield Attack(NAME, fresh, images, q.attribute, q.parts, seed)
            return
        best = max(able, key=lambda m: accuracy(m.val, val)[0])
        assert best.state is not None
        reader = readers[best.name]
        yield Attack(NAME, reader.fixed(best.state), images, q.attribute, q.parts, seed)
        warm = reader.warm(best.state)
        yield Attack(f"{NAME}-warm", warm, images, q.attribute, q.parts, seed)


def _readers(attackers: Sequence[Attacker]) -> dict[str, PixelCnn]:
    """The attackers that read reduced images or single frames, by name."""
    return {a.name: a for a in attackers if isinstance(a, PixelCnn) and a.view in RESTORED}


def _blank_outside(originals: PixelArray, train: Rows, val: Rows) -> PixelArray:
    """The originals of train and val; all others are black."""
    known = np.zeros_like(originals)
    rows = np.concatenate([train, val])
    known[rows] = originals[rows]
    return known


def _frames(clips: Rows, frames: int) -> Rows:
    """Some frames of these clips, at equal distances, as rows of a list of all frames."""
    chosen = np.linspace(0, frames - 1, PAIRED).round().astype(np.int64)
    return (clips[:, None] * frames + chosen).reshape(-1)
