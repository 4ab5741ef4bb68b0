"""report.html: self-contained, escaped, complete, and readable by everyone."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from report import samples
from report.pieces import clusters, evidence, found, linked, slices, tier
from report.reading import Page, first_screen, text_of
from report.samples import IMG
from withhold.audit.evidence import Evidence
from withhold.audit.findings import Distortion, Map, Rung
from withhold.report import render, write_report

SAMPLES = {
    "voices": samples.voices(),
    "floor": samples.at_floor(),
    "blind": samples.blind(),
    "proved": samples.proved(),
    "contradicted": samples.proved(informed=0.12, checked=False),
    "alone": samples.alone(),
    "hostile": samples.hostile(),
    "labels": evidence({"tags": samples.labels()}),
    "nothing suppressed": evidence({"digit": found("hidden", informed=0.9)}),
    "nothing": evidence({}),
}
every = pytest.mark.parametrize("sample", SAMPLES.values(), ids=SAMPLES.keys())


@every
def test_nothing_is_fetched_and_nothing_runs(sample: Evidence) -> None:
    source = render(sample)
    page = Page(source)
    styles = "".join(re.findall(r"<style>(.*?)</style>", source, re.S))
    assert not re.search(r"url\(|@import|@font-face|expression\(|javascript:", styles, re.I)
    assert "https:" not in source
    assert "http:" not in source
    allowed = {"script", "img", "link", "iframe", "object", "embed", "use", "image", "base", "form"}
    assert not allowed & {tag for tag, _ in page.tags}
    for tag, attributes in page.tags:
        for name, value in attributes.items():
            assert not name.startswith("on"), f"{tag} has a handler"
            assert name not in ("src", "srcset", "action", "style", "xlink:href")
            assert name != "href" or value.startswith("#")
    assert "default-src 'none'" in source


@every
def test_well_formed(sample: Evidence) -> None:
    source = render(sample)
    page = Page(source)
    assert page.open == []
    assert not re.search(r"\{[{%#]|[%}]\}\}", source)
    assert "nan" not in page.text.lower().split()
    assert "None" not in page.text


@every
def test_ids_are_unique_and_links_lead_somewhere(sample: Evidence) -> None:
    page = Page(render(sample))
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    for _, attributes in page.tags:
        for name in ("href", "for", "aria-labelledby"):
            assert name not in attributes or attributes[name].lstrip("#") in ids


@every
def test_for_those_who_cannot_see(sample: Evidence) -> None:
    source = render(sample)
    for drawing in re.findall(r"<svg.*?</svg>", source, re.S):
        assert "<title>" in drawing or 'aria-hidden="true"' in drawing
    page = Page(source)
    assert next(page.all("html"))["lang"] == "en"
    assert len(list(page.all("h1"))) == 1
    assert all("scope" in heading for heading in page.all("th"))
    named = {label["for"] for label in page.all("label")}
    assert {one["id"] for one in page.all("input")} == named
    # What scrolls sideways must be reachable by keyboard, and say what it is.
    assert all({"tabindex", "role", "aria-label"} <= set(box) for box in page.all("div", "scroll"))


@pytest.mark.parametrize(
    "name",
    [IMG, '" onload="alert(2)', "</style><script>alert(3)</script>", "{{ 7*7 }}", "a'b&c", "a b"],
)
def test_names_are_text_everywhere(name: str) -> None:
    source = render(samples.hostile(name), title=name)
    page = Page(source)
    plain = Page(render(samples.hostile("plain"), title="plain"))
    assert [tag for tag, _ in page.tags] == [tag for tag, _ in plain.tags]
    shape = [sorted(attributes) for _, attributes in page.tags]
    assert shape == [sorted(attributes) for _, attributes in plain.tags]
    assert page.text.count(name) == plain.text.count("plain") > 20
    for _, attributes in page.tags:
        for kind in ("class", "id", "for", "name"):
            assert re.fullmatch(r"[a-z0-9 -]*", attributes.get(kind, ""))


def test_a_crowd_fits() -> None:
    source = render(samples.crowded(classes=1000, attributes=8))
    assert len(source.encode()) < 3_000_000
    page = Page(source)
    text = page.text
    assert "The next 100" in text
    assert "888 more are in audit.json" in text
    assert "2 more below" not in text
    assert "both suppressed attributes can still be read (attribute 0 70.0 %" in text


def test_long_tables_open_with_the_worst() -> None:
    people = {f"p{i:02d}": 0.3 + i / 100 for i in range(30)}
    made = found("suppress", informed=0.5, by_group=slices("person", people))
    shown, folded = render(evidence({"speaker": made})).split("The next 18")
    assert [f"p{i}" for i in range(29, 17, -1)] == re.findall(r"</span> (p\d\d)", shown)
    assert [f"p{i:02d}" for i in range(17, -1, -1)] == re.findall(r"</span> (p\d\d)", folded)
    kept = found("preserve", informed=0.5, by_group=slices("person", people))
    assert re.search(r"</span> (p\d\d)", render(evidence({"digit": kept})))[1] == "p00"  # type: ignore[index]


def test_the_evidence_is_all_there() -> None:
    sample = samples.voices()
    text = text_of(render(sample, title="Voices & more"))
    speaker = sample.attributes["speaker"]
    for piece in (
        "Voices & more",
        "9f2c" * 16,
        "41ab" * 16,
        "seed 0",
        "budget.seconds 60",
        "attackers 8 min 32 s",
        "skipped: the budget of 60 s was used up",
        "Read best where gender is female: 99.6 %",
        "Balanced accuracy",
        "'speaker' determines 'accent'",
        "12 records have no accent",
        "By class (60)",
        "Models of the original data (8)",
        "A test record moved by 4.27 on average",
        "52 others",
        "mNAG",
        "PASS digit<95",
    ):
        assert piece in re.sub(r"\s+", " ", text), piece
    for rung in speaker.ladder:
        assert rung.attacker in text


def test_the_chosen_attacker_is_marked() -> None:
    source = render(samples.voices())
    [row, *_] = re.findall(r'<tr class="chosen">(.*?)</tr>', source, re.S)
    assert text_of(f"<table>{row}</table>").startswith("mlp best on val")


def test_a_rung_without_a_test_figure() -> None:
    bare = found("suppress", informed=0.9, ladder=(Rung(attacker="odd", val_accuracy=0.5),))
    text = text_of(render(evidence({"speaker": bare})))
    assert "odd50.0––" in text
    assert "The retrained attacker is mlp." in text


@pytest.mark.parametrize("labels", [{}, {"speaker": ()}])
def test_an_empty_map_is_left_out(labels: dict[str, tuple[int, ...]]) -> None:
    empty = Map(original=(), release=None, labels=labels, classes={"speaker": ()})
    sample = samples.voices(map=empty, distortion=None)
    page = Page(render(sample))
    assert not list(page.all("input"))
    assert "#map" not in [a["href"] for a in page.all("a")]
    assert "How far records moved" not in page.text


def test_a_map_of_the_original_alone() -> None:
    both = clusters({"speaker": 3}, points=9)
    sample = samples.alone().model_copy(update={"map": both.model_copy(update={"release": None})})
    assert len(list(Page(render(sample)).all("svg", "scatter"))) == 1


def test_distortion_without_a_histogram() -> None:
    bare = Distortion(mean=1.5, relative=0.2, edges=(), counts=())
    assert "A test record moved by 1.5 on average" in text_of(
        render(samples.voices(distortion=bare))
    )


def test_figures_that_are_no_numbers_are_dashes() -> None:
    nan = float("nan")
    odd = tier(0.9).model_copy(update={"f1": nan, "accuracy": nan, "ci": (nan, nan)})
    text = text_of(
        render(
            evidence(
                {"speaker": found("suppress", informed=0.9).model_copy(update={"original": odd})}
            )
        )
    )
    assert "nan" not in text


def test_every_tier_and_no_tier() -> None:
    full = found(
        "suppress",
        informed=0.5,
        ignorant=0.2,
        repeated=tier(0.7),
        draws=16,
        linked=linked({5: 0.6}),
    )
    text = text_of(render(evidence({"speaker": full})))
    for label in ("Release, frozen model", "Release, 16 draws averaged", "5 records together"):
        assert label in text
    bare = text_of(render(evidence({"speaker": found("suppress", informed=0.5, ignorant=None)})))
    for label in ("frozen model", "draws averaged", "records together"):
        assert label not in bare.replace("The frozen model", "")


def test_written_at_once(tmp_path: Path) -> None:
    write_report(samples.voices(), tmp_path / "r.html", title="Voices")
    assert [p.name for p in tmp_path.iterdir()] == ["r.html"]
    assert (tmp_path / "r.html").read_text(encoding="utf-8") == render(
        samples.voices(), title="Voices"
    )


def test_notes_are_on_the_first_screen() -> None:
    assert "12 records have no accent" in first_screen(render(samples.voices()))
