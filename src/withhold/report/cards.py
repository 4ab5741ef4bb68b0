"""One attribute as the page shows it: words, charts and tables."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from withhold.audit.attribute_evidence import AttributeEvidence
from withhold.audit.evidence import Evidence
from withhold.audit.findings import Tier
from withhold.report import wording
from withhold.report.card_tables import FigureRow, RungRow, Slices, figures, ladder, slices
from withhold.report.certificate_section import in_short
from withhold.report.charts.bars import Bar, bars
from withhold.report.charts.curve import Point, curve
from withhold.report.charts.meter import meter
from withhold.report.linked_words import LinkedLine, linked_lines
from withhold.report.with_original_words import with_original_words

_TIERS = (
    *("ignorant", "informed", "repeated", "all_rows", "columns", "column", "with_original"),
    "subgroup",
)


@dataclass(frozen=True)
class Card:
    """One attribute. Ids on the page are made of its index, never of its name."""

    index: int
    name: str
    found: AttributeEvidence
    tone: str
    sentences: list[Markup]
    proved: Markup | None
    kept: str
    meter: Markup
    bars: Markup
    curve: Markup | None
    linked: list[LinkedLine]
    columns: tuple[str, ...]
    figures: list[FigureRow]
    ladder: list[RungRow]
    models: list[RungRow]
    groups: Slices
    classes: Slices
    multilabel: bool
    with_original: str | None

    @property
    def status(self) -> str:
        """The status in words."""
        if self.found.only_eliminated:
            return "read by someone who knows all other labels"
        return wording.STATUS[self.found.status]

    @property
    def role(self) -> str:
        """The role in words."""
        return wording.ROLE[self.found.role]


def cards(evidence: Evidence) -> list[Card]:
    """Every attribute: the suppressed first, those that are readable before the others."""
    order = ("readable", "blind", "floor")
    roles = ("suppress", "preserve", "hidden")
    ranked = sorted(
        evidence.attributes.items(),
        key=lambda item: (
            roles.index(item[1].role),
            order.index(item[1].status) if item[1].role == "suppress" else 0,
        ),
    )
    alone = evidence.release is None
    return [_card(index, name, a, alone=alone) for index, (name, a) in enumerate(ranked)]


def _card(index: int, name: str, a: AttributeEvidence, *, alone: bool) -> Card:
    tone = _tone(a, alone=alone)
    measured: dict[str, Tier | None] = {
        "Original": None if alone else a.original,
        "Frozen": a.ignorant,
        "This data" if alone else "Retrained": a.informed,
        f"{a.draws} draws": a.repeated,
    }
    columns = {label: tier for label, tier in measured.items() if tier is not None}
    return Card(
        index=index,
        name=name,
        found=a,
        tone=tone,
        sentences=wording.sentences(name, a, alone=alone),
        proved=in_short(name, a),
        kept=wording.kept(a, alone=alone),
        meter=meter(a.informed.accuracy, before=None if alone else a.original.accuracy),
        bars=_bars(name, a, tone, alone=alone),
        curve=_curve(name, a),
        linked=linked_lines(a),
        columns=tuple(columns),
        figures=figures(a, list(columns.values())),
        ladder=ladder(a.ladder, a.informed.attacker, floor=a.floor),
        models=ladder(a.models, a.original.attacker, floor=a.floor),
        groups=slices(a.by_group, a),
        classes=slices(a.by_class, a),
        multilabel=wording.multilabel(a),
        with_original=None if a.with_original is None else with_original_words(a.with_original),
    )


def _tone(a: AttributeEvidence, *, alone: bool) -> str:
    """The colour; a warning if only someone who knows all other labels reads the attribute."""
    if a.role == "suppress":
        return "blind" if a.only_eliminated else a.status
    return "blind" if a.destroyed and not alone else "kept"


def _bars(name: str, a: AttributeEvidence, tone: str, *, alone: bool) -> Markup:
    """The original, then every tier; of the linked ones the highest, the curve has the rest."""
    rows = [] if alone else [Bar("Original data", a.original.accuracy, a.original.ci, "original")]
    most = max(a.linked, key=lambda r: (a.linked[r].accuracy, -int(r)), default=None)
    linked = ["linked_row", "linked_number", *([] if most is None else [f"linked{most}"])]
    for tier in (*_TIERS, *linked):
        found = a.tiers.get(tier)
        if found is not None:
            kind = "ignorant" if tier == "ignorant" else f"informed {tone}"
            label = wording.labelled(tier, a, alone=alone)
            rows.append(Bar(label, found.accuracy, found.ci, kind))
    return bars(rows, floor=a.floor, majority=a.majority, title=f"Accuracies on {name}")


def _curve(name: str, a: AttributeEvidence) -> Markup | None:
    if not a.linked:
        return None
    single = Point(1, a.informed.accuracy, a.informed.ci)
    together = [Point(linked.records, linked.accuracy, linked.ci) for linked in a.linked.values()]
    return curve(
        [single, *together],
        floor=a.floor,
        title=f"Accuracy on {name} by number of records put together",
    )
