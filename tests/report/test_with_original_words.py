"""The tier `with_original` on the page: in whole percents, and loud only if rows can be linked."""

from __future__ import annotations

from report.pieces import evidence, found, with_original
from report.reading import text_of
from withhold.audit.evidence import Evidence
from withhold.audit.handed_over import handed_over
from withhold.report.headline import headline
from withhold.report.page import render
from withhold.report.with_original_words import with_original_lines

WORDS = (
    "f somebody can tell whose row is whose and knows that person's other columns: 66 % from those"
    " columns alone, 82 % together with the released row (the release adds 16 points, range 13 to"
    " 19)."
)


def sex(linked_by: str | None, *, gain: float = 0.16) -> Evidence:
    both = with_original(0.66, gain, linked_by=linked_by)
    a = found("suppress", informed=0.5, classes=2, ignorant=None, n=600, with_original=both)
    return evidence({"sex": a})


def test_without_a_way_to_link_rows_it_is_told_and_does_not_count() -> None:
    seen = sex(None)
    page = text_of(render(seen))
    assert f"I{WORDS} Nothing in the release shows whose a row is" in page
    assert "Nobody we tried could tell the sex" in str(headline(seen).says.striptags())


def test_with_a_way_to_link_rows_it_is_the_headline() -> None:
    seen = sex("column 'customer'")
    assert f"I{WORDS} Receivers may tell whose a row is by column 'customer'" in text_of(
        render(seen)
    )
    assert headline(seen).says.striptags() == (
        "Do not release this: someone who can tell whose row is whose (column 'customer') and knows"
        " that person's other columns names the sex for 82.0 % of records (without the release"
        " 66.0 %)."
    )


def test_a_small_gain_is_called_chance() -> None:
    [line] = with_original_lines(sex("the order of the rows", gain=0.02))
    assert "(no more than chance explains)" in line


def test_what_is_handed_over_says_the_same() -> None:
    for linked_by in (None, "the order of the rows"):
        seen = sex(linked_by)
        leaves = handed_over(seen)
        [left], [own] = with_original_lines(leaves), with_original_lines(seen)
        assert left.split(").")[1] == own.split(").")[1]  # whether it counts in the verdict
        assert "82 % together" in left
        assert leaves.alarming is seen.alarming is (linked_by is not None)
