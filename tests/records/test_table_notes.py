"""What the owner of a table is told: ids that repeat, ids of two people, decimal commas."""

from __future__ import annotations

import pyarrow as pa
import pytest

from withhold.records.dataset import Dataset
from withhold.records.table_notes import table_notes
from withhold.records.tabular import describe_columns


def _notes(table: pa.Table, group: str | None = None) -> list[str]:
    data = Dataset.read(table, kind="table", group=group)
    skip = ["sex", *([group] if group else [])]
    columns = describe_columns(table, name="t", leave_out=skip)
    return list(table_notes(data, columns, ["sex"]))


def _table(**more: list[object]) -> pa.Table:
    return pa.table({"sex": ["m", "f"] * 60, "age": [20 + i % 7 for i in range(120)], **more})


def test_nothing_to_say() -> None:
    assert _notes(_table()) == []


def test_an_id_that_repeats_asks_for_a_group() -> None:
    ids = [f"p{i}" for i in range(115)] + ["p0"] * 5
    (said,) = _notes(_table(id=ids))
    assert "column 'id'" in said
    assert "5 records repeat the value of another: if it names people, add --group id" in said
    (said,) = _notes(_table(id=[f"p{i}" for i in range(120)]))
    assert "--group" not in said


def test_two_people_with_one_id() -> None:
    ids = [f"p{i // 4 * 2 + i % 2}" for i in range(120)]  # two records each, of one sex
    assert _notes(_table(id=ids), group="id") == []
    ids[1] = ids[0]
    (said,) = _notes(_table(id=ids), group="id")
    assert (
        "1 of 59 people with several records have more than one class of 'sex', e.g. 'p0'" in said
    )


def _people(rows: int = 3) -> dict[str, list[object]]:
    """40 people with constant town and birth, and a visit that changes."""
    who = [i // rows for i in range(120)]
    return {
        "id": [f"p{i}" for i in who],
        "town": [f"t{i % 7}" for i in who],
        "birth": [1950 + i for i in who],
        "visit": [i * 7 % 50 for i in range(120)],
    }


def test_an_id_whose_rows_contradict_each_other_in_two_columns() -> None:
    columns = _people()
    assert _notes(_table(**columns), group="id") == []
    columns["town"][4] = "t0"  # one person moved
    assert _notes(_table(**columns), group="id") == []
    columns["birth"][4] = 1901
    (said,) = _notes(_table(**columns), group="id")
    assert "1 of 40 people with several records have more than one value of 'town', 'birth'" in said
    assert "e.g. 'p1': do two people share an id of 'id'?" in said


def test_columns_that_change_in_many_people_say_nothing_about_ids() -> None:
    columns = _people()
    for person in range(12):
        columns["town"][3 * person] = "t9"
        columns["birth"][3 * person] = 1901
    assert not [n for n in _notes(_table(**columns), group="id") if "share an id" in n]


def test_missing_values_contradict_nothing() -> None:
    columns = _people()
    columns["town"][4] = columns["birth"][4] = None
    assert _notes(_table(**columns), group="id") == []


def test_rare_values_are_counted() -> None:
    town = ["north"] * 100 + ["south"] * 13 + ["east"] * 4 + ["west"] * 3
    (said,) = _notes(_table(town=town))
    assert said.startswith("warning: rare values of")
    assert "'town' 2 of 4 values (in 7 of 120 records)" in said
    (said,) = _notes(_table(town=["north"] * 119 + ["west"]))
    assert said.startswith("rare values of")


def test_text_between_numbers() -> None:
    (said,) = _notes(_table(pay=[str(i) if i % 4 else "unknown" for i in range(120)]))
    assert "holds numbers ('1') and text ('unknown')" in said
    assert "na_values=['unknown']" in said
    (said,) = _notes(
        _table(seen=[f"2020-01-{i % 28 + 1:02d}" if i % 4 else "-" for i in range(120)])
    )
    assert "holds dates" in said


def test_an_attribute_that_changes_within_people_is_no_mistake() -> None:
    assert _notes(_table(id=[f"p{i // 4}" for i in range(120)]), group="id") == []


def test_decimal_commas() -> None:
    (said,) = _notes(_table(pay=[f"{i % 9},5" for i in range(120)]))
    assert "column 'pay'" in said
    assert "'0,5'" in said


def test_a_salary_with_a_currency_is_no_id_of_people() -> None:
    pay = [f"{1 + i // 2}.{100 + i % 7 + i},{i % 90:02d} €" for i in range(115)] + [
        "1.100,00 €"
    ] * 5
    left_out, said = _notes(_table(pay=pay))
    assert "'pay' of" in left_out
    assert "--group" not in left_out
    assert "'1.100,00 €'" in said
    assert "write 1234.5" in said


def test_dates_of_another_order() -> None:
    (said,) = _notes(_table(seen=[f"{1 + i % 28:02d}.{1 + i % 12:02d}.2022" for i in range(120)]))
    assert "holds dates ('01.01.2022')" in said
    assert "write 2024-12-31" in said


@pytest.mark.parametrize("values", [["A12", "B13", "C14"], ["0412", "0977", "1034"], ["1,2 and 3"]])
def test_codes_are_no_numbers(values: list[str]) -> None:
    assert _notes(_table(code=[values[i % len(values)] for i in range(120)])) == []


def test_dates_in_several_layouts() -> None:
    seen = [("2021-12-21", "12/02/2020", "31.01.2022")[i % 3] for i in range(120)]
    (said,) = _notes(_table(seen=[f"{s[:-1]}{i % 2}" for i, s in enumerate(seen)]))
    assert "dates ('12/02/2021', '2021-12-20'), which are read as text" in said
    iso = [f"2021-12-{10 + i % 20}" for i in range(120)]
    assert _notes(_table(seen=iso)) == []


def test_points_between_thousands_beside_decimal_commas() -> None:
    pay = [round(1 + i * 7.013, 3) for i in range(120)]
    assert _notes(_table(pay=pay)) == []  # nothing says that the point is no decimal point
    both = _notes(_table(height=[f"{i % 9},5" for i in range(120)], pay=pay))
    assert len(both) == 2
    assert "column 'pay' of t" in both[1].replace("the Arrow table", "t")
    assert "if the point separates thousands" in both[1]
    small = [round(0.1 + i * 0.013, 3) for i in range(120)]  # 0.113 has no thousand
    assert len(_notes(_table(height=[f"{i % 9},5" for i in range(120)], share=small))) == 1


def test_thousands_in_text() -> None:
    (said,) = _notes(_table(pay=[f"1.{100 + i % 9}.000" for i in range(120)]))
    assert "'1.100.000'" in said


def test_a_secret_with_two_spellings() -> None:
    sex = ["m", "f"] * 50 + ["F", "Female", "male", "M"] * 5
    notes = _notes(pa.table({"sex": sex, "age": [20 + i % 7 for i in range(120)]}))
    assert len(notes) == 2
    said = next(n for n in notes if "Female" in n)
    assert "'f' (50), 'F' (5), 'Female' (5) of 'sex' may mean the same" in said


def test_a_list_column_may_be_the_features() -> None:
    left_out, said = _notes(_table(embedding=[[0.5 * i, 1.0] for i in range(120)]))
    assert "column 'embedding'" in left_out
    assert "add --features embedding" in said


@pytest.mark.parametrize(
    ("value", "how"),
    [
        ("{}%", "(pandas: df[COLUMN].str.strip('% ').astype(float))"),
        ("1,{}.50", "(pandas: read_csv(FILE, thousands=','))"),
        ("$ 1,{}", "(pandas: without the unit, read_csv(FILE, thousands=','))"),
        ("{},5", "(pandas: read_csv(FILE, decimal=',', thousands='.'))"),
        ("1.{},50 €", "(pandas: without the unit, read_csv(FILE, decimal=',', thousands='.'))"),
    ],
)
def test_the_recipe_fits_the_way_numbers_are_written(value: str, how: str) -> None:
    notes = _notes(_table(pay=[value.format(100 + i % 20) for i in range(120)]))
    assert how in next(n for n in notes if "'pay'" in n)
