"""What the first screen says: by status, by tier, with a gate and without a release."""

from __future__ import annotations

import pytest

from report import samples
from report.pieces import evidence, found, linked, tier
from report.reading import first_screen
from withhold.audit.evidence import Evidence
from withhold.audit.gate import check_gate, parse_gate
from withhold.report import render


def said(sample: Evidence) -> str:
    return first_screen(render(sample))


def test_readable() -> None:
    told = said(evidence({"speaker": found("suppress", informed=0.984, ignorant=0.0, classes=60)}))
    assert (
        "Do not release this: a new model trained on the release names the speaker for 98.4 % of"
        " records (guessing 1.7 %)." in told
    )
    assert (
        "A new model trained on the release names the right speaker (one of 60) for 98 of 100"
        " records; guessing gets 2 of 100." in told
    )
    assert "From the original data it was 99.0 %." in told
    assert "a frozen model of the original data, gets 0.0 % and would have missed this" in told


def test_readable_by_the_frozen_model_alone() -> None:
    told = said(evidence({"speaker": found("suppress", informed=0.1, ignorant=0.6)}))
    assert "A frozen model of the original data names the right speaker" in told
    assert "60 of 100" in told
    assert "would have missed" not in told


def test_not_distinguishable_from_the_floor() -> None:
    told = said(samples.at_floor())
    assert (
        "Nobody we tried could tell the speaker from this release better than by guessing"
        " (5.1 % of the test records right; guessing 5.0 %)." in told
    )
    assert "Useful for accent (93.0 % right; 99.0 % from the original)" in told
    assert "guessing from what is preserved gets 5 of 100" in told
    assert "can still be read" not in told
    assert "A stronger attacker may read more." in told


def test_above_the_floor_but_not_surely() -> None:
    """The 95 % interval leaves the floor out, the 99.5 % bound does not: the page says which."""
    doubtful = found("suppress", informed=0.1085, ignorant=None)
    assert doubtful.status == "floor"
    assert doubtful.informed.ci[0] > doubtful.floor
    told = said(evidence({"speaker": doubtful}))
    assert "cannot be told from guessing at the 99.5 % confidence that we ask for" in told


def test_blind() -> None:
    told = said(samples.blind())
    assert (
        "This audit cannot say whether this may leave: nobody we tried could tell the mood from the"
        " original data either." in told
    )
    assert "cannot read it from the original data either" in told
    assert "25 of 100 records; guessing gets 25 of 100" in told


@pytest.mark.parametrize(
    ("status", "words"),
    [
        ("readable", "This data gives the speaker away. "),
        ("floor", "Nobody we tried could tell the speaker from this data better than by guessing."),
        ("blind", "Nobody we tried could read the speaker from this data."),
    ],
)
def test_original_alone(status: str, words: str) -> None:
    sample = samples.alone(status)
    assert sample.attributes["speaker"].status == status
    told = said(sample)
    assert words in told
    assert "A model trained on this data names the right speaker" in told
    assert "What else it tells" in told
    assert "elease" not in told.replace("Audit of release", "")


@pytest.mark.parametrize(
    "sample",
    [
        samples.voices(),
        samples.at_floor(),
        samples.blind(),
        *map(samples.alone, ("floor", "blind")),
    ],
)
def test_never_called_private(sample: Evidence) -> None:
    page = render(sample).lower()
    for word in ("private", "anonymous", "safe ", "secure "):
        assert word not in page


def test_the_worst_tier_is_named() -> None:
    together = found("suppress", informed=0.3, linked=linked({5: 0.6, 20: 0.9}))
    told = said(evidence({"speaker": together}))
    assert "Someone who knows that 20 records are of one speaker names the right speaker" in told
    assert "for 90 of 100 such sets" in told
    assert "From single records, a new model trained on the release gets 30.0 %." in told
    repeated = found("suppress", informed=0.3, repeated=tier(0.8), draws=16)
    assert "Someone who is given every record 16 times" in said(evidence({"speaker": repeated}))


def test_records_are_linked_by_the_group_where_there_is_one() -> None:
    by = found(
        "suppress", informed=0.3, linked=linked({5: 0.9}), units="caller", linked_by="caller"
    )
    assert "that 5 records are of one caller names the right accent" in said(
        evidence({"accent": by})
    )


def test_a_worst_tier_that_is_not_certain_is_not_alone() -> None:
    few = linked({50: 0.34}, people=3)
    told = said(evidence({"speaker": found("suppress", informed=0.3, linked=few)}))
    assert "That figure is uncertain" in told
    assert "It is certain that a new model trained on the release gets 30.0 %" in told
    assert "From single records" not in told


def test_labels_are_not_one_of_many() -> None:
    told = said(evidence({"tags": samples.labels()}))
    assert "is right about tags for 93 of 100 labels; guessing gets 82 of 100" in told


def test_several_suppressed() -> None:
    leak, held = found("suppress", informed=0.8), found("suppress", informed=0.1)
    blind = found("suppress", informed=0.1, original=0.1)
    told = said(evidence({"a": held, "b": leak, "c": held}))
    assert "Do not release this: a new model trained on the release names the b for 80.0 %" in told
    assert told.index(" b can be read ") < told.index(" a nobody we tried beat guessing")
    told = said(evidence({"a": leak, "b": leak}))
    assert "both suppressed attributes can still be read (a 80.0 %, b 80.0 %)." in told
    many = dict.fromkeys("abcde", leak)
    told = said(evidence(many))
    assert "all 5 suppressed attributes can still be read (a 80.0 %, b 80.0 %, c" in told
    assert "d 80.0 %, …)." in told
    told = said(evidence({"a": held, "b": leak, "c": leak}))
    assert "2 of the 3 suppressed attributes can still be read" in told
    told = said(evidence({"a": held, "b": held}))
    assert "Nobody we tried could tell the a or the b from this release better than" in told
    told = said(evidence({"a": held, "b": blind}))
    assert "cannot say whether this may leave: nobody we tried could tell the b from" in told
    told = said(evidence({"a": leak, "b": leak}, release=None))
    assert "Both attributes to suppress can be read from this data." in told
    told = said(evidence({"a": held, "b": held}, release=None))
    assert "Nobody we tried could read any of the 2 attributes from this data." in told


def test_nothing_suppressed() -> None:
    assert "Nothing was named to be suppressed." in said(
        evidence({"a": found("hidden", informed=1)})
    )


def test_original_alone_with_nothing_named() -> None:
    read, not_read = found("hidden", informed=0.9), found("hidden", informed=0.1)
    told = said(evidence({"a": read, "b": not_read}, release=None))
    assert "This data gives away 1 of the 2 attributes." in told
    assert "What it gives away" in told
    assert "hidden" not in told
    assert "gives away all 2" in said(evidence({"a": read, "b": read}, release=None))
    assert "could read any attribute" in said(evidence({"b": not_read}, release=None))


def test_what_is_left() -> None:
    told = said(samples.voices())
    assert "digit preserved was 99.7 % 99.7 %" in told
    assert "accent unnamed was 99.0 % 91.1 %" in told
    blind = found("hidden", informed=0.1, original=0.1)
    many = {f"h{i}": found("hidden", informed=0.9) for i in range(9)}
    told = said(evidence({"dull": blind, "s": found("suppress", informed=0.9), **many}))
    assert "dull unnamed not read from the original either" in told
    assert "4 more below" in told


def test_the_gate() -> None:
    attributes = dict(samples.voices().attributes)

    def gated(text: str) -> str:
        result = check_gate(parse_gate(text, list(attributes)), attributes)
        return said(evidence(attributes, gate=result))

    told = gated("speaker>floor+2; digit<95")
    assert "Gate failed" in told
    assert "speaker>floor+2: speaker (linked20) is > 3.67 %: 100.00 %" in told
    assert "digit<95" not in told
    assert "1 of 2 conditions broken" in told
    assert "Gate passed 1 condition checked, none broken." in gated("digit<95")
    assert "Gate" not in said(evidence(attributes))


def test_units_of_the_intervals() -> None:
    by = found("suppress", informed=0.8, units="person")
    assert "Ranges treat each person as independent" in said(evidence({"speaker": by}))
    assert "Ranges treat each record as independent" in said(samples.voices())
