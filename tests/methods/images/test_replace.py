"""`gap` and `replace`: the update order of Algorithm 1, the draws of s', what the user sees."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import withhold
from support import Recorder, key_of
from withhold.bench import find_recipe, recipe_names
from withhold.bench.fit_row import row_config
from withhold.core.errors import UserError
from withhold.learn.journal import Journal
from withhold.methods import read_config
from withhold.methods.images.replace.config import GapConfig, ReplaceConfig
from withhold.methods.images.replace.image_watch import ImageWatch
from withhold.methods.images.replace.modifier import ReplaceModifier
from withhold.methods.images.replace.new_classes import NewClasses
from withhold.methods.images.replace.step import (
    Batch,
    Player,
    distortion,
    filter_step,
    generator_step,
    hiding_loss,
)
from withhold.records.attribute import Attribute
from withhold.records.dataset import Dataset
from withhold.records.samples import Picture

SMALL: dict[str, Any] = {
    "side": 16, "width": 4, "depth": 2, "reader_width": 4, "noise": 8, "epochs": 2, "batch": 16
}  # fmt: skip
TINY = ReplaceConfig(**SMALL, learning_rate=1e-2, epsilon=0.001)


def faces(n: int = 48, classes: int = 2) -> Dataset:
    """Noise with a bright patch whose place is the class."""
    rng = np.random.default_rng(0)
    pixels = rng.integers(60, 120, (n, 16, 16, 3)).astype(np.uint8)
    secret = np.arange(n) % classes
    for image, place in zip(pixels, secret, strict=True):
        image[:5, 5 * place : 5 * place + 5] += 100
    return Dataset.from_arrays(pixels, {"secret": [f"s{v}" for v in secret]})


def fitted(data: Dataset, method: str = "replace", **config: Any) -> Any:
    return withhold.fit(data, "secret", method=method, config=SMALL | config, key=key_of(0))


# --- Algorithm 1


def players() -> tuple[dict[str, Player], dict[str, Any]]:
    made = {
        "filter": Player.filter(2, TINY).start(0, torch.device("cpu")),
        "generator": Player.generator(2, TINY).start(0, torch.device("cpu")),
    }
    return made, {n: p.optimisers(TINY.learning_rate) for n, p in made.items()}


def by_the_letter(
    nets: dict[str, Player], adams: dict[str, Any], batch: Batch, z: Any, new: Any, config: Any
) -> None:
    """Algorithm 1 with every loss computed by itself, as the paper writes it."""
    f, hf = nets["filter"].maker, nets["filter"].reader
    g, hg = nets["generator"].maker, nets["generator"].reader
    with torch.no_grad():  # the images of this step, censored by the networks as they are
        x1 = deepcopy(f)(batch.x, z[0])
        x2 = deepcopy(g)(x1, z[1], new)

    def update(adam: Any, network: Any, loss: Any) -> None:
        gradients = torch.autograd.grad(loss, [*network.parameters()])
        for p, gradient in zip(network.parameters(), gradients, strict=True):
            p.grad = gradient
        adam.step()

    made = f(batch.x, z[0])
    loss = -torch.distributions.Categorical(logits=deepcopy(hf)(made)).entropy().mean()
    bent = (made - batch.x).square().mean()
    update(
        adams["filter"]["filter_adam"],
        f,
        loss + config.penalty * torch.relu(bent - config.epsilon) ** 2,
    )
    made = g(x1, z[1], new)
    loss = F.cross_entropy(deepcopy(hg)(made), new)
    bent = (made - batch.x).square().mean()
    update(
        adams["generator"]["generator_adam"],
        g,
        loss + config.penalty * torch.relu(bent - config.epsilon) ** 2,
    )
    update(adams["filter"]["filter_reader_adam"], hf, F.cross_entropy(hf(x1), batch.s))
    fake = torch.full_like(new, 2)
    loss = F.cross_entropy(hg(x2), fake) + F.cross_entropy(hg(batch.x), batch.s)
    update(adams["generator"]["generator_reader_adam"], hg, loss)


def test_a_step_is_algorithm_1_with_everything_computed_once() -> None:
    generator = torch.Generator().manual_seed(1)
    one, one_adams = players()
    two, two_adams = players()
    for _ in range(3):
        batch = Batch(
            torch.rand(16, 3, 16, 16, generator=generator),
            torch.randint(0, 2, (16,), generator=generator),
        )
        z = torch.randn(2, 16, 8, generator=generator)
        new = torch.randint(0, 2, (16,), generator=generator)
        x1, _ = filter_step(one["filter"], one_adams["filter"], batch, z[0], TINY)
        generator_step(
            one["generator"], one_adams["generator"], batch, x1, new, z[1], TINY,
            update_reader=True,
        )  # fmt: skip
        by_the_letter(two, two_adams, batch, z, new, TINY)
    for name in one:
        for (key, p), q in zip(one[name].named_parameters(), two[name].parameters(), strict=True):
            # Adam divides by the size of a gradient, so rounding shows most where it is smallest.
            assert (p - q).abs().max() < 2e-3, (name, key)
            assert (p - q).abs().mean() < 1e-4, (name, key)


def test_the_reader_waits_for_its_turn() -> None:
    nets, adams = players()
    before = deepcopy(nets["generator"].state_dict())
    batch = Batch(torch.rand(8, 3, 16, 16), torch.arange(8) % 2)
    found = generator_step(
        nets["generator"], adams["generator"], batch, batch.x, batch.s, torch.randn(8, 8), TINY,
        update_reader=False,
    )  # fmt: skip
    after = nets["generator"].state_dict()
    changed = {n for n in before if n in dict(nets["generator"].named_parameters())
               and not torch.equal(before[n], after[n])}  # fmt: skip
    assert changed
    assert all(n.startswith("maker.") for n in changed)
    assert "generator_reader" not in found


def test_distortion_is_free_up_to_epsilon() -> None:
    x = torch.zeros(2, 3, 4, 4)
    config = GapConfig(epsilon=0.04, penalty=100.0)
    for made, cost in ((x + 0.2, 0.0), (x + 0.3, 100 * (0.09 - 0.04) ** 2)):
        bent, paid = distortion(made, x, config)
        assert float(bent) == pytest.approx(float(made[0, 0, 0, 0]) ** 2)
        assert float(paid) == pytest.approx(cost, abs=1e-6)


def test_the_two_losses_of_the_filter() -> None:
    sure = torch.tensor([[9.0, -9.0], [-9.0, 9.0]])
    s = torch.tensor([0, 1])
    assert float(hiding_loss(sure, s, "entropy")) == pytest.approx(0, abs=1e-3)
    unsure = torch.zeros(2, 2)
    assert float(hiding_loss(unsure, s, "entropy")) == pytest.approx(-np.log(2))
    assert float(hiding_loss(sure, s, "log-likelihood")) == pytest.approx(18, abs=1e-3)
    unknown = torch.tensor([0, -1])
    assert float(hiding_loss(sure, unknown, "log-likelihood")) == pytest.approx(18, abs=1e-3)


def test_the_filter_of_replace_is_that_of_gap() -> None:
    gap, both = fitted(faces(), "gap").modifier, fitted(faces()).modifier
    for name, array in gap.state().items():
        np.testing.assert_array_equal(array, both.state()[name], err_msg=name)
    assert any(name.startswith("generator.") for name in both.state())


def test_the_generator_alone_has_no_filter() -> None:
    bundle = fitted(faces(), use_filter=False)
    assert {n.partition(".")[0] for n in bundle.modifier.state()} == {"generator"}


# --- the new class


def new_classes(**shares: float) -> NewClasses:
    codes = np.array([0, 1, 2, 0])
    one = Attribute("hair", "categorical", ("black", "brown", "red"), codes)
    return NewClasses.of((one,), one, shares or "uniform")


def test_a_new_class_is_drawn_by_its_share() -> None:
    classes = new_classes(black=0.2, red=0.8)
    u = (np.arange(1000) + 0.5) / 1000
    assert np.bincount(classes.draw(u), minlength=3).tolist() == [200, 0, 800]
    u = (np.arange(999) + 0.5) / 999
    assert np.bincount(new_classes().draw(u)).tolist() == [333, 333, 333]


def test_shares_of_the_data() -> None:
    codes = np.array([0, 1, 1, 1])
    one = Attribute("a", "categorical", ("x", "y"), codes)
    assert NewClasses.of((one,), one, "data").shares == (0.25, 0.75)


def test_a_chosen_class_is_always_drawn() -> None:
    chosen = new_classes(black=1.0).directed({"hair": "red"})
    assert set(chosen.draw(np.linspace(0.001, 0.999, 50))) == {2}


@pytest.mark.parametrize(
    ("to", "said"),
    [({"hair": "rde"}, "no class 'rde'; did you mean 'red'"), ({"eyes": "red"}, "replaces hair")],
)
def test_a_class_that_is_not_there_is_refused(to: dict[str, str], said: str) -> None:
    with pytest.raises(UserError, match=said):
        new_classes().directed(to)


def test_draws_are_keyed_and_do_not_follow_the_own_class() -> None:
    data = faces(400)
    one = fitted(data.rows(np.arange(40)), epochs=1).modifier
    two = ReplaceModifier(one.network, key_of(1), one.sizes)
    images = [sample.pixels for sample in _samples(data)]
    drawn = [np.array([m.new_class(image) for image in images]) for m in (one, two)]
    again = np.array([one.new_class(image) for image in images])
    np.testing.assert_array_equal(drawn[0], again)
    assert (drawn[0] != drawn[1]).mean() > 0.3
    agree = (drawn[0] == data.attribute("secret").codes).mean()
    assert abs(agree - 0.5) < 4 * 0.5 / np.sqrt(400)


def test_a_release_has_the_class_that_was_drawn() -> None:
    modifier = fitted(faces(), epochs=1).modifier
    seen = set()
    for sample in _samples(faces())[:12]:
        number = modifier.new_class(sample.pixels)
        [made] = modifier.transform([sample])
        for other, (value,) in enumerate(modifier.sizes.classes.values):
            [chosen] = modifier.directed({"secret": value}).transform([sample])
            assert (made.pixels == chosen.pixels).all() == (other == number)
        seen.add(number)
    assert seen == {0, 1}


def _samples(data: Dataset) -> list[Picture]:
    assert data.media is not None
    return [item.content for item in data.media.items()]  # type: ignore[misc]


def test_several_attributes_are_replaced_together() -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (48, 16, 16, 3)).astype(np.uint8)
    labels = {"a": [f"a{i % 2}" for i in range(48)], "b": [f"b{i // 2 % 3}" for i in range(48)]}
    bundle = withhold.fit(
        Dataset.from_arrays(pixels, labels), ["a", "b"], method="replace", config=SMALL
    )
    assert len(bundle.modifier.sizes.classes.values) == 6
    chosen = bundle.directed({"b": "b1"}).modifier.sizes.classes
    left = [v for v, share in zip(chosen.values, chosen.shares, strict=True) if share]
    assert left == [("a0", "b1"), ("a1", "b1")]


# --- what the user sees


def test_warnings_come_after_two_bad_epochs_and_once() -> None:
    said = Recorder()
    watch = ImageWatch(GapConfig(epsilon=0.01), 0.5, said)
    good = {"filter_distortion": 0.009, "filter_spread": 0.4}
    bad = {"filter_distortion": 0.05, "filter_spread": 0.001}
    watch.look(bad)
    watch.look(good)
    watch.look(bad)
    assert not said.lines
    for _ in range(3):
        watch.look(bad)
    assert len(said.lines) == 2
    assert "distorts by 0.0500, more than epsilon 0.01" in said.lines[0]
    assert "says the same of every image" in said.lines[1]


def test_a_reader_of_no_use_is_told() -> None:
    said = Recorder()
    watch = ImageWatch(ReplaceConfig(), 0.5, said)
    means = {"generator_distortion": 0.001, "generator_read_real": 0.5, "generator_read_made": 1.0}
    for _ in range(2):
        watch.look(means)
    assert "cannot tell the classes of the originals" in said.text
    assert "finds every made image" in said.text


def test_a_picture_of_every_epoch(tmp_path: Path) -> None:
    from PIL import Image

    from withhold.actions.fit import fit_bundle
    from withhold.records.roles import Roles

    journal = Journal(pictures=tmp_path / "pictures")
    fit_bundle(faces(), Roles.of("secret", ""), method="replace", config=SMALL, journal=journal)
    sheets = sorted((tmp_path / "pictures").iterdir())
    assert [s.name for s in sheets] == ["epoch-0001.png", "epoch-0002.png"]
    with Image.open(sheets[1]) as sheet:  # original, filtered, and one row for each class
        assert sheet.height == 4 * 100 + 4


def test_one_corrupt_image_is_left_out_and_named(tmp_path: Path) -> None:
    from PIL import Image

    for i, item in enumerate(_samples(faces())):
        part = "test" if i > 40 else "train"
        Image.fromarray(item.pixels).save(tmp_path / f"{part}_s{i % 2}_{i}.png")
    (tmp_path / "train_s1_99.png").write_bytes(b"no image at all")
    said = Recorder()
    data = Dataset.read(tmp_path, pattern="{split}_{secret}_*.png")
    withhold.fit(data, "secret", method="gap", config=SMALL, progress=said)
    assert "1 of 42 images cannot be used and are left out of the training" in said.text
    assert "train_s1_99.png" in said.text


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"epsilon": 0}, "setting 'epsilon' of method 'replace': .*greater than 0"),
        ({"side": 20, "depth": 4}, "side 20 cannot be halved 4 times"),
        ({"synthetic": {"s0": 0.5, "s1": 0.6}}, "add up to 1.1, not 1"),
        ({"synthetic": {"s0": 0.5, "s9": 0.5}}, "names the class 's9'"),
        ({"filter_loss": "other"}, "setting 'filter_loss'"),
    ],
)
def test_mistakes_are_one_line(config: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError, match=said):
        fitted(faces(), **config)


def test_log_likelihood_needs_two_classes() -> None:
    with pytest.raises(UserError, match="needs two classes, and 'secret' has 3"):
        fitted(faces(classes=3), "gap", filter_loss="log-likelihood")


def test_choosing_a_class_means_nothing_to_other_methods() -> None:
    with pytest.raises(UserError, match="puts no new class"):
        fitted(faces(), "gap").directed({"secret": "s1"})


def test_fewer_images_than_a_batch() -> None:
    bundle = fitted(faces(10), batch=64)
    [made] = bundle.modifier.transform(_samples(faces(10))[:1])
    assert made.pixels.shape == (16, 16, 3)


@pytest.mark.parametrize("setting", ["width", "reader_width"])
@pytest.mark.parametrize("method", ["gap", "replace"])
def test_narrow_networks_in_bfloat16_are_refused_with_a_way_out(method: str, setting: str) -> None:
    """They crash inside torch on some processors."""
    with pytest.raises(UserError, match=f"set precision float32, or {setting} 16"):
        read_config(method, {setting: 8, "precision": "bfloat16"})
    assert read_config(method, {setting: 8})
    assert read_config(method, {setting: 16, "precision": "bfloat16"})


def test_every_recipe_has_settings_that_are_accepted() -> None:
    for name, _ in recipe_names():
        recipe = find_recipe(name)
        for row in recipe.rows:
            if (row.method or recipe.method) in ("gap", "replace"):
                read_config(row.method or recipe.method, row_config(recipe, row))


def test_a_suppressor_puts_in_the_class_that_is_asked_for() -> None:
    """`transform(X, to=…)` is what the directed bundle makes, of arrays and of datasets."""
    pixels = np.random.default_rng(0).integers(0, 256, (24, 16, 16, 3)).astype(np.uint8)
    labels = {"gender": ["f", "m"] * 12}
    small = {"side": 16, "width": 2, "depth": 1, "reader_width": 2, "noise": 4, "epochs": 1}
    suppressor = withhold.Suppressor("gender", method="replace", config=small, key=key_of(0))
    suppressor.fit(pixels, attributes=labels)
    one, other = (suppressor.transform(pixels, to={"gender": c}) for c in "fm")
    assert (one != other).any()
    data = Dataset.from_arrays(pixels, labels)
    directed = suppressor.bundle_.release(data, to={"gender": "f"}, same_order=True)
    found = suppressor.transform(data, to={"gender": "f"})
    assert len(found) == len(directed)
    assert directed.media is not None
    first = next(iter(directed.media.items())).content
    assert isinstance(first, Picture)
    np.testing.assert_array_equal(first.pixels, one[0])
    with pytest.raises(UserError, match="no class 'x'"):
        suppressor.transform(pixels, to={"gender": "x"})
