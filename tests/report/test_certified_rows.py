"""An exact release on the page: what its plan proves, and who vouches for it."""

from __future__ import annotations

import pytest

from report import samples
from report.pieces import given, planned
from report.reading import first_screen, text_of
from report.test_certificate_section import chapter
from withhold.audit.gate import check_gate, parse_gate
from withhold.report import render

SAID = (
    "Whoever sees one row, and knows every original and every label but not the draws, names the"
    " speaker correctly in at most 1.7 % of cases: as often as by guessing."
)


def test_a_verified_plan_in_plain_words() -> None:
    told = chapter(samples.exact_release())
    assert SAID in told
    assert "knew how many rows of each class drew each code would be right in at most 2.1 %" in told
    assert "Guessing without the release: 1.7 %." in told
    assert "speaker at most 1.7 %" in told
    assert "not verified" not in told
    short = first_screen(render(samples.exact_release()))
    assert (
        "Proved: whoever sees one row, and does not know the draws, names it for at most 1.7 % of"
        " all these records: as often as by guessing." in short
    )


def test_the_table_has_both_kinds_of_attacker() -> None:
    told = chapter(samples.exact_release())
    assert "An attacker who …is right at most, % (proved)even if the totals" in told
    assert "even if the totals of each code were known, %" in told
    assert "sees one row1.72.11.7" in told
    assert "sees 20 rows of one class1.88.11.7" in told
    assert "knows half of the labels–2.41.8" in told
    assert "knows all other labels (can subtract)–no bound1.8" in told


def test_nothing_is_said_of_later_records() -> None:
    told = text_of(render(samples.exact_release()))
    for word in (
        "For later records, no",
        "Most revealing code",
        "Rarest code",
        "margin",
        "95 %, p",
    ):
        assert word not in told
    assert "differ by less than 0.001 points in how often they get a code" in told


def test_a_plan_above_guessing_is_rounded_up_and_not_called_guessing() -> None:
    told = chapter(samples.exact_release(planned(0.0231)))
    assert "correctly in at most 2.4 % of cases." in told
    assert "as often as by guessing" not in told


def test_a_plan_that_is_guessing_has_one_figure_everywhere() -> None:
    """A sum that exceeds guessing in the eighth digit is not rounded up to another figure."""
    told = chapter(samples.exact_release(planned(0.0167 + 3e-9)))
    assert "at most 1.7 %" in told
    assert "no attacker beyond 1.7 %" in told
    exact = samples.exact_release(planned(0.017 + 3e-9, floor=0.017))
    assert "no attacker beyond 1.7 %" in chapter(exact)
    assert "1.8 %" not in chapter(exact)


def test_a_contradiction_states_the_figure_of_the_certificate() -> None:
    exact = samples.exact_release(planned(0.017 + 3e-9, floor=0.017), informed=0.5)
    assert exact.alarming
    assert (
        "an attack reads speaker from 50.0 % of single records, but the certificate states at"
        in (exact.verdict)
    )
    assert "states at most 1.7 %" in exact.verdict
    assert not samples.exact_release().alarming


def test_without_the_key_the_counted_figure_comes_first() -> None:
    sample = samples.exact_release(verified=False)
    told = chapter(sample)
    counted = "no attacker names speaker correctly from one of them in more than 2.1 % of cases"
    plan = f"Not verified without the key, the certificate says: w{SAID[1:]}"
    assert told.index(counted) < told.index(plan)
    assert "is right at most, % (as the certificate says, not verified without the key)" in told
    assert "speaker at most 2.1 %" in told
    short = first_screen(render(sample))
    assert "Proved: no attacker names it for more than 2.1 % of these records." in short
    assert "as often as by guessing" not in short


def test_a_table_is_vouched_for_by_the_key_alone() -> None:
    told = chapter(samples.exact_release(table=True))
    assert "Of this file. The rows of a table are not codes" in told
    assert "a row made from one of" in told
    assert SAID in told
    sample = samples.exact_release(table=True, verified=False)
    told = chapter(sample)
    assert "Only the key can show that nobody changed them." in told
    assert "speaker at most 2.1 %, not checked" in told
    assert "Proved" not in first_screen(render(sample))
    assert "no key was given to check its signature" in first_screen(render(sample))


@pytest.mark.parametrize(
    ("options", "passes"),
    [
        ({}, True),
        ({"verified": False}, False),  # 2.1 % was counted
        ({"table": True}, True),
        ({"table": True, "verified": False}, False),
        ({"table": True, "file": False}, False),
        ({"informed": 0.05}, False),  # an attack contradicts it
    ],
)
def test_the_gate_passes_only_on_what_is_verified(options: dict[str, bool], passes: bool) -> None:
    attributes = samples.exact_release(**options).attributes
    gate = parse_gate("speaker@certificate>2", list(attributes))
    assert check_gate(gate, attributes).passed is passes


def test_an_attack_just_above_an_exact_figure_is_chance() -> None:
    """Above it in 95 of 100 audits, but not in 99.5: not called a contradiction."""
    [a] = samples.exact_release(informed=0.0204).suppressed.values()
    assert a.best.ci[0] > a.certificate.at_most > a.best.least  # type: ignore[union-attr]
    assert not a.contradicted
    [a] = samples.exact_release(informed=0.0225).suppressed.values()
    assert a.contradicted


def test_two_tiers_share_the_chance_of_a_false_contradiction() -> None:
    """Each alone would contradict one honest plan in 200, and both together one in 100."""
    [a] = samples.exact_release(informed=0.0212).suppressed.values()
    assert a.best.least > a.certificate.at_most  # type: ignore[union-attr]
    assert not a.contradicted
    assert a.model_copy(update={"ignorant": None}).contradicted


def test_the_test_part_may_have_more_of_the_commonest_class_than_all_rows() -> None:
    """The plan is about all rows. Naming the commonest class of test rows contradicts nothing."""
    [a] = samples.exact_release(informed=0.0225).suppressed.values()
    assert a.contradicted
    assert not a.model_copy(update={"floor": 0.0224}).contradicted


def test_rows_without_a_plan_are_counted() -> None:
    told = chapter(samples.exact_release(given(), verified=False))
    assert "draws" not in told.partition("What the certificate assumes")[0]
    assert "knows half of the labels and the class totals2.41.8" in told
