"""`per=person`: a person draws one code for its rows of one class and preserved value."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from methods.features.exact.planned import QUICK, draws_of, fitted, labels, plan_of, texts, unequal
from support import Recorder, key_of
from withhold.actions.fit import fit
from withhold.cli.main import outcome
from withhold.core.errors import UserError
from withhold.methods.features.exact import ExactModifier
from withhold.methods.features.exact.person_units import unit_names
from withhold.records.attribute import Attribute
from withhold.records.dataset import Dataset

EXACT = 1e-6
PER: dict[str, Any] = {"per": "person", "codes": None, "least": 2}


def visits(people: int = 120, rows: tuple[int, ...] = (1, 2, 4), *, seed: int = 0) -> Dataset:
    """People with so many rows for each of two words; `sex` moves x, and so does the person."""
    rng = np.random.default_rng(seed)
    sex = rng.permutation(np.arange(people) % 2)
    number = rng.choice(rows, (people, 2))
    who = np.repeat(np.repeat(np.arange(people), 2), number.reshape(-1))
    word = np.repeat(np.tile([0, 1], people), number.reshape(-1))
    x = rng.standard_normal((people, 4))[who] + 0.3 * rng.standard_normal((len(who), 4))
    x[:, 0] += 2 * sex[who]
    table = {
        "sex": np.array(["f", "m"])[sex[who]].tolist(),
        "word": [f"w{i}" for i in word],
        "id": [f"p{i}" for i in who],
    }
    order = rng.permutation(len(who))
    table = {n: np.array(v)[order].tolist() for n, v in table.items()}
    return Dataset.from_arrays(x[order].astype(np.float32), table, name="visits", group="id")


def alike(people: int = 60, rows: int = 20) -> Dataset:
    """The rows of a woman are alike, those of a man are not: 20 rows tell the sex, one does not."""
    rng = np.random.default_rng(0)
    female = np.repeat(np.arange(people) % 2, rows)
    own = np.repeat(rng.standard_normal((people, 2)), rows, axis=0)
    x = np.where(female[:, None], own, rng.standard_normal((people * rows, 2)))
    table = {"sex": np.where(female, "f", "m").tolist(), "id": np.repeat(np.arange(people), rows)}
    return Dataset.from_arrays(x.astype(np.float32), table, name="alike", group="id")


def numbered(data: Dataset) -> np.ndarray:
    """Nonces as a release makes them, one for each row."""
    return np.arange(2 * len(data), dtype=np.uint64).reshape(-1, 2)


def leaving(made: ExactModifier, data: Dataset) -> np.ndarray:
    """The codes that a release draws."""
    return made.draw(data.x, labels(made, data), nonces=numbered(data))


def with_key(made: ExactModifier, data: Dataset, key: bytes) -> ExactModifier:
    """The same plan under another key, which names the units again."""
    assert made.units is not None
    own = labels(made, data)
    s, u = (made._places(own, len(data))[i] for i in (0, 1))
    names = made.units.name.copy()
    names[made.unit_of(own, len(data))] = unit_names(key, own["id"], s, u)
    return ExactModifier(
        made.plan, key, suppress=made.suppress, preserve=made.preserve, classes=made.classes,
        values=made.values, units=replace(made.units, name=names),
    )  # fmt: skip


@pytest.mark.parametrize("preserve", ["", "word"])
@pytest.mark.parametrize("scores", ["metric", "network"])
def test_rows_are_balanced_exactly_also_for_each_number_of_rows(scores: str, preserve: str) -> None:
    data = visits()
    made = fitted(data, "sex", preserve, scores=scores, hidden=(16,), dropout=(0.0, 0.0), **PER)
    w, told = plan_of(made, data), texts(data, *([preserve] if preserve else []))
    units = [" ".join(v) for v in zip(texts(data, "id"), told, strict=True)]
    _, place, count = np.unique(units, return_inverse=True, return_counts=True)
    assert unequal(w, texts(data, "sex"), told) < EXACT
    seen = [f"{u} {count[p]}" for u, p in zip(told, place, strict=True)]
    assert unequal(w, texts(data, "sex"), seen) < EXACT
    if scores == "metric":  # it does not ignore the people; the network is hardly trained here
        assert w.max(axis=1).mean() > 1.5 * w.mean(axis=0).max()


def test_rows_of_one_person_class_and_value_share_a_code() -> None:
    data = visits()
    made = fitted(data, "sex", "word", **PER)
    for drawn in (draws_of(made, data), leaving(made, data)):
        unit = np.unique(np.stack([texts(data, "id", "word")]), return_inverse=True)[1].reshape(-1)
        first = np.unique(unit, return_index=True)[1]
        np.testing.assert_array_equal(drawn, drawn[first][unit])
    order = np.random.default_rng(1).permutation(len(data))[:50]  # whatever else is in the batch
    np.testing.assert_array_equal(leaving(made, data)[order], leaving(made, data.rows(order)))


def test_equal_rows_of_different_people_draw_separately() -> None:
    """Two people with the same rows agree as often as two draws from their plan."""
    data = visits(60, (2,))
    table = {c: data.table[c].to_pylist() for c in data.table.column_names}
    twice = {c: [*v, *(f"{x}'" if c == "id" else x for x in v)] for c, v in table.items()}
    both = Dataset.from_arrays(np.tile(data.x, (2, 1)), twice, name="twins", group="id")
    made = fitted(both, "sex", softness=16.0, **PER)
    w, drawn = plan_of(made, both), leaving(made, both)
    n = len(data)
    np.testing.assert_array_equal(w[:n], w[n:])
    expected = float((w[:n] ** 2).sum(axis=1).mean())
    assert expected < 0.6
    people = 60
    agree = float((drawn[:n] == drawn[n:]).mean())
    assert abs(agree - expected) < 4.5 * np.sqrt(expected * (1 - expected) / people)


def test_twenty_rows_of_one_person_tell_the_class_only_if_every_record_draws() -> None:
    """Under per=record a simple attacker is right in 9 of 10; under per=person the best one, who
    knows everything but the draws, is right as often as by guessing."""
    data = alike()
    sex = np.array([v == "f" for v in texts_of(data, "sex")]).reshape(-1, 20)[:, 0]
    by_record = fitted(data, "sex", codes=8, least=2)
    codes = leaving(by_record, data).reshape(-1, 20)
    different = np.array([len(np.unique(row)) for row in codes])
    assert max(((different <= c) == sex).mean() for c in range(1, 9)) > 0.9

    by_person = fitted(data, "sex", per="person", codes=5, least=2)
    w = plan_of(by_person, data).reshape(60, 20, -1)[:, 0]
    joint = np.stack([w[~sex].sum(axis=0), w[sex].sum(axis=0)])  # (2, N): its knowledge
    assert joint.max(axis=0).sum() / 60 == pytest.approx(0.5, abs=EXACT)
    assert np.abs(w[sex].mean(axis=0) - w.mean(axis=0)).max() < EXACT
    # Simulated: the same records under 200 keys; a rule learned from one half attacks the other.
    drawn = np.stack(
        [leaving(with_key(by_person, data, bytes([i]) * 32), data)[::20] for i in range(200)]
    )
    rule = [(sex[None] & (drawn[:100] == j)).sum() > (drawn[:100] == j).sum() / 2 for j in range(5)]
    right = (np.array(rule)[drawn[100:]] == sex).mean(axis=1)
    assert abs(right.mean() - 0.5) < 4.5 * right.std() / 10
    # The draws follow the plan, and differ between keys.
    np.testing.assert_allclose(
        [(drawn == j).mean() for j in range(5)], w.mean(axis=0), atol=4.5 * 0.5 / np.sqrt(12_000)
    )


def texts_of(data: Dataset, name: str) -> list[str]:
    return [str(v) for v in data.table[name].to_pylist()]


def test_saved_and_loaded_it_is_the_same_to_the_last_bit() -> None:
    data = visits()
    made = fitted(data, "sex", "word", **PER)
    again = ExactModifier.from_state(made.state(), made.settings(), made.key)
    np.testing.assert_array_equal(leaving(made, data), leaving(again, data))
    assert {k: v.tobytes() for k, v in again.state().items()} == {
        k: v.tobytes() for k, v in made.state().items()
    }
    assert again.settings() == made.settings()
    same = fitted(data, "sex", "word", **PER)
    assert all(v.tobytes() == same.state()[k].tobytes() for k, v in made.state().items())


@pytest.mark.parametrize("name", ["units.name", "units.cell", "units.s", "units.whose"])
def test_units_that_were_tampered_with_are_refused(name: str) -> None:
    made = fitted(visits(), "sex", **PER)
    state = made.state()
    state[name] = np.full_like(state[name], 10**6)
    with pytest.raises(UserError, match="restore the bundle, or fit again"):
        ExactModifier.from_state(state, made.settings(), made.key)


def test_code_vectors_are_made_from_other_draws_than_those_that_leave() -> None:
    data = visits()
    made = fitted(data, "sex", softness=16.0, **PER)
    assert (draws_of(made, data) != leaving(made, data)).mean() > 0.3


def test_enough_people_are_behind_every_code() -> None:
    data = visits(200, (20,))
    made = fitted(data, "sex", **{**PER, "least": 6})
    drawn, who = draws_of(made, data), np.array(texts(data, "id"))
    behind = [len(np.unique(who[drawn == j])) for j in range(len(made.codes))]
    assert min(behind) >= 6
    # Codes are counted by people, not by rows: 100 people of a sex, 5 for each code.
    assert 2 <= len(made.codes) <= 20


def test_people_with_rare_numbers_of_rows_are_warned_of() -> None:
    told = Recorder()
    fitted(visits(rows=tuple(range(1, 60))), "sex", progress=told, **PER)
    (line,) = [one for one in told.lines if "number of rows" in one]
    assert "give people the same number of rows" in line
    quiet = Recorder()
    fitted(visits(rows=(3,)), "sex", progress=quiet, **PER)
    assert not quiet.lines


def test_what_cannot_be_drawn_by_person_is_refused() -> None:
    data = visits()
    with pytest.raises(UserError, match="name the person with --group"):
        fitted(Dataset.from_arrays(data.x, {"sex": texts_of(data, "sex")}), "sex", **PER)
    with pytest.raises(UserError, match="'id' is the person and is suppressed itself"):
        fitted(data, "id", smallest=1, **PER)
    table = {c: data.table[c].to_pylist() for c in data.table.column_names}
    table["id"][3] = None
    holes = Dataset.from_arrays(data.x, table, name="visits", group="id")
    with pytest.raises(UserError, match=r"'id' \(--group\) is missing in 1 of"):
        fitted(holes, "sex", **PER)


def test_people_unknown_to_the_fit_are_refused() -> None:
    data = visits()
    made = fitted(data, "sex", **PER)
    own = labels(made, data)
    codes = own["id"].codes.copy()
    codes[7] = len(own["id"].classes)
    strange = Attribute("id", "categorical", (*own["id"].classes, "new"), codes)
    with pytest.raises(UserError, match=r"record 7 .* has a person and labels in 'id' that"):
        made.draw(data.x, own | {"id": strange})


def test_a_release_without_the_person_is_refused_in_one_line(
    tmp_path: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    data = visits()
    data.write(tmp_path / "visits.parquet")
    Dataset.from_arrays(data.x, {"sex": texts_of(data, "sex")}).write(tmp_path / "bare.parquet")
    bundle = str(tmp_path / "bundle")
    settings = [f"--set={n}={v}" for n, v in (QUICK | {"per": "person", "least": 2}).items()]
    how = ["--method", "exact", "--suppress", "sex", "--group", "id", "-o", bundle, *settings]
    assert outcome(["fit", str(tmp_path / "visits.parquet"), *how]) == 0
    capsys.readouterr()
    out = str(tmp_path / "out.parquet")
    assert outcome(["transform", bundle, str(tmp_path / "bare.parquet"), "-o", out]) == 2
    error = capsys.readouterr().err
    assert "needs the column id for every record" in error
    assert "Traceback" not in error


def test_an_onnx_model_is_refused() -> None:
    pytest.importorskip("onnx")
    from withhold.actions.export import export_onnx

    bundle = fit(visits(), "sex", method="exact", config=QUICK | PER, key=key_of(0))
    with pytest.raises(UserError, match="a person draws one code for all its rows"):
        export_onnx(bundle, "model.onnx")
