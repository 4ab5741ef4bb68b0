"""The lines of the linked tier: in the page, in the terminal, and where nothing was attacked."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from report.pieces import evidence, found, linked, with_original
from report.reading import first_screen, text_of
from withhold.audit.evidence import Evidence
from withhold.audit.handed_over import handed_over
from withhold.report.linked_words import linked_lines, most_linked, not_linked_lines
from withhold.report.page import render
from withhold.report.table import print_table

WHY = "train, val or test has too few people"


def pain(**others: object) -> Evidence:
    by = {"classes": 2, "floor": 0.5, "units": "person", "linked_by": "person", **others}
    return evidence({"pain": found("suppress", informed=0.5, **by)}, certificate=None)


def printed(seen: Evidence) -> str:
    out = io.StringIO()
    print_table(seen, console=Console(file=out, width=200))
    return out.getvalue()


@pytest.mark.parametrize(
    ("tier", "who", "counts", "line"),
    [
        (
            "linked_row",
            "someone who compares a record with the others of its person",
            "of records",
            "one record among the others of its person",
        ),
        (
            "linked_number",
            "someone who knows how many records each person has",
            "of people",
            "how many records they have",
        ),
    ],
)
def test_each_line_is_named_wherever_it_counts(tier, who, counts, line) -> None:
    seen = pain(**{tier: linked({1: 0.99})["1"]})
    a = seen.attributes["pain"]
    assert (a.worst_tier, a.status) == (tier, "readable")
    page = render(seen)
    assert f"Do not release this: {who} names the pain for 99.0 % {counts}" in first_screen(page)
    assert line in text_of(page)
    assert f"pain, from {line}: 99.0 %" in printed(seen)
    assert seen.alarming
    assert handed_over(seen).attributes["pain"].status == "readable"


def test_of_the_sets_the_one_that_tells_most_is_told_and_every_other_line() -> None:
    one = linked({1: 0.7})["1"]
    a = pain(linked=linked({5: 0.6, 20: 0.8}), linked_number=one).attributes["pain"]
    assert [line.seen for line in linked_lines(a)][:2] == ["5 records", "20 records"]
    assert [line.seen for line in most_linked("pain", a)] == ["20 rows", "how many rows they have"]
    assert most_linked("person", a) == []


def test_what_was_not_attacked_is_a_condition_of_the_headline_and_of_the_verdict() -> None:
    seen = pain(linked_by=None, not_linked=WHY)
    assert "nobody can tell which records are of one person" in first_screen(render(seen))
    assert f"not attacked, since {WHY}" in seen.verdict
    assert not_linked_lines(seen) == [f"pain: {WHY}"]
    assert "not attacked" not in pain(linked=linked({5: 0.5})).verdict


@pytest.mark.parametrize("by", [None, "column 'person'"])
def test_where_receivers_see_whose_a_row_is_no_floor_is_claimed_without_an_attack(by) -> None:
    both = with_original(0.66, 0.01, linked_by=by)
    told = first_screen(render(pain(linked_by=None, not_linked=WHY, with_original=both)))
    assert ("This audit cannot say whether this may leave" in told) is (by is not None)
    assert (f"attacked together for pain ({WHY})" in told) is (by is not None)
