"""A fit that was interrupted and resumed equals one that never was, to the byte."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from support import TINY, Interrupted, Recorder, key_of, mixed
from withhold.actions.fit import fit_bundle
from withhold.bundle.bundle import Bundle
from withhold.core.errors import UserError
from withhold.core.progress import Silent
from withhold.methods import Journal
from withhold.records.dataset import Dataset
from withhold.records.roles import Roles

ROLES = Roles.of("secret", "colour")
EPOCHS = 4
CONFIG = TINY | {
    "epochs": EPOCHS,
    "attribute_model": TINY["attribute_model"] | {"epochs": EPOCHS},
    "contrastive": TINY["contrastive"] | {"epochs": EPOCHS},
}
STAGES = ("attribute model secret", "attribute model colour", "contrastive encoder", "modifier")


def fit(
    folder: Path | None,
    *,
    dataset: Dataset | None = None,
    progress: Recorder | Silent | None = None,
    seed: int = 0,
    **changes: object,
) -> Bundle:
    return fit_bundle(
        mixed() if dataset is None else dataset,
        ROLES,
        config=CONFIG | changes,
        seed=seed,
        key=key_of(seed),
        progress=progress,
        journal=Journal(folder),
        method="mass",
    )


def same(one: Bundle, two: Bundle) -> bool:
    """Weights to the byte, and the history."""
    a, b = one.modifier.state(), two.modifier.state()
    equal = all(a[k].tobytes() == b[k].tobytes() for k in a)
    return a.keys() == b.keys() and equal and one.history == two.history


@pytest.fixture(scope="module")
def unbroken() -> Bundle:
    return fit(None)


def test_without_a_folder_everything_is_in_memory(unbroken: Bundle) -> None:
    assert len(unbroken.history) == EPOCHS * len(STAGES)
    assert [e["epoch"] for e in unbroken.history[:EPOCHS]] == [1, 2, 3, 4]
    assert {e["stage"] for e in unbroken.history} == {
        "attribute secret", "attribute colour", "contrastive", "modifier"
    }  # fmt: skip


def test_a_folder_changes_nothing(unbroken: Bundle, tmp_path: Path) -> None:
    assert same(fit(tmp_path), unbroken)


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("after", [1, 3])
def test_interrupted_and_resumed_equals_unbroken(
    unbroken: Bundle, tmp_path: Path, stage: str, after: int
) -> None:
    with pytest.raises(Interrupted):
        fit(tmp_path, progress=Recorder(stop_in=stage, after=after))
    again = Recorder()
    assert same(fit(tmp_path, progress=again), unbroken)
    assert set(again.steps.values()) == {EPOCHS}  # the bars begin where the work was left


def test_resuming_does_only_what_was_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Interrupted):
        fit(tmp_path, progress=Recorder(stop_in="modifier", after=3))
    steps = _count_backward(monkeypatch)
    fit(tmp_path)
    per_epoch = 96 // CONFIG["batch"]
    assert steps() == per_epoch  # one epoch of the modifier, nothing of the rest


def test_interrupted_twice(unbroken: Bundle, tmp_path: Path) -> None:
    for stage, after in (("contrastive encoder", 2), ("contrastive encoder", 3), ("modifier", 2)):
        with pytest.raises(Interrupted):
            fit(tmp_path, progress=Recorder(stop_in=stage, after=after))
    assert same(fit(tmp_path), unbroken)


def test_a_fit_that_was_done_is_found_again(
    unbroken: Bundle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fit(tmp_path)
    steps = _count_backward(monkeypatch)
    assert same(fit(tmp_path), unbroken)
    assert steps() == 0


def _recoloured(data: Dataset) -> Dataset:
    turned = {"red": "green", "green": "blue", "blue": "red"}
    colours = [turned[c] for c in data.table["colour"].to_pylist()]
    return Dataset.from_arrays(
        data.x, {n: colours if n == "colour" else data.table[n] for n in data.table.column_names}
    )


@pytest.mark.parametrize(
    "change",
    [
        {"seed": 1},
        {"learning_rate": 0.02},
        {"suppression": 7.0},
        {"similarity": "kl"},
        {"attribute_model": CONFIG["attribute_model"] | {"weight_decay": 0.2}},
        {"contrastive": CONFIG["contrastive"] | {"temperature": 0.5}},
        {"dataset": mixed(seed=1)},
        {"dataset": _recoloured(mixed())},
    ],
    ids=lambda change: "-".join(change),
)
def test_changed_settings_or_data_start_afresh(
    unbroken: Bundle, tmp_path: Path, change: dict[str, object]
) -> None:
    """Beside the journal of another fit the result is what it would have been alone."""
    fit(tmp_path)
    alone = fit(None, **change)
    assert not same(alone, unbroken)
    assert same(fit(tmp_path, **change), alone)


@pytest.mark.parametrize("damage", ["half", "empty", "noise", "no note"])
def test_a_torn_checkpoint_is_ignored(unbroken: Bundle, tmp_path: Path, damage: str) -> None:
    with pytest.raises(Interrupted):
        fit(tmp_path, progress=Recorder(stop_in="modifier", after=2))
    files = sorted(tmp_path.glob("*.safetensors"))
    assert len(files) == len(STAGES)
    for file in files:
        data = file.read_bytes()
        if damage == "no note":
            from safetensors.numpy import load, save

            file.write_bytes(save(load(data)))
        else:
            torn = {"half": data[: len(data) // 2], "empty": b"", "noise": b"\xff" * 100}
            file.write_bytes(torn[damage])
    assert same(fit(tmp_path), unbroken)


def test_no_half_written_checkpoint_stays_behind(tmp_path: Path) -> None:
    with pytest.raises(Interrupted):
        fit(tmp_path, progress=Recorder(stop_in="contrastive encoder", after=1))
    assert all(
        (f.suffix == ".safetensors" and f.name[0] != ".") or f.name == "key"
        for f in tmp_path.iterdir()
    )


def test_names_with_odd_characters_are_safe(tmp_path: Path) -> None:
    stage = Journal(tmp_path).stage("attribute ../../etc/päss wörd", x=1)
    assert stage.path is not None
    assert stage.path.parent == tmp_path
    network = nn.Linear(2, 2)
    stage.save(1, {"loss": 1.0}, network=network)
    assert stage.resume(network=nn.Linear(2, 2)) == 1


def test_the_state_of_the_optimiser_comes_back(tmp_path: Path) -> None:
    """Without its moments a resumed AdamW would take another step."""
    networks = []
    for kind in ("unbroken", "resumed"):
        network = nn.Linear(3, 2)
        nn.init.ones_(network.weight)
        nn.init.zeros_(network.bias)
        optimiser = torch.optim.AdamW(network.parameters(), lr=0.1)
        for step in range(6):
            if kind == "resumed" and step == 3:
                Journal(tmp_path).stage("s").save(3, {}, network=network, optimiser=optimiser)
                network = nn.Linear(3, 2)
                optimiser = torch.optim.AdamW(network.parameters(), lr=0.1)
                again = Journal(tmp_path).stage("s")
                assert again.resume(network=network, optimiser=optimiser) == 3
            x = torch.tensor(np.random.default_rng(step).standard_normal((4, 3)).astype("f4"))
            optimiser.zero_grad()
            network(x).square().sum().backward()
            optimiser.step()
        networks.append(network)
    assert torch.equal(networks[0].weight, networks[1].weight)


def test_epochs_that_are_left_are_saved_with_their_mean_losses(tmp_path: Path) -> None:
    network, said = nn.Linear(1, 1, bias=False), Recorder()
    for before, total in ((0, 2), (2, 5), (5, 5)):
        journal = Journal(tmp_path)
        stage = journal.stage("s")
        assert stage.resume(network=network) == before
        with said.stage("s", total) as bar:
            for epoch in stage.epochs(total, bar):
                network.weight.data.fill_(epoch.number)
                for step in range(2):
                    epoch.add({"a": network.weight.sum() + step, "b": 0.1})
        assert said.steps["s"] == total
    means = [{k: entry[k] for k in ("epoch", "a", "b")} for entry in journal.history]
    assert means == [{"epoch": n + 1, "a": n + 0.5, "b": 0.1} for n in range(5)]
    fresh = nn.Linear(1, 1, bias=False)
    assert Journal(tmp_path).stage("s").resume(network=fresh) == 5
    assert fresh.weight.item() == 4


def test_a_folder_that_cannot_be_made_is_the_users_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="file"):
        Journal(tmp_path / "file")


def _count_backward(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    count = 0
    real = torch.Tensor.backward

    def counting(self: torch.Tensor, *args: object, **kwargs: object) -> None:
        nonlocal count
        count += 1
        real(self, *args, **kwargs)

    monkeypatch.setattr(torch.Tensor, "backward", counting)
    return lambda: count


def test_what_is_dear_to_make_is_kept(tmp_path: Path) -> None:
    made: list[str] = []

    def make() -> dict[str, torch.Tensor]:
        made.append("once")
        return {"a": torch.arange(6.0).reshape(2, 3).T, "b": torch.ones(2)}

    for journal, calls in ((Journal(tmp_path), 1), (Journal(tmp_path), 1), (Journal(), 2)):
        found = journal.kept("views", "of these media", make)
        assert torch.equal(found["a"], torch.arange(6.0).reshape(2, 3).T)
        assert len(made) == calls
    Journal(tmp_path).kept("views", "of other media", make)
    assert len(made) == 3
    (path, *_) = sorted(tmp_path.glob("views-*"))
    path.write_bytes(b"")
    for said in ("of these media", "of other media"):
        assert torch.equal(Journal(tmp_path).kept("views", said, make)["b"], torch.ones(2))
    assert len(made) == 4
    assert Journal(tmp_path).history == []
