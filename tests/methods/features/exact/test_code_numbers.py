"""How many codes the records carry, and what is said where they carry fewer than asked for."""

from __future__ import annotations

import numpy as np
import pytest

from methods.features.exact.planned import fitted, world
from support import Recorder
from withhold.core.errors import UserError
from withhold.methods.features.codebook.cells import Classes
from withhold.methods.features.exact.code_numbers import MOST, code_numbers
from withhold.methods.features.exact.config import ExactConfig


def numbers(sizes: list[int], u: list[int] | None = None, **config: int) -> list[int]:
    codes = np.repeat(np.arange(len(sizes)), sizes)
    names = tuple(f'["p{i}"]' for i in range(len(sizes)))
    value = np.zeros(len(codes), np.int64) if u is None else np.array(u)
    found = code_numbers(Classes(names, codes), value, ExactConfig(**config), "'who'", Recorder())
    return [int(k) for k in found]


def test_the_smallest_class_decides() -> None:
    assert numbers([100, 60]) == [12]
    assert numbers([100, 60], each=20) == [3]


def test_classes_of_one_per_cent_do_not_hold_the_others_down() -> None:
    assert numbers([500, 500, 5]) == [100]
    assert numbers([500, 500, 20]) == [4]  # 2 % of the records count


def _told(sizes: list[int]) -> str:
    codes = np.repeat(np.arange(len(sizes)), sizes)
    names = tuple(f'["p{i}"]' for i in range(len(sizes)))
    told = Recorder()
    code_numbers(Classes(names, codes), np.zeros_like(codes), ExactConfig(), "'who'", told)
    return told.text


def test_a_small_class_that_holds_the_others_down_is_named() -> None:
    line = _told([140, 153, 7])
    assert "class 'p2' of 'who' has 7 of 300 records, so there are only 2 codes" in line
    assert "without it there would be 28" in line
    assert _told([150, 150]) == ""
    assert _told([290, 10]) == ""  # without it there would be nothing to suppress
    assert _told([140, 120, 40]) == ""  # a large part of the records


def test_there_are_two_codes_at_least_and_not_more_than_anybody_needs() -> None:
    assert numbers([5, 5]) == [2]
    assert numbers([20_000, 20_000]) == [MOST]


def test_every_preserved_value_has_its_own() -> None:
    assert numbers([80, 80], [0] * 60 + [1] * 20 + [0] * 60 + [1] * 20) == [12, 4]


def test_too_many_codes_are_refused_with_the_class_and_the_number() -> None:
    with pytest.raises(UserError) as told:
        fitted(world((300, 40)), codes=41)
    line = str(told.value)
    assert "\n" not in line
    assert line.startswith("41 codes are too many: class 'p1' of 'who' has 40 records")
    assert "set codes to at most 40" in line
    assert numbers([300, 40], codes=40) == [40]


def test_the_number_that_is_offered_is_accepted() -> None:
    u = [0] * 50 + [1] * 10 + [0] * 100 + [1] * 15
    with pytest.raises(UserError, match=r"at most (\d+)") as told:
        numbers([60, 115], u, codes=500)
    most = int(str(told.value).split("at most ")[1].split(",")[0])
    assert sum(numbers([60, 115], u, codes=most)) <= most
