"""The losses, certificates and audits that are logged, and what is not."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import withhold
from contracts import test_methods as contracts
from logged_runs import tensorboard_figures
from support import TINY, Interrupted, Recorder, key_of, mixed
from withhold.actions.run_figures import log_audit
from withhold.core import run_log
from withhold.core.run_log import RunLogs

# One who is named in the data, as a label, must not be named in a log.
LABELS = ("s0", "s1", "red", "green", "blue", "record 1")


class Kept:
    """A log in memory."""

    numbers: dict[tuple[str, int], float]
    told: dict[str, Any]

    def __init__(self, folder: Path, run: str) -> None:
        Kept.numbers, Kept.told = {}, {}

    def number(self, name: str, value: float, step: int) -> None:
        assert (name, step) not in self.numbers, "an epoch is logged once"
        self.numbers[name, step] = value

    def facts(self, found: Mapping[str, str | float]) -> None:
        self.told.update(found)

    def close(self) -> None: ...


@pytest.fixture
def spec(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    monkeypatch.setitem(run_log._KINDS, "kept", Kept)
    return f"kept:{tmp_path}"


def test_every_loss_of_every_epoch_is_logged(spec: str) -> None:
    bundle = withhold.fit(
        mixed(), ["secret"], ["colour"], method="mass", config=TINY, key=key_of(0), log=spec
    )
    wanted = {
        (f"loss/{entry['stage']}/{name}", entry["epoch"]): value
        for entry in bundle.history
        for name, value in entry.items()
        if name not in ("stage", "epoch")
    }
    assert Kept.numbers == wanted
    assert Kept.told["method"] == "mass"
    assert Kept.told["config.epochs"] == TINY["epochs"]


def test_the_certificate_is_logged_without_names_of_labels(spec: str) -> None:
    config = contracts.QUICK["codebook"]
    bundle = withhold.fit(mixed(), ["secret", "tags"], config=config, key=key_of(0), log=spec)
    assert bundle.certificate is not None
    claims = bundle.certificate["attributes"]
    found = {name: value for (name, _), value in Kept.numbers.items() if "certificate" in name}
    assert found["certificate/secret/bound"] == claims["secret"]["bound"]
    highest = max(claims[f"tags.{label}"]["bound"] for label in "ab")
    assert found["certificate/tags/bound"] == highest
    assert found["certificate/all/bound"] == claims["secret,tags.a,tags.b"]["bound"]
    assert {name.split("/")[1] for name in found} == {"secret", "tags", "all"}
    text = f"{Kept.numbers} {Kept.told}"
    assert not any(label in text for label in LABELS)
    assert bundle.modifier.key.hex() not in text


def test_a_resumed_fit_logs_the_epochs_before(spec: str, tmp_path: Path) -> None:
    given: dict[str, Any] = {"method": "mass", "config": TINY, "key": key_of(0), "log": spec}
    stop = Recorder(stop_in="modifier", after=1)
    with pytest.raises(Interrupted):
        withhold.fit(mixed(), ["secret"], checkpoints=tmp_path / "c", progress=stop, **given)
    before = dict(Kept.numbers)
    bundle = withhold.fit(mixed(), ["secret"], checkpoints=tmp_path / "c", **given)
    assert before.items() <= Kept.numbers.items()
    assert len({(n.split("/")[1], step) for n, step in Kept.numbers}) == len(bundle.history)


def test_the_fit_is_the_same_with_a_log(spec: str) -> None:
    one, two = (
        withhold.fit(mixed(), ["secret"], method="mass", config=TINY, key=key_of(0), log=log)
        for log in ((), spec)
    )
    assert {k: v.tobytes() for k, v in one.modifier.state().items()} == {
        k: v.tobytes() for k, v in two.modifier.state().items()
    }
    assert one.history == two.history


def test_the_figures_of_an_audit_are_those_of_its_evidence(tmp_path: Path) -> None:
    data = mixed()
    evidence = withhold.audit(data, suppress=["secret"], quick=True, fail_if="secret>floor+99")
    with RunLogs(f"tensorboard:{tmp_path}", "audit") as log:
        log_audit(log, evidence)
    found = {name: steps[0] for name, steps in tensorboard_figures(tmp_path).items()}
    secret = evidence.attributes["secret"]
    assert found["audit/secret/informed"] == pytest.approx(secret.informed.accuracy)
    assert found["audit/secret/floor"] == pytest.approx(secret.floor)
    assert found["audit/gate_passed"] == 1
    assert not any(label in name for name in found for label in LABELS)
