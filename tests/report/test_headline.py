"""The first words of the page: may this leave, for what, under which assumptions."""

from __future__ import annotations

import re

import pytest

from report import samples
from report.pieces import all_rows, certified, column, evidence, found, given, skipped, subgroup
from report.reading import Page, first_screen, text_of
from withhold.audit.findings import Linked
from withhold.certificate.claims import GroupClaim, NoGroupClaim
from withhold.report import render
from withhold.report.alarms import alarms
from withhold.report.headline import headline


def plain(markup: object) -> str:
    return text_of(str(markup)).replace("\N{NO-BREAK SPACE}", " ").strip()


def test_a_column_that_is_left_in_is_the_first_thing_said() -> None:
    sample = samples.column_left()
    found_ = headline(sample)
    assert plain(found_.says) == "Do not release this: the column gender is still in it."
    assert found_.tone == "readable"
    [alarm] = alarms(sample)
    assert plain(alarm) == (
        "The column gender is still in the file. Anyone who opens the file can read it; no attack"
        " is needed. Remove the column and make the release again."
    )
    page = render(sample)
    assert len(list(Page(page).all("p", "loud"))) == 1
    assert first_screen(page).index("Do not release this") < first_screen(page).index("50.0 %")


def test_a_copy_under_another_name_is_one_too() -> None:
    sample = samples.column_left("q7")
    assert plain(headline(sample).says) == (
        "Do not release this: its column q7 is a copy of the gender."
    )
    assert "The column q7 says the same as gender" in plain(alarms(sample)[0])


def test_unchanged_records() -> None:
    told = first_screen(render(samples.untouched()))
    assert "Do not release this: 5,000 of 5,000 train and val records are in it (nearly)" in told
    assert "4,000 of the 4,000 train records that were checked are in the release unchanged" in told


def test_which_columns_were_attacked_and_which_were_not() -> None:
    told = first_screen(render(samples.column_left()))
    assert "gender category: is gender itself" in told
    assert "device category: reveals gender for 79.0 % of records (guessing 50.0 %)" in told
    assert "room category: nothing found" in told
    told = first_screen(render(samples.certified_release()))
    assert "Not attacked take number: it is the same in every record" in told
    many = tuple(column(f"c{i}", speaker=0.4) for i in range(30))
    speaker = found("suppress", informed=0.017, ignorant=0.017, classes=60)
    told = first_screen(render(evidence({"speaker": speaker}, columns=many)))
    assert "22 more columns" in told
    assert "Not attacked" not in told
    told = first_screen(render(evidence({"speaker": speaker}, columns=(skipped("e", "empty"),))))
    assert "e number: empty" in told


def test_found_and_proved_are_about_single_records_and_rounded_alike() -> None:
    page = render(samples.certified_release())
    told = first_screen(page)
    assert (
        "Nobody we tried could tell the speaker from this release better than by guessing (1.9 %"
        " of the test records right; guessing 1.7 %). Proved: no attacker names it for more than"
        " 2.1 % of these records. No attacker names it for more than 3.1 % of later records like"
        " these (confidence 95 %)." in told
    )
    assert "Useful for digit (95.0 % right; 99.7 % from the original)" in told
    assert "does not have the original records, each record is released once, and the key" in told


def test_rows_of_one_person_are_a_condition_where_they_were_linked() -> None:
    told = "nobody can tell which records are of one person"
    linked = {"5": Linked(records=5, people=9, floor=0.5, accuracy=0.5, ci=(0.4, 0.6), least=0.3)}
    for by, said in (("caller", True), ("sex", False), (None, False)):
        one = found("suppress", informed=0.5, classes=2, linked=linked, linked_by=by)
        page = first_screen(render(evidence({"sex": one}, certificate=None)))
        assert (told in page) is said
        assert "does not have the original records" in page


@pytest.mark.parametrize("bound", [0.10149, 0.1015, 0.10151, 0.102])
def test_a_bound_is_the_same_figure_wherever_it_stands(bound: float) -> None:
    page = render(samples.proved(bound, informed=0.02)).replace("\N{NO-BREAK SPACE}", " ")
    assert "no attacker beyond 10.2 %" in page
    assert "10.1 %" not in page
    assert len(re.findall(r"10\.2 %", page)) >= 4


def test_where_a_group_was_named_its_bound_is_stated() -> None:
    people = GroupClaim(
        column="caller",
        groups=40,
        majority=0.02,
        plug_in=0.1,
        slack=0.2,
        bound=0.319,
        by="Chernoff",
    )
    page = render(samples.proved(groups=people)).replace("\N{NO-BREAK SPACE}", " ")
    told = first_screen(page)
    assert "for more than 31.9 % of later records" in told
    assert "3.1 %" not in told
    assert "no attacker beyond 31.9 %" in page
    assert "proved on 40 different caller" in text_of(page)


def test_a_headline_names_single_records_where_they_are_read() -> None:
    says = plain(headline(samples.voices()).says)
    assert says == (
        "Do not release this: a new model trained on the release names the speaker for 98.4 % of"
        " records (guessing 1.7 %)."
    )
    told = first_screen(render(samples.at_floor()))
    assert "A new model trained on the release names the right speaker (one of 60)" in told
    assert "Someone who knows that 20 records are of one speaker gets 6.7 %" in told


def test_only_who_knows_all_other_labels_reads_it() -> None:
    part = all_rows({"all": 0.0171, "train": 0.577}, 0.0167).model_copy(
        update={"attacker": "elimination"}
    )
    speaker = samples.certified_release().attributes["speaker"]
    sample = evidence({"speaker": speaker.model_copy(update={"all_rows": part})})
    assert sample.attributes["speaker"].only_eliminated
    found_ = headline(sample)
    assert found_.tone == "blind"
    assert plain(found_.says) == (
        "Do not give this to anyone who may know nearly all other labels: they name the speaker for"
        " 57.7 % of train records (guessing 1.7 %). Nobody else we tried could tell it better than"
        " by guessing (1.9 % right)."
    )
    assert "no attacker names it for more than 2.1 % of these records" in plain(found_.proved)
    told = first_screen(render(sample))
    assert "Someone who knows the labels of all other records names the right speaker" in told
    assert "trained on some of the released records" not in told
    assert "read by someone who knows all other labels" in told
    assert "From single records, a new model trained on the release gets 1.9 %." in told
    assert "would have missed" not in told
    assert "for an attacker who knows all other labels" in sample.verdict


def test_nothing_is_proved_for_other_people() -> None:
    none = NoGroupClaim(reason="these people were in the fit", records_apply=False)
    page = render(samples.proved(groups=none))
    told = first_screen(page)
    assert "Nothing is proved for other people." in told
    assert "no attacker names it" not in told
    assert "nothing is proved about speaker of other people (these people were in the fit)" in (
        text_of(page)
    )


def test_a_certificate_is_signed_or_unsigned() -> None:
    assert "signature checked" in first_screen(render(samples.certified_release()))
    page = render(samples.certified_release(signature="unsigned"))
    told = first_screen(page)
    assert "Certificate (unsigned)" in told
    assert "Proved: no attacker names it for more than 2.1 % of these records. Its" in told
    assert "certificate, whose signature was not checked, says: no attacker names it" in told
    assert "Unsigned. No key was given" in text_of(page)


def test_the_rows_of_this_release() -> None:
    told = text_of(render(samples.certified_release()))
    assert "For the 30,000 records of this release, no attacker names speaker correctly" in told
    assert "sees one row2.11.9" in told
    assert "sees 50 rows of one class20.4–" in told
    assert "knows nine tenths of the labels and the class totals4.11.9" in told
    assert "knows all other labels and the class totals (can subtract)no bound1.8" in told
    assert "Columns room were kept by name. This certificate does not cover them." in told


def test_power_parts_and_the_worst_slice() -> None:
    page = render(samples.certified_release())
    assert "the audit would not notice a leak of less than 2.1 points above guessing" in (
        first_screen(page)
    )
    told = text_of(page)
    assert "train6,0001.71.4–2.11.7–" in told
    assert "slice of the records that is read best: records with f_3 above 2.1, 60 records" in told
    assert "Chance alone explains that." in told
    leak = found(
        "suppress",
        informed=0.017,
        ignorant=0.017,
        classes=60,
        all_rows=all_rows({"all": 0.3, "train": 0.5, "test": 0.0167}, 0.0167),
        subgroup=subgroup(0.9, 0.0167),
    )
    told = text_of(render(evidence({"speaker": leak})))
    assert "train above guessing6,00050.0" in told
    assert "Do not release this: a model trained on some of the released records" in told


def test_what_was_destroyed_is_a_warning() -> None:
    page = render(samples.certified_release())
    assert (
        "gender unnamed 80.2 % Destroyed: was 99.9 %, now no better than guessing"
        in first_screen(page)
    )
    assert len(list(Page(page).all("li", "lost"))) == 1


def test_unnamed_is_never_called_hidden() -> None:
    for sample in (samples.voices(), samples.certified_release(), samples.column_left()):
        assert "hidden" not in text_of(render(sample)).lower()


def test_digests_say_of_what_they_are() -> None:
    told = text_of(render(samples.certified_release()))
    assert f"{'41ab' * 16}of the file, as sha256sum prints it" in told
    assert f"{'9f2c' * 16}of the values in memory" in told


def test_a_contradiction_comes_before_what_was_read() -> None:
    says = plain(headline(samples.proved(informed=0.12)).says)
    assert says == (
        "Do not release this: an attack names the speaker for 12.0 % of single records, but its"
        " certificate says that no attack can exceed 3.1 %."
    )


def test_several_suppressed_have_their_proofs_in_their_panels() -> None:
    both = {
        name: found(
            "suppress",
            informed=0.017,
            ignorant=0.017,
            classes=60,
            certificate=certified(b, release=given(b)),
        )
        for name, b in (("a", 0.031), ("b", 0.052))
    }
    told = first_screen(render(evidence(both)))
    assert "no attacker names it for more than 3.1 % of these records" in told
    assert "no attacker names it for more than 5.2 % of these records" in told
