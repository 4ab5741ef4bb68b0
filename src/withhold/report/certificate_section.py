"""The certificate section: what no attacker can exceed, beside what attacks found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from withhold.audit.attribute_evidence import AttributeEvidence
from withhold.audit.checked_certificate import Certified, CertifiedRows
from withhold.certificate.claim_wording import at_most
from withhold.certificate.claims import Behind, GroupClaim, NoGroupClaim, ReleaseClaim
from withhold.report.certified_rows import (
    RowsTable,
    measured,
    of_these_rows,
    rows_facts,
    rows_sentences,
    rows_table,
)
from withhold.report.charts.bound_chart import limit
from withhold.report.headline import proved as proved_sentence
from withhold.report.number_format import at_most_percent, counted, percent, percent_of, points
from withhold.report.wording import bold


@dataclass(frozen=True)
class Proved:
    """One attribute of the certificate. Ids on the page are made of the place of its card."""

    index: int
    name: str
    found: Certified | CertifiedRows
    tone: str
    sentences: list[Markup]
    alarm: Markup | None
    chart: Markup
    facts: list[tuple[str, Markup]]
    linked: list[LinkedRow]
    rows: RowsTable | None

    @property
    def status(self) -> str:
        """The bound in a few words, and whether it was checked."""
        if self.alarm is not None:
            return "contradicted"
        if self.found.at_most >= 1:
            return "no bound"
        doubt = "" if self.found.checked or self.found.of_this_file else ", not checked"
        return f"at most {percent_of(self.found.figure)}{doubt}"

    @property
    def counts(self) -> Certified | ReleaseClaim:
        """The claim that says how many records and codes were counted."""
        return self.found.release if isinstance(self.found, CertifiedRows) else self.found

    @property
    def sizes(self) -> str:
        """The numbers of linked records: `5, 20 or 50`."""
        sizes = [str(row.records) for row in self.linked]
        return " or ".join(filter(None, [", ".join(sizes[:-1]), *sizes[-1:]]))


@dataclass(frozen=True)
class LinkedRow:
    """A number of records of one class: the bound on every attacker, and what was found."""

    records: int
    bound: float
    measured: str

    @property
    def said(self) -> str:
        """The bound in percent; a bound of 100 % rules nothing out."""
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
                figure=a.certificate.figure,
                title=f"Found and proved of {name}",
            ),
            facts=_facts(name, a.certificate),
            linked=_linked(name, a, a.certificate),
            rows=rows_table(name, a, a.certificate),
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


def _sentences(name: str, a: AttributeEvidence, found: Certified | CertifiedRows) -> list[Markup]:
    from_kept = a.floor > a.majority + 0.0005
    guessing = Markup("Guessing without the release{}: {}.").format(
        ", from what is preserved" if from_kept else "", bold(percent(a.floor))
    )
    if a.contradicted:
        return [guessing]
    if isinstance(found, CertifiedRows):
        return rows_sentences(name, found)
    if found.at_most >= 1:
        open_ = "The certificate rules nothing out for {}: with {} the bound is {}."
        return [
            Markup(open_).format(
                bold(name), counted(found.records, "record"), at_most_percent(found.at_most)
            ),
            guessing,
        ]
    if found.stated is None:
        later = Markup(
            "For later records, nothing is proved about {} of other people ({}). For further"
            " records of the same people: at most {} (confidence {:g} %)."
        ).format(
            bold(name),
            found.groups.reason if isinstance(found.groups, NoGroupClaim) else "",
            bold(at_most_percent(found.bound)),
            100 * found.confidence,
        )
    else:
        later = Markup(
            "For later records, no attacker, however powerful, names {} correctly from one released"
            " record in more than {} of cases (confidence {:g} %, proved on {} that the modifier"
            " never saw)."
        ).format(
            bold(name),
            bold(at_most_percent(found.stated)),
            100 * found.confidence,
            found.stated_units.replace("'", ""),
        )
    said = [later, guessing]
    if found.release is not None:
        said.insert(0, of_these_rows(name, found.release))
    if from_kept and a.floor > found.at_most:
        said.append(
            Markup(
                "The bound is for an attacker who sees only the code. Preserved labels add to it."
            )
        )
    return said


def _alarm(name: str, a: AttributeEvidence, found: Certified | CertifiedRows) -> Markup:
    return Markup(
        "<b>Contradiction.</b> The certificate says that no attacker names {} for more than {} of"
        " single records, but an attack names it for {}. Do not rely on the certificate: {}its"
        " assumptions do not hold here."
    ).format(
        bold(name),
        bold(percent_of(found.figure)),
        bold(percent(a.best.accuracy)),
        "" if found.checked else "it belongs to another release, or ",
    )


def _facts(name: str, found: Certified | CertifiedRows) -> list[tuple[str, Markup]]:
    if isinstance(found, CertifiedRows):
        return rows_facts(found)
    worst = found.worst_lift
    return [
        ("People not in this data", _people(name, found.groups)),
        (
            "Most revealing code",
            Markup("makes {} {:.1f} times as likely as usual; {} of records have it").format(
                bold(worst.of), worst.lift, percent(worst.share)
            ),
        ),
        ("Rarest code", _behind(found.smallest_behind_code)),
        (
            "Count and margin",
            Markup("{} counted on these records, plus {} points for chance ({})").format(
                percent(found.plug_in), points(found.slack), found.by
            ),
        ),
    ]


def _people(name: str, groups: GroupClaim | NoGroupClaim) -> Markup:
    if isinstance(groups, NoGroupClaim):
        return Markup("nothing is proved: {}").format(groups.reason)
    return Markup("{} of a new {} is named in at most {} of cases (proved on {:,} of them)").format(
        bold(name), bold(groups.column), bold(at_most_percent(groups.bound)), groups.groups
    )


def _behind(least: Behind) -> Markup:
    if least.of == "records":
        return Markup("is shared by {}").format(counted(least.number, "record"))
    return Markup("is shared by {:,} different {}").format(least.number, bold(least.of))


def _linked(name: str, a: AttributeEvidence, found: Certified | CertifiedRows) -> list[LinkedRow]:
    if isinstance(found, CertifiedRows):
        return []
    return [
        LinkedRow(records=int(size), bound=claim.bound, measured=measured(name, a, size))
        for size, claim in found.linked.items()
    ]
