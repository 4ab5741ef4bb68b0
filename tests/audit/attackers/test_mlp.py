from __future__ import annotations

from contextlib import contextmanager

import pytest

from contracts.attacker import AttackerContract
from support import Recorder, of_world
from withhold.audit.attackers.mlp import Mlp
from withhold.data.worlds import gaussian
from withhold.progress import Silent


class TestMlp(AttackerContract):
    def make(self):
        return Mlp()

    def test_it_stops_when_val_stops_improving(self):
        data = of_world(gaussian.no_leak(600, 8, 2))
        train, val = data.part("train"), data.part("val")
        label = train.attribute("label"), val.attribute("label")
        seen = Recorder()
        Mlp(patience=2, steps=200).fit(train.x, label[0], val.x, label[1], seed=0, progress=seen)
        assert 3 <= seen.steps["attacker on label"] < 30

    def test_the_best_epoch_on_val_is_kept_not_the_last(self):
        data = of_world(gaussian.many_classes(1000, 30, 3, separation=1.0))
        train, val = data.part("train"), data.part("val")
        a, b = train.attribute("label"), val.attribute("label")
        seen = Notes()
        kept = Mlp(patience=99, steps=200).fit(train.x, a, val.x, b, seed=0, progress=seen)
        error = 100 * (kept.logits(val.x).argmax(axis=1) != b.codes).mean()
        assert len(seen.errors) == 30
        assert min(seen.errors) + 1 < seen.errors[-1]  # by then it knows train by heart
        assert error == pytest.approx(min(seen.errors), abs=0.06)


class Notes(Silent):
    """A progress that reads the error on val from what is shown beside the bar."""

    def __init__(self) -> None:
        self.errors: list[float] = []

    @contextmanager
    def stage(self, name, total):
        yield self

    def advance(self, steps=1, note=""):
        self.errors.append(float(note.split()[2]))
