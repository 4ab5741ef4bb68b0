"""The certificate on the page: the bound beside the attacks, its people, codes and assumptions."""

from __future__ import annotations

from typing import Any

import pytest

from report import samples
from report.pieces import certified, evidence, found, source
from report.reading import Page, first_screen, text_of
from withhold.audit.evidence import Evidence
from withhold.certificate.claim_wording import ASSUMPTIONS
from withhold.certificate.claims import Behind, GroupClaim, LinkedClaim
from withhold.report import render

PEOPLE = GroupClaim(
    column="caller",
    groups=1200,
    majority=0.02,
    plug_in=0.03,
    slack=0.01,
    bound=0.041,
    by="Chernoff",
)


def chapter(sample: Evidence) -> str:
    """The text of the section."""
    _, _, after = render(sample).partition('<section id="certificate"')
    return text_of(f"<section {after.partition('</section>')[0]}</section>")


def test_in_plain_words() -> None:
    told = chapter(samples.proved())
    assert (
        "For later records, no attacker, however powerful, names speaker correctly from one"
        " released record in more than 3.1 % of cases (confidence 95 %, proved on 6,000 records"
        " that the modifier never saw). Guessing without the release: 1.7 %." in told
    )
    assert "Every record of the release is one of the 256 codes of the certificate." in told
    assert "guess is right, on 6,000 records of voices.parquet (its test part)." in told
    for line in ASSUMPTIONS:
        assert " ".join(line.split()) in told


def test_beside_the_best_attack() -> None:
    source_ = render(samples.proved())
    assert "Best attack found 1.9 %, interval 1.6–2.3" in text_of(source_)
    [mark] = {m["x1"] for m in Page(source_).all("line", "bound")}
    assert mark == "62%"  # 3.1 of 5


def test_people_codes_and_several_records() -> None:
    told = chapter(samples.proved())
    assert "People not in this data nothing is proved: no group was named" in told
    assert "makes 41 2.1 times as likely as usual; 1.2 % of records have it" in told
    assert "Rarest code is shared by 38 records" in told
    assert "2.7 % counted on these records, plus 0.4 points for chance (Chernoff)" in told
    assert "5 records31.02.0 20 records98.03.3 50 recordsnot known–" in told
    least = Behind(code=7, number=12, of="caller")
    told = chapter(samples.proved(groups=PEOPLE, smallest_behind_code=least))
    assert "speaker of a new caller is named in at most 4.1 % of cases (proved on 1,200" in told
    assert "shared by 12 different caller" in told


def test_linked_bounds_that_all_say_nothing_are_one_line() -> None:
    none = {str(r): LinkedClaim(plug_in=0.5, bound=1.0) for r in (5, 20, 50)}
    told = chapter(samples.proved(linked=none))
    assert "Nothing is proved for 5, 20 or 50 records of one class put together" in told
    assert "not known" not in told
    assert "Nothing is proved for" not in chapter(samples.proved(linked={}))


def test_attacks_on_other_sets_are_not_put_beside_it() -> None:
    by = samples.proved().attributes["speaker"].model_copy(update={"linked_by": "caller"})
    told = chapter(evidence({"speaker": by}, certificate=source()))
    assert "5 records31.0–" in told


def test_the_first_screen_has_one_line() -> None:
    told = first_screen(render(samples.proved()))
    proved = "Proved: no attacker names it for more than 3.1 % of later records like these"
    assert f"{proved} (confidence 95 %)." in told
    assert told.count(proved) == 1  # in the headline
    assert "Nobody we tried could tell the speaker from this release" in told
    assert "What is proved comes from the certificate" in told


def test_without_one_nothing_is_said_of_it() -> None:
    page = render(samples.at_floor())
    assert "ertificate" not in text_of(page)
    assert 'id="certificate"' not in page


def test_a_bound_that_says_nothing() -> None:
    sample = samples.proved(1.0)
    told = first_screen(render(sample))
    assert "Nothing is proved: the certificate's bound is 100.0 %." in told
    told = chapter(sample)
    assert "speaker no bound" in told
    assert "however powerful" not in told
    assert "nothing is ruled out" in told


def test_not_checked_against_the_release() -> None:
    sample = samples.proved(checked=False)
    told = first_screen(render(sample))
    assert "Not proved: its certificate could not be checked against this file." in told
    assert "no attacker" not in told
    told = chapter(sample)
    assert "Not checked against the release." in told
    assert "at most 3.1 %, not checked" in told
    assert "Checked. Every record" not in told


def test_a_contradiction_is_loud() -> None:
    sample = samples.proved(informed=0.12)
    page = render(sample)
    alarm = (
        "Contradiction. The certificate says that no attacker names speaker for more than 3.1 % of"
        " single records, but an attack names it for 12.0 %. Do not rely on the certificate: its"
        " assumptions do not hold here."
    )
    assert alarm in first_screen(page)
    told = chapter(sample)
    assert alarm in told
    assert "speaker contradicted" in told
    assert "however powerful" not in told
    assert len(list(Page(page).all("p", "alarm"))) == 2
    assert "it belongs to another release, or its" in chapter(
        samples.proved(informed=0.12, checked=False)
    )
    assert "Contradiction" not in text_of(render(samples.proved(informed=0.031)))


def test_guessing_from_what_is_preserved_may_be_above_the_bound() -> None:
    speaker = found(
        "suppress", informed=0.02, ignorant=0.02, classes=60, floor=0.2, certificate=certified()
    )
    told = chapter(evidence({"speaker": speaker}, certificate=source()))
    assert "Guessing without the release, from what is preserved: 20.0 %." in told
    assert "Preserved labels add to it" in told


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"others": {"a,b": 0.5, "tags.x": 0.61}}, "not attacked here: a,b at most 50.0 %, tags.x"),
        ({"notes": ("too many to certify",)}, "Note. too many to certify"),
    ],
)
def test_what_else_the_certificate_has(change: dict[str, Any], told: str) -> None:
    sample = samples.proved()
    assert told in chapter(sample.model_copy(update={"certificate": source(**change)}))


def test_hashes() -> None:
    told = text_of(render(samples.proved()))
    assert "of codebook, made by withhold 0.1.0" in told
    assert "c0de" * 16 in told


@pytest.mark.parametrize("bound", [0.031, 1.0])
def test_never_called_private(bound: float) -> None:
    page = render(samples.proved(bound)).lower()
    for word in ("private", "anonymous", "safe ", "secure "):
        assert word not in page
