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
