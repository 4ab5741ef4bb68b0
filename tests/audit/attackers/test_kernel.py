from __future__ import annotations

import numpy as np

from contracts.attacker import AttackerContract, simple
from withhold.audit.attackers.kernel import Kernel


class TestKernel(AttackerContract):
    way = 0.9

    def make(self):
        return Kernel(landmarks=200)

    def make_brief(self):
        return Kernel(landmarks=200, widths=(1.0,), flops=3e9)

    def test_a_ring_around_a_ball(self):
        """No line divides them, and no product of two features does it alone."""
        rng = np.random.default_rng(0)
        label = np.tile([0, 1], 500)
        angle = rng.uniform(0, 2 * np.pi, 1000)
        radius = np.where(label == 1, 4.0, 1.0) + 0.3 * rng.standard_normal(1000)
        x = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
        assert self.read(simple(x, label)) > 0.99

    def test_val_chooses_the_width(self):
        """A checkerboard of many small squares needs a narrow kernel; the widest sees a blur."""
        rng = np.random.default_rng(0)
        x = rng.uniform(0, 5, (4000, 2))
        label = (np.floor(x).sum(axis=1) % 2).astype(int)
        data = simple(x, label)
        wide = Kernel(landmarks=200, widths=(4.0,))
        chosen = Kernel(landmarks=200, widths=(4.0, 0.25))
        assert reading(self, wide, data) + 0.1 < reading(self, chosen, data)


def reading(test, attacker, data) -> float:
    test.make = lambda: attacker
    return test.read(data)
