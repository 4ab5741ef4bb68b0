from __future__ import annotations

import numpy as np
import pytest

from withhold.core.errors import UserError
from withhold.records.dataset import Dataset
from withhold.records.roles import Roles

N = 12
DATA = Dataset.from_arrays(
    np.zeros((N, 2)),
    {
        "speaker": [f"s{i % 4}" for i in range(N)],
        "digit": [i % 3 for i in range(N)],
        "constant": ["same"] * N,
        "empty": [None] * N,
        "height": np.linspace(0.1, 0.9, N),
        "id": [f"record {i}" for i in range(N)],
        "split": ["train"] * N,
    },
    name="voices.parquet",
)


@pytest.mark.parametrize(
    "suppress", ["speaker,digit", " speaker , digit,", ["speaker", "digit"], ("speaker", "digit")]
)
def test_names_as_text_or_as_a_list_in_the_order_given(suppress):
    roles = Roles.of(suppress, "gender")
    assert roles.suppress == ("speaker", "digit")
    assert roles.preserve == ("gender",)
    assert roles.named == ("speaker", "digit", "gender")
    assert [roles.role(n) for n in ("digit", "gender", "age")] == ["suppress", "preserve", "hidden"]


def test_a_name_given_twice_counts_once():
    assert Roles.of("a,b,a").suppress == ("a", "b")


@pytest.mark.parametrize("nothing", ["", [], " , ", [""]])
def test_nothing_to_suppress(nothing):
    with pytest.raises(UserError, match="name at least one with --suppress"):
        Roles.of(nothing, "digit")


def test_an_attribute_in_both_roles():
    with pytest.raises(UserError, match="'b' is in both --suppress and --preserve; choose one"):
        Roles.of("a,b", "c,b")


def test_roles_that_the_data_can_serve():
    Roles.of("speaker", "digit").check(DATA)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("speker", "'speker' is not in voices.parquet; did you mean 'speaker'?"),
        ("zzz", "'zzz' is not in voices.parquet (it has: speaker, digit, constant, empty,"),
        ("split", "'split' is not in voices.parquet"),
        ("constant", "'constant' of voices.parquet has one class only ('same')"),
        ("empty", "'empty' of voices.parquet is null in every record"),
        ("height", "'height' of voices.parquet is a column of fractions"),
        ("id", "'id' of voices.parquet has 12 classes in 12 labelled records"),
    ],
)
@pytest.mark.parametrize("role", ["suppress", "preserve"])
def test_what_cannot_be_served_is_told_in_one_line(name, message, role):
    roles = Roles.of(name) if role == "suppress" else Roles.of("speaker", name)
    with pytest.raises(UserError) as caught:
        roles.check(DATA)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_role_that_is_no_name() -> None:
    with pytest.raises(UserError, match="3 is no name of an attribute"):
        Roles.of(3)  # type: ignore[arg-type]
