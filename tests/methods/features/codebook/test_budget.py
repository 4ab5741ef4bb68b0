"""What may leak: how it is written, and how it is measured."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from withhold.core.errors import UserError
from withhold.methods.features.codebook.budget import Limit, measure_leak, read_budget

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("who<=floor", Limit("who", "who<=floor", 0, above_floor=True)),
        ("who<=floor+1", Limit("who", "who<=floor+1", 0.01, above_floor=True)),
        (" who <= floor + 2.5 ", Limit("who", "who <= floor + 2.5", 0.025, above_floor=True)),
        ("who<=60", Limit("who", "who<=60", 0.6)),
        ("who<=60%", Limit("who", "who<=60%", 0.6)),
        ("who <= 12.5 %", Limit("who", "who <= 12.5 %", 0.125)),
        ("who<=0.2 bits", Limit("who", "who<=0.2 bits", 0.2, bits=True)),
        ("who<=1bits", Limit("who", "who<=1bits", 1.0, bits=True)),
        ("home town<=3", Limit("home town", "home town<=3", 0.03)),
    ],
)
def test_a_line(text: str, limit: Limit) -> None:
    assert read_budget(text, ("who", "home town")) == (limit,)


def test_several_lines() -> None:
    found = read_budget("who<=floor+1; age<=0.2 bits\nwho<=50;;", ("who", "age"))
    assert [limit.name for limit in found] == ["who", "age", "who"]


@pytest.mark.parametrize(
    "text",
    ["who", "who<5", "who>=5", "who<=", "<=5", "who<=five", "who<=-1", "who<=floor-1", "who=5",
     "who<=floor+", "who<=1e3", "who<=nan", "who<=inf", "who<=5 nats", "who<=floor+1 bits",
     "who<=1 bits extra", "who<=1,age<=2"],
)  # fmt: skip
def test_what_is_not_understood_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(UserError) as told:
        read_budget(text, ("who",))
    assert "\n" not in str(told.value)
    assert f"'{text}'" in str(told.value)


@pytest.mark.parametrize("text", ["who<=100.5", "who<=150 %"])
def test_more_than_everything_is_refused(text: str) -> None:
    with pytest.raises(UserError, match=f"'{text}': an accuracy cannot exceed 100 %"):
        read_budget(text, ("who",))
    assert read_budget("who<=100", ("who",))[0].value == 1


@pytest.mark.parametrize("text", ["", " ", ";", "\n;\n"])
def test_an_empty_budget_is_refused(text: str) -> None:
    with pytest.raises(UserError, match="empty"):
        read_budget(text, ("who",))


def test_only_what_is_suppressed_has_a_budget() -> None:
    with pytest.raises(UserError, match="'speker' is not suppressed; did you mean 'speaker'"):
        read_budget("speker<=3", ("speaker",))
    with pytest.raises(UserError, match=r"not suppressed \(suppressed: speaker\)"):
        read_budget("digit<=3", ("speaker",))


def test_the_limit_itself() -> None:
    assert Limit("a", "", 0.02, above_floor=True).most(0.3) == pytest.approx(0.32)
    assert Limit("a", "", 0.5).most(0.3) == 0.5


# --- what is measured ---------------------------------------------------------------------------


def drawn(n: int, classes: int, codes: int, seed: int = 0) -> tuple[Floats, Ints]:
    rng = np.random.default_rng(seed)
    w = rng.dirichlet(np.ones(codes), n).astype(np.float32)
    return w, np.arange(n) % classes


def test_codes_that_say_it_all() -> None:
    s = np.arange(4000) % 4
    leak = measure_leak(np.eye(4, dtype=np.float32)[s], s, np.eye(4, dtype=np.float32)[s], s, 4)
    assert leak.accuracy == 1
    assert leak.bits == pytest.approx(2, abs=0.02)


def test_codes_that_say_nothing() -> None:
    (w, s), (v, t) = drawn(8000, 4, 5), drawn(8000, 4, 5, seed=1)
    leak = measure_leak(w, s, v, t, 4)
    assert leak.accuracy == pytest.approx(0.25, abs=0.01)
    assert leak.bits < 0.003


def test_one_code_alone_reads_the_majority_and_no_bit() -> None:
    s = np.where(np.arange(1000) % 10 < 7, 0, 1)
    w = np.ones((1000, 1), np.float32)
    leak = measure_leak(w, s, w, s, 2)
    assert leak.accuracy == pytest.approx(0.7)
    assert leak.bits == pytest.approx(0, abs=1e-9)


def test_a_symmetric_channel_leaks_as_much_as_theory_says() -> None:
    """Right with probability 0.9: accuracy 0.9, and 1 - H(0.1) bits."""
    s = np.arange(20_000) % 2
    w = np.where(np.eye(2)[s] == 1, 0.9, 0.1).astype(np.float32)
    leak = measure_leak(w, s, w, s, 2)
    assert leak.accuracy == pytest.approx(0.9, abs=1e-4)
    assert leak.bits == pytest.approx(1 + 0.9 * np.log2(0.9) + 0.1 * np.log2(0.1), abs=1e-3)


def test_what_reads_a_class_far_above_chance_tells_bits() -> None:
    """Fano: who is right in a of all cases with K equal classes has at least
    log K - h(a) - (1 - a) log(K - 1) bits. Few records must not hide them."""
    rng = np.random.default_rng(0)
    s, t = np.arange(300) % 5, np.arange(100) % 5

    def few(s: Ints) -> Floats:
        """One of 60 codes; of class s with probability 0.35, else anyone's."""
        own = 12 * s + rng.integers(0, 12, len(s))
        code = np.where(rng.random(len(s)) < 0.35, own, rng.integers(0, 60, len(s)))
        return np.eye(60, dtype=np.float32)[code]

    leak = measure_leak(few(s), s, few(t), t, 5)
    a = leak.accuracy
    assert a > 0.35
    least = np.log2(5) + a * np.log2(a) + (1 - a) * np.log2(1 - a) - (1 - a) * np.log2(4)
    assert leak.bits >= 0.8 * least


def test_an_attacker_who_learned_from_like_records_is_counted_too() -> None:
    """The fitted records say nothing, the others all: the worse figure is what leaks."""
    w_fit, s_fit = drawn(400, 2, 2)
    s = np.arange(400) % 2
    assert measure_leak(w_fit, s_fit, np.eye(2, dtype=np.float32)[s], s, 2).accuracy == 1


@given(st.integers(0, 50))
def test_names_of_classes_and_codes_do_not_matter(seed: int) -> None:
    (w, s), (v, t) = drawn(90, 3, 4, seed), drawn(60, 3, 4, seed + 1)
    turn, move = np.array([2, 0, 1]), np.array([3, 1, 0, 2])
    one = measure_leak(w, s, v, t, 3)
    two = measure_leak(w[:, move], s, v[:, move], t, 3)
    assert two.accuracy == pytest.approx(one.accuracy, abs=1e-6)
    assert two.bits == pytest.approx(one.bits, abs=1e-6)
    # Halves are by the order of classes, so each class must be of an even number.
    three = measure_leak(w, turn[s], v, turn[t], 3)
    assert three.accuracy == pytest.approx(one.accuracy, abs=1e-6)
    assert three.bits == pytest.approx(one.bits, abs=1e-6)


def test_a_class_that_the_fitted_records_lack_is_no_problem() -> None:
    (w, s), (v, t) = drawn(60, 2, 4), drawn(60, 3, 4, seed=1)
    leak = measure_leak(w, s, v, t, 3)
    assert 0 <= leak.accuracy <= 1
    assert np.isfinite(leak.bits)
