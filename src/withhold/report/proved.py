"""The certificate as the page shows it: what no attacker can exceed, beside what attacks found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from withhold.audit.attribute_evidence import AttributeEvidence
from withhold.audit.checked_certificate import Certified
from withhold.certificate.claims import Behind, GroupClaim, NoGroupClaim
from withhold.certificate.words import at_most
from withhold.report.charts import limit
from withhold.report.headline import proved as proved_sentence
from withhold.report.numbers import NONE, at_most_percent, counted, percent, points


@dataclass(frozen=True)
class Proved:
    """One attribute of the certificate. Ids on the page are made of the place of its card."""

    index: int
    name: str
    found: Certified
    tone: str
    sentences: list[Markup]
    alarm: Markup | None
    chart: Markup
    facts: list[tuple[str, Markup]]
    linked: list[LinkedRow]
    rows: list[ReleaseRow]

    @property
    def status(self) -> str:
        """The bound in few words, and whether to believe it."""
        if self.alarm is not None:
            return "contradicted"
        if self.found.at_most >= 1:
            return "no bound"
        doubt = "" if self.found.checked else ", not checked"
        return f"at most {at_most_percent(self.found.at_most)}{doubt}"

    @property
    def sizes(self) -> str:
        """How many records at once were asked about: `5, 20 or 50`."""
        sizes = [str(row.records) for row in self.linked]
        return " or ".join(filter(None, [", ".join(sizes[:-1]), *sizes[-1:]]))


@dataclass(frozen=True)
class ReleaseRow:
    """What is certified of the rows of one release against one kind of attacker."""

    attacker: str
    bound: str
    measured: str


@dataclass(frozen=True)
class LinkedRow:
    """So many records of one class: the most that any attacker reads, and what was found."""

    records: int
    bound: float
    measured: str

    @property
    def said(self) -> str:
        """The bound in percent; one of 100 % says nothing."""
        return "not known" if self.bound >= 1 else at_most(self.bound)


def proved(attributes: Sequence[tuple[int, str, AttributeEvidence]]) -> list[Proved]:
    """Every attribute that has a bound, each with the place of its card."""
    return [
        Proved(
            index=index,
            name=name,
            found=a.certificate,
            tone="readable" if a.contradicted else a.status,
            sentences=_sentences(name, a, a.certificate),
            alarm=_alarm(name, a, a.certificate) if a.contradicted else None,
            chart=limit(
                a.best.accuracy,
                a.best.ci,
                floor=a.floor,
                bound=a.certificate.at_most,
                title=f"Found and proved of {name}",
            ),
            facts=_facts(name, a.certificate),
            linked=_linked(name, a, a.certificate),
            rows=_of_release(name, a, a.certificate),
        )
        for index, name, a in attributes
        if a.certificate is not None
    ]


def in_short(name: str, a: AttributeEvidence) -> Markup | None:
    """The certificate in one line of the first screen."""
    found = a.certificate
    if found is None:
        return None
    if a.contradicted:
        return _alarm(name, a, found)
    return proved_sentence(a)


def _sentences(name: str, a: AttributeEvidence, found: Certified) -> list[Markup]:
    from_kept = a.floor > a.majority + 0.0005
    guessing = Markup("Guessing without the release{}: {}.").format(
        ", from what is preserved" if from_kept else "", _bold(percent(a.floor))
    )
    if a.contradicted:
        return [guessing]
    if found.at_most >= 1:
        open_ = "The certificate leaves everything open for {}: from {} the bound is {}."
        return [
            Markup(open_).format(
                _bold(name), counted(found.records, "record"), at_most_percent(found.at_most)
            ),
            guessing,
        ]
    if found.stated is None:
        later = Markup(
            "Of records that come later: nothing is proved of {} for other people ({}). For further"
            " records of the same people: at most {} (confidence {:g} %)."
        ).format(
            _bold(name),
            found.groups.reason if isinstance(found.groups, NoGroupClaim) else "",
            _bold(at_most_percent(found.bound)),
            100 * found.confidence,
        )
    else:
        later = Markup(
            "Of records that come later: no attacker, whatever its power, reads {} of one released"
            " record correctly in more than {} of cases (confidence {:g} %, proved on {} that the"
            " modifier never saw)."
        ).format(
            _bold(name),
            _bold(at_most_percent(found.stated)),
            100 * found.confidence,
            found.stated_units.replace("'", ""),
        )
    said = [later, guessing]
    if found.release is not None:
        said.insert(
            0,
            Markup(
                "Of the {} of this release: no attacker reads {} of one of them correctly in more"
                " than {} of cases. That is an exact count, and holds for every attacker who does"
                " not know which row is whose."
            ).format(
                counted(found.release.records, "record"),
                _bold(name),
                _bold(at_most_percent(found.release.one)),
            ),
        )
    if from_kept and a.floor > found.at_most:
        said.append(
            Markup("The bound is on who sees the code alone; preserved labels come on top of it.")
        )
    return said


def _alarm(name: str, a: AttributeEvidence, found: Certified) -> Markup:
    return Markup(
        "<b>Contradiction.</b> The certificate says that nobody reads {} of more than {} of single"
        " records, and an attack reads {}. Do not rely on the certificate: {}what it assumes does"
        " not hold here."
    ).format(
        _bold(name),
        _bold(at_most_percent(found.at_most)),
        _bold(percent(a.best.accuracy)),
        "" if found.checked else "it is of another release, or ",
    )


def _facts(name: str, found: Certified) -> list[tuple[str, Markup]]:
    worst = found.worst_lift
    return [
        ("People not in this data", _people(name, found.groups)),
        (
            "The code that tells most",
            Markup("makes {} {:.1f} times as likely as in general; {} of records get it").format(
                _bold(worst.of), worst.lift, percent(worst.share)
            ),
        ),
        ("Fewest behind a code", _behind(found.smallest_behind_code)),
        (
            "The count, and its margin",
            Markup("{} of these records, and {} points for chance ({})").format(
                percent(found.plug_in), points(found.slack), found.by
            ),
        ),
    ]


def _people(name: str, groups: GroupClaim | NoGroupClaim) -> Markup:
    if isinstance(groups, NoGroupClaim):
        return Markup("nothing is proved: {}").format(groups.reason)
    return Markup("{} of a new {} is read in at most {} of cases (counted: {:,} of them)").format(
        _bold(name), _bold(groups.column), _bold(at_most_percent(groups.bound)), groups.groups
    )


def _behind(least: Behind) -> Markup:
    if least.of == "records":
        return Markup(counted(least.number, "record"))
    return Markup("{:,} different {}").format(least.number, _bold(least.of))


_KNOWN = {
    "0.1": "who knows a tenth of the labels, and the totals",
    "0.5": "who knows half of the labels, and the totals",
    "0.9": "who knows nine tenths of the labels, and the totals",
    "all-but-one": "who knows all other labels, and the totals: subtracts",
}


def _of_release(name: str, a: AttributeEvidence, found: Certified) -> list[ReleaseRow]:
    claim = found.release
    if claim is None:
        return []
    rows = [ReleaseRow("who sees one row", at_most(claim.one), points(a.best.accuracy))]
    rows += [
        ReleaseRow(f"who sees {size} rows of one class", _or_open(bound), _measured(name, a, size))
        for size, bound in claim.linked.items()
    ]
    return rows + [
        ReleaseRow(_KNOWN.get(share, share), _or_open(bound), points(claim.measured.get(share)))
        for share, bound in claim.known.items()
    ]


def _or_open(bound: float) -> str:
    return "no bound" if bound >= 1 else at_most(bound)


def _linked(name: str, a: AttributeEvidence, found: Certified) -> list[LinkedRow]:
    return [
        LinkedRow(records=int(size), bound=claim.bound, measured=_measured(name, a, size))
        for size, claim in found.linked.items()
    ]


def _measured(name: str, a: AttributeEvidence, size: str) -> str:
    """What was read of so many records of one person: comparable where the class is the person."""
    found = a.linked.get(size) if a.linked_by in (None, name) else None
    return NONE if found is None else points(found.accuracy)


def _bold(text: str) -> Markup:
    return Markup("<b>{}</b>").format(text)
