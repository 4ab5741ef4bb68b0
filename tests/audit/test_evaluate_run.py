"""How an audit runs: the same twice, on one core or two; what it notes; and its gate."""

from __future__ import annotations

import json

import numpy as np
import pytest

from audit.audited import audit, numbered, without_times, world
from audit.published import fits
from support import Recorder, of_world
from withhold.audit import pool, setting_groups
from withhold.audit.attack import RecordLimits
from withhold.audit.attackers import Logistic, Mlp
from withhold.audit.evidence import Evidence, schema
from withhold.records.dataset import Dataset

TINY = Mlp(hidden=(8,), epochs=2, steps=20)


@pytest.fixture(scope="module")
def data():
    return of_world(world(600))


@pytest.fixture(scope="module")
def release(data):
    noise = np.random.default_rng(0).standard_normal(data.x.shape)
    return data.with_features(data.x + 0.5 * noise.astype(np.float32))


# --- the same again ---


@pytest.mark.slow
def test_the_same_seed_finds_the_same_on_one_core_or_two(data, release, monkeypatch):
    data, release = (d.rows(np.arange(300)) for d in (data, release))
    how = {"attackers": (Logistic(), TINY), "seed": 3, "quick": False}
    one = audit(data, release, **how)
    assert without_times(audit(data, release, **how)) == without_times(one)
    monkeypatch.setattr(pool, "_SMALL", 0.0)  # else so little work would not leave this process
    two = audit(data, release, workers=2, **how)
    assert without_times(two) == without_times(one)


def test_another_seed_is_another_audit_of_the_same_records(data, release):
    one, two = (audit(data, release, attackers=(TINY,), seed=s) for s in (0, 1))
    assert without_times(one) != without_times(two)
    assert one.settings["used"] == two.settings["used"]
    assert one.original == two.original


# --- as JSON ---


def test_a_whole_audit_as_json(data, release, tmp_path):
    found = audit(data, release, quick=False, fail_if="secret>99", joint=["secret,useful"])
    found.to_json(tmp_path / "audit.json")
    text = (tmp_path / "audit.json").read_text()
    read = json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    assert read["schema"] == 1
    assert read["records"] == 600
    assert Evidence.from_json(tmp_path / "audit.json") == found
    fits(read, schema(), schema()["$defs"])
    assert {k: v["role"] for k, v in read["attributes"].items()} == {
        "secret": "suppress",
        "useful": "preserve",
        "secret,useful": "suppress",
    }
    for a in read["attributes"].values():
        assert a["majority"] <= a["floor"] <= 1
        assert a["original"]["accuracy"] <= 1
        for tier in ("ignorant", "informed"):
            low, high = a[tier]["ci"]
            assert 0 <= a[tier]["least"] <= low <= a[tier]["accuracy"] <= high <= 1
            for name, (low, high) in a[tier]["intervals"].items():
                assert low <= a[tier][name] <= high
        assert 0 <= a["leakage_bits"] <= a["entropy_bits"] + 1e-6
        assert a["nag"] > 0.5
        assert a["certificate"] is None
    assert read["original"]["sha256"] == data.digest() != read["release"]["sha256"]
    assert len(read["map"]["original"]) == len(read["map"]["release"]) == read["settings"]["test"]
    assert set(read["map"]["labels"]) == set(read["attributes"])
    assert read["version"]
    assert read["made"].endswith("+00:00")


# --- progress ---


def test_progress_is_shown_and_comes_to_its_end(data, release):
    seen = Recorder()
    audit(data, release, progress=seen)
    assert seen.steps["attacking"] >= 4  # two attributes, on original and release
    assert seen.steps["figures and intervals"] == 2


# --- the gate ---


def test_a_gate_that_holds_fails_the_audit(data, release):
    found = audit(data, release, fail_if="secret>floor+2; useful<50")
    assert not found.gate.passed
    (line,) = found.gate.failures
    worst = found.attributes["secret"]
    assert f"secret ({worst.worst_tier}) is > " in line
    assert f"{100 * worst.worst:.2f} %" in line
    assert audit(data, release).gate is None
    assert audit(data, release, fail_if=["secret>original+50"]).gate.passed


# --- notes ---


def test_a_quick_audit_says_so(data, release):
    found = audit(data, release)
    assert any("a quick audit" in note for note in found.notes)
    assert found.settings["quick"] is True
    assert found.map is None
    full = audit(data, release, quick=False)
    assert not any("quick" in note for note in full.notes)
    assert full.map is not None


def test_a_class_that_train_never_saw_is_noted():
    names = np.array(["train", "train", "train", "val", "test"])[np.arange(500) % 5]
    secret = np.where(np.arange(500) % 4 == 0, "a", "b")
    rare = np.where((names == "test") & (np.arange(500) > 400), "never", secret)
    data = numbered(500, secret=rare.tolist(), split=names.tolist())
    found = audit(data, data)
    (note,) = (n for n in found.attributes["secret"].notes if "no record of train" in n)
    assert "has secret 'never'" in note
    assert 0 < found.attributes["secret"].informed.accuracy < 0.9


def test_few_people_in_test_are_noted():
    person = np.arange(300) // 30
    columns = {"person": person.astype(str), "secret": person % 2}
    x = np.random.default_rng(0).standard_normal((300, 2))
    data = Dataset.from_arrays(x, columns, group="person")
    found = audit(data, data, preserve=())
    assert any("different 'person': intervals over so few are rough" in n for n in found.notes)
    assert found.attributes["secret"].units == "person"


def test_what_was_left_out_is_in_the_settings(data, monkeypatch):
    monkeypatch.setattr(setting_groups, "_QUICK", RecordLimits(train=100, val=50, test=60))
    found = audit(data, data)
    assert found.settings["used"] == {"secret": [100, 50, 60], "useful": [100, 50, 60]}
    assert found.settings["most_records"] == {"train": 100, "val": 50, "test": 60}
    assert found.settings["test"] == 120
    assert found.attributes["secret"].records == 60
