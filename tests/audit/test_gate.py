from __future__ import annotations

import pytest

from audit.built import bundle, found, tier
from report.pieces import certified, given
from withhold.audit.gate import check_gate, parse_gate
from withhold.core.errors import UserError

# Worst is linked20; majority 10 %, floor 20 %, original 90 %.
SPEAKER = found(
    tier(0.5, balanced_accuracy=0.45, bits=1.5),
    0.3,
    linked={"5": bundle(5, 0.7), "20": bundle(20, 0.8)},
    repeated=tier(0.6, bits=1.75),
    draws=3,
)
PLAIN = found(0.97, 0.99, role="preserve", floor=0.1)
AUDIT = {"speaker": SPEAKER, "digit": PLAIN}


def check(text, attributes=AUDIT):
    return check_gate(parse_gate(text, list(attributes)), attributes)


# --- what is compared ---


@pytest.mark.parametrize(
    ("condition", "figure", "limit"),
    [
        ("speaker>floor+2", 80, 22),
        ("speaker > floor + 2.5", 80, 22.5),
        ("speaker>floor - 1", 80, 19),
        ("speaker>floor", 80, 20),
        ("speaker>majority", 80, 10),
        ("speaker>majority+5%", 80, 15),
        ("speaker>original-5", 80, 85),
        ("speaker>95", 80, 95),
        ("speaker>=95 %", 80, 95),
        ("speaker<95%", 50, 95),  # < asks what is left: the informed figure
        ("speaker<=floor", 50, 20),
        ("speaker@worst<95", 80, 95),
        ("speaker@informed>floor+2", 50, 22),
        ("speaker@ignorant>25", 30, 25),
        ("speaker@linked>25", 80, 25),
        ("speaker@linked5>25", 70, 25),
        ("speaker@linked20>25", 80, 25),
        ("speaker@repeated>25", 60, 25),
        ("speaker @ balanced < 50", 45, 50),
        ("speaker@bits>1.5", 1.75, 1.5),  # bits, of the tier that reads most of them
        ("speaker@bits>0.5", 1.75, 0.5),
        ("speaker@nag>49", 50, 49),
        ("speaker>0.6%", 80, 0.6),
        ("speaker>0.6 %", 80, 0.6),
        ("speaker>floor+0.5", 80, 20.5),
        ("speaker>0", 80, 0),
        ("speaker>1", 80, 1),
        ("digit<original-5", 97, 85),
    ],
)
def test_a_condition_compares_this_figure_with_that_limit(condition, figure, limit):
    (one,) = check(condition).conditions
    assert one.found == pytest.approx(figure)
    assert one.limit == pytest.approx(limit)
    operators = {">": figure > limit, "<": figure < limit}
    expected = operators[">" if ">" in condition else "<"]
    assert one.failed is expected


@pytest.mark.parametrize(
    ("condition", "failed"),
    [("a>50", False), ("a>=50", True), ("a<50", False), ("a<=50", True)],
)
def test_equal_is_neither_more_nor_less(condition, failed):
    assert check(condition, {"a": found(0.5)}).passed is not failed


def test_the_gate_passes_where_no_condition_holds():
    result = check("speaker>95; digit<90 ;")
    assert result.passed
    assert len(result.conditions) == 2
    assert result.failures == ()
    result = check(["speaker>95; digit<90", "speaker>floor+2"])
    assert not result.passed
    assert [c.failed for c in result.conditions] == [False, False, True]


def test_what_failed_is_told_with_attribute_tier_limit_and_figure():
    (line,) = check("speaker>floor+2; digit<90").failures
    assert line == "speaker>floor+2: speaker (linked20) is > 22.00 %: 80.00 %"
    (line,) = check("speaker@bits>1").failures
    assert line == "speaker@bits>1: speaker (bits) is > 1.00 bits: 1.75 bits"
    (passed,) = check("digit<90").conditions
    assert "digit (informed) is not < 90.00 %: 97.00 %" in passed.said


# --- attackers that fail on the original too ---

BLIND = found(0.12, 0.1, original=tier(0.11), certificate=certified(0.31, verified=True))


@pytest.mark.parametrize(
    "condition",
    ["a>floor+2", "a>=99", "a@informed>50", "a@bits>1", "a@balanced>50", "a@subgroup>floor+2"],
)
def test_an_attribute_that_nobody_reads_from_the_original_does_not_pass(condition):
    assert BLIND.status == "blind"
    result = check(condition, {"a": BLIND})
    assert not result.passed
    (line,) = result.failures
    assert line.startswith(f"{condition}: the attackers do not read 'a' from the original either")
    assert "a@certificate>" in line


def test_a_bound_on_every_attacker_passes_without_attackers():
    assert check("a@certificate>32", {"a": BLIND}).passed


def test_what_is_wanted_high_is_compared_as_ever():
    assert check("a<10", {"a": BLIND}).passed
    assert not check("a<20", {"a": BLIND}).passed


def test_a_leak_of_a_blind_attribute_is_told_as_a_leak():
    (line,) = check("a>5", {"a": BLIND}).failures
    assert "is > 5.00 %" in line


def test_one_file_alone_is_told_to_bring_the_original():
    gate = parse_gate("a>floor+2", ["a"])
    (line,) = check_gate(gate, {"a": BLIND}, alone=True).failures
    assert "audit the original together with its release" in line


# --- the certificate ---


@pytest.mark.parametrize(
    ("condition", "limit", "failed"),
    [
        ("speaker@certificate>6", 6, True),
        ("speaker@certificate>32", 32, False),
        ("speaker@certificate>floor+12", 32, False),
        ("speaker@certificate>floor+10", 30, True),
        ("speaker @ certificate <= 31", 31, True),
    ],
)
def test_the_bound_is_compared(condition, limit, failed):
    (one,) = check(
        condition, {"speaker": found(0.2, certificate=certified(0.31, verified=True))}
    ).conditions
    assert (one.found, one.limit, one.failed) == (pytest.approx(31), pytest.approx(limit), failed)


@pytest.mark.parametrize(
    ("certificate", "told"),
    [
        (None, "there is no certificate for 'speaker'; give one with --certificate"),
        (certified(0.3, checked=False), "the certificate was not checked against the release"),
        (certified(0.3), "the certificate is unsigned; give --key or the bundle"),
        (
            certified(0.3, release=given(0.3)),
            "the certificate is unsigned; give --key or the bundle",
        ),
        (certified(0.1, verified=True), "the certificate is contradicted: an attack reads 20.00 %"),
    ],
)
def test_a_bound_that_is_not_there_fails(certificate, told):
    result = check("speaker@certificate>99", {"speaker": found(0.2, certificate=certificate)})
    assert not result.passed
    assert result.failures == (f"speaker@certificate>99: cannot be checked: {told}",)
    assert result.conditions[0].found is None


def test_the_bound_of_a_release_is_that_of_its_rows():
    """It needs no signature where it was counted again."""
    stated = certified(0.31, release=given(0.25), recounted=0.25)
    (one,) = check("speaker@certificate>26", {"speaker": found(0.2, certificate=stated)}).conditions
    assert (one.found, one.failed) == (pytest.approx(25), False)
    wrong = certified(0.31, release=given(0.1), recounted=0.1)
    (one,) = check("speaker@certificate>26", {"speaker": found(0.2, certificate=wrong)}).conditions
    assert one.failed
    assert "contradicted" in one.said


# --- names ---


@pytest.mark.parametrize(
    "name",
    [
        "first name",
        "age.band",
        "gender,accent",
        "user@home",
        "naïve",
        "年齢",
        "a-b+c",
        "x (y)",
        "99",
    ],
)
def test_any_name_can_be_asked_for(name):
    attributes = {name: SPEAKER}
    assert not check(f"{name}>floor+2", attributes).passed
    assert not check(f"  {name} > floor+2 ", attributes).passed
    (one,) = check(f"{name}@informed>floor+2", attributes).conditions
    assert one.found == pytest.approx(50)


# --- mistakes ---


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "--fail-if is empty"),
        (" ; ", "--fail-if is empty"),
        ([], "--fail-if is empty"),
        ("speaker", "'speaker' is not NAME OP VALUE"),
        ("speaker=5", "is not NAME OP VALUE"),
        ("speaker=>5", "write >= for '=>'"),
        (">5", "is not NAME OP VALUE"),
        ("speaker>", "is not NAME OP VALUE"),
        ("speker>5", r"attribute 'speker' is not in the audit; did you mean 'speaker'\?"),
        ("zzz>5", r"attribute 'zzz' is not in the audit \(it has: speaker, digit\)"),
        ("speaker@infromed>5", "there is no 'infromed'; did you mean 'informed'"),
        ("speaker@linkedx>5", "there is no 'linkedx'; did you mean 'linked'"),
        ("speaker>flor+2", "'flor\\+2' is not a number of points, nor floor, majority, original"),
        ("speaker>%", "'%' is not a number"),
        ("speaker>1e3", "'1e3' is not a number"),
        ("speaker>floor2", r"write 'floor\+2'"),
        ("speaker>floor*2", "is not a number"),
        ("speaker>0.6", r"in percent; write 60 for 60 %, or 0\.6% if you mean so little"),
        ("digit<.95", "not a number of points"),
        ("digit<0.955", r"write 95\.5 for 95\.5 %"),
        ("speaker@certificate>0.55", "write 55 for 55 %"),
    ],
)
def test_a_mistake_is_named_with_what_to_write(text, message):
    with pytest.raises(UserError, match=message):
        parse_gate(text, ["speaker", "digit"])


@pytest.mark.parametrize(
    ("condition", "why"),
    [
        ("digit@repeated>5", "tier 'repeated' was not measured (measured: ignorant, informed)"),
        ("digit@linked<5", "tier 'linked' was not measured"),
        ("speaker@linked50>5", "tier 'linked50' was not measured"),
        ("blind@nag>5", "NAG is undefined"),
    ],
)
def test_what_was_not_measured_is_no_pass(condition, why):
    """A gate that cannot be checked does not open, and does not undo the audit either."""
    result = check(condition, AUDIT | {"blind": found(original=tier(0.05))})
    assert not result.passed
    (one,) = result.conditions
    assert one.found is None
    assert f"{condition}: cannot be checked: {why}" in one.said
