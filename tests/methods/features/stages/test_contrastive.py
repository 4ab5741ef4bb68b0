"""The contrastive encoder: where its views come from, and that it learns by them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
import torch
from torch import Tensor

from support import Interrupted, Recorder
from withhold.core.progress import Progress
from withhold.learn.journal import FitContext
from withhold.learn.nets.contrastive_net import ContrastiveNet
from withhold.learn.nets.perceptron import unit
from withhold.learn.nets.space import Space
from withhold.methods import Journal
from withhold.methods.features.stages.contrastive import (
    ContrastiveConfig,
    ViewPairs,
    train_contrastive,
)

FloatArray = npt.NDArray[np.float32]
D = 5
SMALL = ContrastiveConfig(epochs=15, batch=32, projection=8, draws=3)


@pytest.fixture
def x() -> Tensor:
    return unit(torch.randn(96, D, generator=torch.Generator().manual_seed(0)))


class FakeRaw:
    """Raw samples whose views are the record moved by a known amount; counts its calls."""

    def __init__(self, x: FloatArray) -> None:
        self.x, self.seeds = x, []  # type: ignore[var-annotated]

    def views(
        self, rows: npt.NDArray[np.int64], *, seed: int, progress: Progress
    ) -> tuple[FloatArray, FloatArray]:
        self.seeds.append(seed)
        return self.x[rows] + np.float32(0.1), self.x[rows] - np.float32(0.1)

    def rows(self, rows: npt.NDArray[np.int64]) -> FakeRaw:
        return FakeRaw(self.x[rows])

    def fingerprint(self) -> str:
        return "fake"


def train(
    x: Tensor,
    raw: FakeRaw | None,
    config: ContrastiveConfig = SMALL,
    *,
    progress: Recorder,
    journal: Journal | None = None,
) -> ContrastiveNet:
    return train_contrastive(x, raw, Space.of(x.numpy()), config, fit_of(progress, journal))


def fit_of(progress: Recorder, journal: Journal | None = None) -> FitContext:
    return FitContext(0, progress, journal or Journal(), "")


def test_the_features_are_disturbed_where_there_are_no_raw_samples(x: Tensor) -> None:
    said = Recorder()
    views = ViewPairs(x, None, Space.of(x.numpy()), SMALL, fit_of(said))
    assert "the raw media were not given" in said.text
    rows = torch.arange(40)
    one, two = views.pair(rows, torch.Generator().manual_seed(1))
    assert not torch.equal(one, two)
    for view in (one, two):
        torch.testing.assert_close(view.norm(dim=1), torch.ones(40))
        assert 0.1 < float((view == 0).float().mean()) < 0.3  # drop 0.2
        cosine = (view * x[rows]).sum(1)
        assert 0.5 < float(cosine.mean()) < 0.99


def test_no_noise_and_no_drop_is_the_record_itself(x: Tensor) -> None:
    still = SMALL.model_copy(update={"noise": 0.0, "drop": 0.0})
    views = ViewPairs(x, None, Space.of(x.numpy()), still, fit_of(Recorder()))
    one, _ = views.pair(torch.arange(96), torch.Generator().manual_seed(1))
    torch.testing.assert_close(one, x)


def test_raw_views_are_used_where_there_are_raw_samples(x: Tensor) -> None:
    raw, said = FakeRaw(x.numpy()), Recorder()
    views = ViewPairs(x, raw, Space.of(x.numpy()), SMALL, fit_of(said))
    assert said.lines == []
    assert len(set(raw.seeds)) == SMALL.draws  # each draw is another augmentation
    rows = torch.tensor([3, 1, 4])
    one, two = views.pair(rows, torch.Generator().manual_seed(1))
    torch.testing.assert_close(one, unit(x[rows] + 0.1))
    torch.testing.assert_close(two, unit(x[rows] - 0.1))


def test_training_asks_for_the_raw_views_once_a_draw(x: Tensor) -> None:
    raw, said = FakeRaw(x.numpy()), Recorder()
    with_raw = train(x, raw, progress=said)
    assert len(raw.seeds) == SMALL.draws
    without = train(x, None, progress=said)
    assert not torch.equal(with_raw.network[0].weight, without.network[0].weight)


def test_a_resumed_fit_finds_its_views(x: Tensor, tmp_path: Path) -> None:
    whole = train(x, FakeRaw(x.numpy()), progress=Recorder(), journal=Journal(tmp_path / "a"))
    first, again = FakeRaw(x.numpy()), FakeRaw(x.numpy())
    cut = Recorder(stop_in="contrastive encoder", after=4)
    with pytest.raises(Interrupted):
        train(x, first, progress=cut, journal=Journal(tmp_path / "b"))
    resumed = train(x, again, progress=Recorder(), journal=Journal(tmp_path / "b"))
    assert len(first.seeds) == SMALL.draws
    assert again.seeds == []
    for name, tensor in whole.state_dict().items():
        assert torch.equal(tensor, resumed.state_dict()[name])


def test_views_of_other_media_are_made_anew(x: Tensor, tmp_path: Path) -> None:
    train(x, FakeRaw(x.numpy()), progress=Recorder(), journal=Journal(tmp_path))
    other, torn = FakeRaw(x.numpy()), FakeRaw(x.numpy())
    other.fingerprint = lambda: "other"  # type: ignore[method-assign]
    train(x, other, progress=Recorder(), journal=Journal(tmp_path))
    assert len(other.seeds) == SMALL.draws
    # A power cut: one view is torn, and the stage is lost.
    kept = sorted(tmp_path.glob("views-*"))
    assert len(kept) == 2 * SMALL.draws
    for path in kept:
        path.write_bytes(path.read_bytes()[:50])
    for path in tmp_path.glob("contrastive-*"):
        path.unlink()
    train(x, torn, progress=Recorder(), journal=Journal(tmp_path))
    assert len(torn.seeds) == SMALL.draws


def test_it_learns_to_tell_records_apart(x: Tensor) -> None:
    journal = Journal()
    train(x, None, progress=Recorder(), journal=journal)
    losses = [entry["loss"] for entry in journal.history]
    assert len(losses) == 15
    assert np.mean(losses[-3:]) < losses[0] - 0.3
