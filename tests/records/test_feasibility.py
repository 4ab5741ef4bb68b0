from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.optimize import linprog

from withhold.actions.fit import fit_bundle
from withhold.core.errors import UserError
from withhold.records.attribute import encode
from withhold.records.dataset import Dataset
from withhold.records.feasibility import (
    conditional_entropy,
    contingency,
    entropy,
    feasibility,
    guess_rate,
    joint,
    mutual_information,
)
from withhold.records.roles import Roles


def label(name, values):
    return encode(name, pa.array(values), "t")


def data(**columns):
    n = len(next(iter(columns.values())))
    return Dataset.from_arrays(np.zeros((n, 1)), columns, name="t")


def best_release(table):
    """max over q of sum_s P(s) sum_u min(q_u, P(u|s)), as a linear programme in (q, m)."""
    table = table[table.sum(axis=1) > 0]
    s, u = table.shape
    weight, inside = table.sum(axis=1) / table.sum(), table / table.sum(axis=1, keepdims=True)
    gain = np.concatenate([np.zeros(u), -(weight[:, None] * np.ones((s, u))).reshape(-1)])
    below_q = np.hstack([-np.tile(np.eye(u), (s, 1)), np.eye(s * u)])  # m_su <= q_u
    sums = np.concatenate([np.ones(u), np.zeros(s * u)])[None]
    bounds = [(0, 1)] * u + [(0, p) for p in inside.reshape(-1)]
    found = linprog(gain, A_ub=below_q, b_ub=np.zeros(s * u), A_eq=sums, b_eq=[1], bounds=bounds)
    assert found.success
    return -found.fun


# --- entropies ---


def test_entropy_of_known_distributions():
    assert entropy(label("a", list(range(8)) * 2)) == pytest.approx(3)
    assert entropy(label("a", ["u"] * 3 + ["v"])) == pytest.approx(2 - 0.75 * math.log2(3))
    assert entropy(label("a", ["u"] * 4)) == 0
    assert entropy(label("a", ["u", "v", None, None])) == pytest.approx(1)


def test_information_of_functions_copies_and_strangers():
    speaker = label("speaker", [i // 4 for i in range(32)])
    gender = label("gender", [i // 4 % 2 for i in range(32)])
    digit = label("digit", [i % 4 for i in range(32)])
    assert mutual_information(speaker, gender) == pytest.approx(1)
    assert mutual_information(gender, speaker) == pytest.approx(1)
    assert conditional_entropy(gender, speaker) == pytest.approx(0, abs=1e-12)
    assert conditional_entropy(speaker, gender) == pytest.approx(2)
    assert mutual_information(speaker, digit) == pytest.approx(0, abs=1e-12)
    assert conditional_entropy(digit, speaker) == pytest.approx(2)
    assert mutual_information(speaker, speaker) == pytest.approx(3)


def test_information_of_a_noisy_channel():
    """A binary symmetric channel that flips one in four: 1 - h(1/4) bits."""
    a = label("a", [0] * 40 + [1] * 40)
    b = label("b", [0] * 30 + [1] * 10 + [0] * 10 + [1] * 30)
    h = -0.25 * math.log2(0.25) - 0.75 * math.log2(0.75)
    assert mutual_information(a, b) == pytest.approx(1 - h)
    assert conditional_entropy(b, a) == pytest.approx(h)
    assert guess_rate(a, [b]) == pytest.approx(0.75)


def test_missing_labels_are_left_out_of_pairs():
    a = label("a", [0, 0, 1, 1, 0, None, None])
    b = label("b", [5, 5, 6, 6, None, 5, None])
    assert contingency(a.codes, b.codes).tolist() == [[2, 0], [0, 2]]
    assert mutual_information(a, b) == pytest.approx(1)
    assert guess_rate(a, [b]) == 1
    assert joint([a, b]).tolist() == [0, 0, 1, 1, -1, -1, -1]


def test_joint_numbers_the_combinations():
    a, b = label("a", [0, 0, 1, 1]), label("b", ["u", "v", "u", "u"])
    codes = joint([a, b])
    assert len(set(codes.tolist())) == 3
    assert codes[2] == codes[3]
    assert codes.max() == 2


# --- floor and ceiling ---


def test_speaker_determines_gender():
    """60 balanced speakers, 12 of them women: floor 2/60, and gender cannot be kept."""
    speaker = np.repeat(np.arange(60), 20)
    gender = np.where(speaker < 12, "female", "male")
    digit = np.tile(np.arange(10), 120)
    table = data(speaker=speaker, gender=gender, digit=digit)
    found = feasibility(table, Roles.of("speaker", "gender"))
    assert found.floor == {"speaker": pytest.approx(2 / 60)}
    assert found.ceiling == {"gender": pytest.approx(0.8)}
    assert found.majority["speaker"] == pytest.approx(1 / 60)
    assert found.majority["gender"] == pytest.approx(0.8)
    assert found.entropy["speaker"] == pytest.approx(math.log2(60))
    assert len(found.warnings) == 2
    assert (
        "preserving 'gender' lets anyone guess 'speaker' right in 3.3 % (majority 1.7 %)"
        in found.warnings[0]
    )
    assert "'speaker' determines 'gender'" in found.warnings[1]
    assert "0.72 bits" in found.warnings[1]  # H(gender) = h(0.2)


def test_strangers_do_not_meet():
    speaker, digit = np.repeat(np.arange(60), 20), np.tile(np.arange(10), 120)
    found = feasibility(data(speaker=speaker, digit=digit), Roles.of("speaker", "digit"))
    assert found.floor == {"speaker": pytest.approx(1 / 60)}
    assert found.ceiling == {"digit": pytest.approx(1)}
    assert found.warnings == ()
    (pair,) = found.pairs
    assert (pair.one, pair.two) == ("speaker", "digit")
    assert pair.shared_bits == pytest.approx(0, abs=1e-9)
    assert pair.two_given_one == pytest.approx(math.log2(10))


def test_nothing_preserved_has_the_floor_of_the_prior():
    found = feasibility(data(a=[0, 0, 0, 1, 1], b=[0, 1, 0, 1, 0]), Roles.of("a"))
    assert found.floor == {"a": 0.6}
    assert found.ceiling == {}
    assert found.warnings == ()


def test_several_preserved_attributes_give_away_together_what_none_does_alone():
    """S = U xor V: each of U and V tells nothing of S, both tell all."""
    u, v = np.array([0, 0, 1, 1] * 25), np.array([0, 1, 0, 1] * 25)
    table = data(s=u ^ v, u=u, v=v)
    assert feasibility(table, Roles.of("s", "u")).floor == {"s": 0.5}
    found = feasibility(table, Roles.of("s", "u,v"))
    assert found.floor == {"s": 1.0}
    assert "preserving 'u' and 'v' lets anyone guess 's' right in 100.0 %" in found.warnings[0]
    # The other way round: suppress both, and nothing of their xor is left; suppress one, all is.
    assert feasibility(table, Roles.of("u,v", "s")).ceiling == {"s": 0.5}
    assert feasibility(table, Roles.of("u", "s")).ceiling == {"s": 1.0}


@pytest.mark.parametrize("seed", range(25))
def test_the_ceiling_is_the_best_of_all_releases(seed):
    rng = np.random.default_rng(seed)
    shape = rng.integers(2, 7, 2)
    counts = rng.integers(0, [2, 5, 30][seed % 3], shape)
    counts[:2, :2] += 1
    s, u = (np.repeat(i.reshape(-1), counts.reshape(-1)) for i in np.indices(shape))
    missing = rng.random(len(s)) < 0.1
    columns = {"s": np.tile(s, 2), "u": pa.array(np.tile(u, 2), mask=np.tile(missing, 2))}
    table = data(**columns)
    found = feasibility(table, Roles.of("s", "u"))
    expected = best_release(contingency(table.attribute("s").codes, table.attribute("u").codes))
    assert found.ceiling["u"] == pytest.approx(expected, abs=1e-9)
    assert found.ceiling["u"] >= found.majority["u"] - 1e-9
    assert found.ceiling["u"] <= 1


def test_relabelling_changes_nothing():
    rng = np.random.default_rng(0)
    s, u = rng.integers(0, 4, 200), rng.integers(0, 3, 200)
    one = feasibility(data(s=s, u=u), Roles.of("s", "u"))
    two = feasibility(
        data(s=np.array(["z", "k", "a", "m"])[s], u=np.array([7, 1, 4])[u]), Roles.of("s", "u")
    )
    assert one.floor == pytest.approx(two.floor)
    assert one.ceiling == pytest.approx(two.ceiling)
    assert one.entropy == pytest.approx(two.entropy)
    assert one.pairs[0].shared_bits == pytest.approx(two.pairs[0].shared_bits)


def test_ids_and_tags_are_left_out():
    table = data(
        s=[0, 0, 1, 1], tags=[["a"], ["b"], [], ["a"]], id=["p", "q", "r", "t"], u=[0, 1, 0, 1]
    )
    found = feasibility(table, Roles.of("s", "u,tags"))
    assert set(found.entropy) == {"s", "u"}
    assert found.ceiling == {"u": 1.0}
    assert found.floor == {"s": 0.5}


@pytest.mark.realdata
def test_audiomnist_clashes_where_a_speaker_has_one_gender(realdata):
    path = realdata / "audiomnist_takes00-39_8khz.parquet"
    labels = pq.read_table(path, columns=["speaker", "gender", "digit", "accent"])
    table = Dataset.from_arrays(np.zeros((labels.num_rows, 1)), labels, name="audiomnist")
    found = feasibility(table, Roles.of("speaker", "gender"))
    assert found.floor["speaker"] == pytest.approx(2 / 60)
    assert found.ceiling["gender"] == pytest.approx(0.8)
    assert any("guess 'speaker' right in 3.3 %" in w for w in found.warnings)
    assert any("'speaker' determines 'gender'" in w for w in found.warnings)
    assert feasibility(table, Roles.of("speaker", "digit")).warnings == ()
    # 16 accents: whoever keeps them gives away a speaker for each.
    assert feasibility(table, Roles.of("speaker", "accent")).floor["speaker"] == pytest.approx(
        len(table.attribute("accent").classes) / 60
    )


def test_what_is_told_by_the_preserved_cannot_be_hidden():
    """Suppress gender and keep the speaker: refused, by name, before anything is trained."""
    speaker = np.arange(60) % 6
    columns = {"speaker": speaker, "gender": speaker % 2, "digit": np.arange(60) // 6}
    found = feasibility(data(**columns), Roles.of("gender", "speaker"))
    assert len(found.impossible) == 1
    assert "preserving 'speaker' reveals 'gender' for every record" in found.impossible[0]
    with pytest.raises(UserError, match="nothing can hide it"):
        found.require()
    for roles in (Roles.of("speaker", "gender"), Roles.of("gender", "digit"), Roles((), ())):
        feasibility(data(**columns), roles).require()


def test_fit_refuses_what_cannot_be_had():
    speaker = np.arange(60) % 6
    made = data(speaker=speaker, gender=speaker % 2)
    with pytest.raises(UserError, match="remove what reveals 'gender' from --preserve"):
        fit_bundle(made, Roles.of("gender", "speaker"), method="constant")
