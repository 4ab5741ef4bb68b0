"""`latent-adapter`: its terms one by one, its stages, and what a retrained attacker reads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch

from media_support import ClipBrightness, videos
from methods.features.trained_method import (
    QuickFit,
    assert_each_record_by_itself,
    random_records,
    terms,
    weights,
)
from support import Interrupted, Recorder, key_of
from withhold.actions.fit import fit_bundle
from withhold.core.errors import UserError
from withhold.core.progress import Silent
from withhold.learn.nets.perceptron import unit
from withhold.media.cutting import Cutting
from withhold.media.extract_features import extract
from withhold.media.raw_views import MediaViews
from withhold.methods.features.latent_adapter import LatentAdapterModifier
from withhold.methods.features.latent_adapter.adapter_players import AdapterNet
from withhold.records.dataset import Dataset
from withhold.records.roles import Roles

QUICK: dict[str, Any] = {"hidden": [8], "adversary": [8], "epochs": 3, "batch": 32}
fit = QuickFit("latent-adapter", QUICK)


def world(n: int = 600, *, noise: float = 0.3) -> Dataset:
    """Features of 12 numbers; a secret is the sign of the first, a task that of the second."""
    rng = np.random.default_rng(0)
    x = noise * rng.standard_normal((n, 12)).astype(np.float32)
    secret, task = rng.integers(0, 2, (2, n))
    x[:, 0] += 2 * secret - 1
    x[:, 1] += 2 * task - 1
    parts = np.where(np.arange(n) % 3 == 0, "test", "train")
    labels = {"secret": secret.astype(str), "task": task.astype(str), "split": parts}
    return Dataset.from_arrays(x, {k: pa.array(v.tolist()) for k, v in labels.items()})


def adapted(**config: Any) -> tuple[Dataset, np.ndarray[Any, Any]]:
    data = world()
    steps = {"epochs": 40, "batch": 200, "learning_rate": 0.01, "hidden": [32]}
    bundle = fit_bundle(
        data,
        Roles.of("secret", "task"),
        method="latent-adapter",
        config=steps | config,
        key=key_of(0),
    )
    return data, bundle.modifier.transform(data.x)


def read_off(x: np.ndarray[Any, Any], data: Dataset, name: str) -> float:
    """How often a linear model, trained on the train part, is right on the test part."""
    from sklearn.linear_model import LogisticRegression

    parts = np.asarray(data.table["split"].to_pylist())
    y = np.asarray(data.table[name].to_pylist())
    model = LogisticRegression().fit(x[parts == "train"], y[parts == "train"])
    return float(model.score(x[parts == "test"], y[parts == "test"]))


class TestTerms:
    def test_an_untrained_adapter_is_the_identity(self) -> None:
        net = AdapterNet(9, (5,))
        net.start_as_identity()
        z = unit(torch.randn(20, 9))
        torch.testing.assert_close(net(z), z)

    def test_consistency_alone_changes_nothing(self) -> None:
        data, out = adapted(suppression=0, utility=0)
        space_of_input = fit_bundle(
            data,
            Roles.of("secret", "task"),
            method="latent-adapter",
            config={"epochs": 1, "learning_rate": 1e-9, "suppression": 0, "utility": 0},
            key=key_of(0),
        ).modifier.transform(data.x)
        # Adam turns rounding errors into steps, so it stays near, not equal.
        assert np.abs(out - space_of_input).mean() < 0.02 * np.abs(space_of_input).mean()

    def test_views_alone_hide_what_two_views_share(self) -> None:
        """Without a weight on consistency, records become hard to recognise in their views."""
        data, out = adapted(consistency=0, utility=0)
        _, kept = adapted(suppression=0)
        near = np.corrcoef(out[:, 0], data.x[:, 0])[0, 1]
        assert abs(near) < 0.9 * np.corrcoef(kept[:, 0], data.x[:, 0])[0, 1]

    def test_the_task_survives_and_labels_hide_the_secret_better(self) -> None:
        data, out = adapted(privacy="labels", suppression=5.0, consistency=0.1)
        before = read_off(data.x, data, "secret")
        assert before > 0.95
        assert read_off(out, data, "task") > 0.9
        assert read_off(out, data, "secret") < before - 0.05

    @pytest.mark.parametrize(
        ("config", "left"),
        [
            ({}, {"consistency", "colour", "views"}),
            ({"suppression": 0}, {"consistency", "colour"}),
            ({"utility": 0}, {"consistency", "views"}),
            ({"privacy": "labels"}, {"consistency", "colour", "secret"}),
            ({"privacy": "both"}, {"consistency", "colour", "secret", "views"}),
            ({"suppression": 0, "utility": 0}, {"consistency"}),
        ],
    )
    def test_each_term_can_be_switched_off(self, config: dict[str, Any], left: set[str]) -> None:
        assert terms(fit(**config)) == left

    def test_without_labels_of_the_secret_they_are_not_read(self) -> None:
        """`privacy: views` gives the same adapter whatever is suppressed."""
        assert weights(fit(suppress="secret")) == weights(fit(suppress="tags"))
        one, other = (fit(suppress=s, privacy="labels") for s in ("secret", "tags"))
        assert weights(one) != weights(other)

    def test_weights_by_name(self) -> None:
        assert terms(fit(preserve="colour,tags", utility={"colour": 0, "tags": 2})) == {
            "consistency",
            "tags",
            "views",
        }
        with pytest.raises(UserError, match="setting 'utility' gives a weight to 'color'"):
            fit(utility={"color": 1})


@pytest.mark.parametrize("privacy", ["views", "both"])
class TestTraining:
    def test_the_same_seed_gives_the_same_bytes_and_another_others(self, privacy: str) -> None:
        one = fit(privacy=privacy)
        torch.rand(3)  # the global generator has no part in it
        assert weights(fit(privacy=privacy)) == weights(one)
        assert weights(fit(privacy=privacy, seed=1)) != weights(one)

    @pytest.mark.parametrize("after", [1, 2])
    def test_interrupted_and_resumed_equals_unbroken(
        self, tmp_path: Path, privacy: str, after: int
    ) -> None:
        whole = fit(privacy=privacy)
        with pytest.raises(Interrupted):
            fit(privacy=privacy, folder=tmp_path, progress=Recorder(stop_in="adapter", after=after))
        resumed = fit(privacy=privacy, folder=tmp_path)
        assert weights(resumed) == weights(whole)
        assert resumed.history == whole.history


@pytest.mark.parametrize("d", [5, 16, 33])
def test_each_record_by_itself(d: int) -> None:
    x = random_records(d)
    table = {"secret": pa.array([f"s{i % 2}" for i in range(len(x))])}
    bundle = fit(Dataset.from_arrays(x, table), preserve="", hidden=[8], epochs=1)
    assert isinstance(bundle.modifier, LatentAdapterModifier)
    assert_each_record_by_itself(bundle.modifier, x)


class TestStills:
    """Clips of `videos`: frame j of number i is i in red and j in green."""

    def media(self) -> MediaViews:
        data = extract(videos(6), extractor=ClipBrightness())
        assert isinstance(data.raw, MediaViews)
        return data.raw

    def test_a_still_is_one_frame_of_its_video(self) -> None:
        rows = np.arange(6)
        first, second = self.media().stills(rows, seed=0, progress=Silent())
        for x in (first, second):
            np.testing.assert_allclose(x[:, 0], rows, atol=1e-4)  # the video
            np.testing.assert_allclose(x[:, 1], np.rint(x[:, 1]), atol=1e-4)  # one frame of it
        assert (first[:, 1] != second[:, 1]).any()
        again, _ = self.media().stills(rows[::-1].copy(), seed=0, progress=Silent())
        np.testing.assert_array_equal(again[::-1], first)

    def test_a_fit_uses_them(self, tmp_path: Path) -> None:
        media = videos(40)
        data = extract(media, extractor=ClipBrightness())
        labels = pa.array([f"s{i % 2}" for i in range(40)])
        data = data.with_column("secret", labels)
        told = Recorder()
        with_media = fit(data, preserve="", draws=1, progress=told)
        assert "made from the features" not in told.text
        bare = Dataset.from_arrays(data.x, {"secret": labels})
        assert weights(fit(bare, preserve="", draws=1, progress=told)) != weights(with_media)
        assert "views are made from the features" in told.text

    def test_other_media_give_views(self) -> None:
        from media_support import Brightness
        from withhold.records.readers import Samples
        from withhold.records.samples import Picture

        rng = np.random.default_rng(0)
        some = [Picture(rng.integers(0, 256, (8, 8, 3), np.uint8)) for _ in range(4)]
        collection = Samples(some, pa.table({"n": np.arange(4)}), "image")
        views = MediaViews.of(collection, Brightness(), Cutting("image"), np.arange(4))
        rows = np.arange(4)
        stills = views.stills(rows, seed=3, progress=Silent())
        for one, other in zip(stills, views.views(rows, seed=3, progress=Silent()), strict=True):
            np.testing.assert_array_equal(one, other)
