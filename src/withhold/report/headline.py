"""The headline: may this release leave, for what use, and under which assumptions.

The figure that attacks found and the figure that is proved are both about single records.
"""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from withhold.audit.attribute_evidence import AttributeEvidence
from withhold.audit.checked_certificate import CertifiedRows
from withhold.audit.evidence import Evidence
from withhold.report import wording
from withhold.report.alarms import copies_of
from withhold.report.certified_rows import not_proved, rows_in_short
from withhold.report.linked_words import told_but_not_attacked
from withhold.report.number_format import at_most_percent, percent, percent_of

_MANY = 4  # attributes or columns that a sentence names


@dataclass(frozen=True)
class Headline:
    """The first words of the page; `tone` is a colour: readable (alarm), blind, floor."""

    says: Markup
    tone: str
    proved: Markup | None = None
    terms: tuple[tuple[str, Markup], ...] = ()


def headline(evidence: Evidence) -> Headline:
    """What to do with this release, in one or two sentences."""
    if evidence.release is None or not evidence.suppressed:
        return Headline(wording.headline(evidence), _tone(evidence), terms=_terms(evidence))
    stop = _still_there(evidence) or _unchanged(evidence) or _contradicted(evidence)
    stop = stop or _readable(evidence)
    if stop is not None:
        return Headline(Markup("Do not release this: {}").format(stop), "readable")
    for name, a in evidence.suppressed.items():
        if a.only_eliminated:
            return _to_whom_not(name, a, evidence)
    blind = [name for name, a in evidence.suppressed.items() if a.status == "blind"]
    if blind:
        why = (
            "nothing shows that its records were compared with their own originals."
            if any(evidence.suppressed[name].unpaired for name in blind)
            else "nobody we tried could tell the {} from the original data either."
        )
        says = Markup("This audit cannot say whether this may leave: " + why)
        return Headline(says.format(_listed(blind, "or the")), "blind")
    unknown = told_but_not_attacked(evidence)
    if unknown:
        return Headline(
            Markup("This audit cannot say whether this may leave: {}").format(unknown), "blind"
        )
    names = list(evidence.suppressed)
    if len(names) > 1:
        says = Markup(
            "Nobody we tried could tell the {} from this release better than by guessing."
        ).format(_listed(names, "or the"))
        return Headline(says, "floor", terms=_terms(evidence))
    a = evidence.suppressed[names[0]]
    says = Markup(
        "Nobody we tried could tell the {} from this release better than by guessing"
        " ({} of the test records right; guessing {})."
    ).format(_em(names[0]), percent(a.best.accuracy), percent(a.floor))
    return Headline(says, "floor", proved(a), _terms(evidence))


def proved(a: AttributeEvidence) -> Markup | None:
    """What is proved about single records; None without a certificate."""
    found = a.certificate
    if found is None:
        return None
    if not found.checked and not found.of_this_file:
        return not_proved(found)
    said = []
    if found.rows_at_most is not None and found.rows_at_most < 1:
        said.append(rows_in_short(found))
        tried = [a.informed.accuracy, *([] if a.ignorant is None else [a.ignorant.accuracy])]
        visible = found.rows_at_most + (0.0 if found.plan is None else 0.0005)
        if max(tried) > visible and not a.contradicted:
            said.append(
                Markup("An attack above that was lucky on the records that it was measured on.")
            )
    if isinstance(found, CertifiedRows):
        pass  # nothing is claimed about later records
    elif found.stated is None:
        said.append(Markup("Nothing is proved for other people."))
    elif found.stated < 1:
        said.append(
            Markup(
                "{}o attacker names it for more than {} of later records like these"
                " (confidence {:g} %)."
            ).format(
                _who_says(found.verified, first=not said),
                wording.bold(at_most_percent(found.stated)),
                100 * found.confidence,
            )
        )
    if not said:
        return Markup("Nothing is proved: the certificate's bound is {}.").format(
            at_most_percent(1.0)
        )
    return Markup(" ").join(said)


def _who_says(verified: bool, *, first: bool) -> str:
    """The start of a sentence about later records, which this audit cannot count again."""
    if not verified:
        return "Its certificate, whose signature was not checked, says: n"
    return "Proved: n" if first else "N"


def _still_there(evidence: Evidence) -> Markup | None:
    found = copies_of(evidence)
    if not found:
        return None
    own = [column for column, name in found if column == name]
    if own:
        plural = "columns {} are" if len(own) > 1 else "column {} is"
        return Markup(f"the {plural} still in it.").format(_listed(own, "and"))
    column, name = found[0]
    return Markup("its column {} is a copy of the {}.").format(_em(column), _em(name))


def _unchanged(evidence: Evidence) -> Markup | None:
    found = {part: one for part, one in evidence.copies.items() if one.found}
    if not found:
        return None
    records, copies = (sum(getattr(o, f) for o in found.values()) for f in ("records", "copies"))
    parts = " and ".join(found)
    return Markup("{:,} of {:,} {} records are in it (nearly) unchanged.").format(
        copies, records, parts
    )


def _contradicted(evidence: Evidence) -> Markup | None:
    for name, a in evidence.suppressed.items():
        if a.certificate is not None and a.contradicted:
            return Markup(
                "an attack names the {} for {} of single records, but its certificate says that"
                " no attack can exceed {}."
            ).format(_em(name), percent(a.best.accuracy), percent_of(a.certificate.figure))
    return None


def _to_whom_not(name: str, a: AttributeEvidence, evidence: Evidence) -> Headline:
    """Only someone who knows all other labels reads it: say who must not get the release."""
    assert a.all_rows is not None
    part = "" if a.all_rows.part == "all" else f"{a.all_rows.part} "
    says = Markup(
        "Do not give this to anyone who may know nearly all other labels: they name the {} for {}"
        " of {}records (guessing {}). Nobody else we tried could tell it better than by"
        " guessing ({} right)."
    ).format(
        _em(name),
        percent(a.all_rows.accuracy),
        part,
        percent(a.all_rows.floor),
        percent(a.best.accuracy),
    )
    return Headline(says, "blind", proved(a), _terms(evidence))


def _readable(evidence: Evidence) -> Markup | None:
    found = {
        n: a
        for n, a in evidence.suppressed.items()
        if a.status == "readable" and not a.only_eliminated
    }
    if not found:
        return None
    if len(found) > 1:
        n = len(evidence.suppressed)
        which = (
            ("both" if n == 2 else f"all {n}") if len(found) == n else f"{len(found)} of the {n}"
        )
        told = Markup(", ").join(
            Markup("{} {}").format(_em(name), percent(a.tiers[_surest(a)].accuracy))
            for name, a in list(found.items())[:_MANY]
        )
        more = ", …" if len(found) > _MANY else ""
        return Markup("{} suppressed attributes can still be read ({}{}).").format(
            which, told, more
        )
    [(name, a)] = found.items()
    tier = _surest(a)
    without = "without the release" if tier == "with_original" else "guessing"
    return Markup("{} {} for {} of {} ({} {}).").format(
        wording.attacker(tier, name, a, alone=False),
        Markup("is right about the {}" if wording.multilabel(a) else "names the {}").format(
            _em(name)
        ),
        percent(a.tiers[tier].accuracy),
        wording.units(tier, a),
        without,
        percent(a.floor_of(tier)),
    )


def _surest(a: AttributeEvidence) -> str:
    """The tier to name: one that is certain, and of single records if there is one."""
    able = [tier for tier, sure in a.sure.items() if sure]
    single = [tier for tier in able if not tier.startswith("linked")]
    if not able or a.worst_tier in (single or able):
        return a.worst_tier
    plain = [tier for tier in single if tier in ("informed", "ignorant")]
    return max(plain or single or able, key=lambda tier: a.tiers[tier].least)


def _terms(evidence: Evidence) -> tuple[tuple[str, Markup], ...]:
    """What the release is good for, and what the headline assumes."""
    if evidence.release is None:
        return ()
    useful = {
        name: a
        for name, a in evidence.attributes.items()
        if a.role == "preserve" and not a.destroyed and not a.blind
    }
    said: list[tuple[str, Markup]] = []
    if useful:
        told = Markup(", ").join(
            Markup("{} ({} right; {} from the original)").format(
                wording.bold(name), percent(a.informed.accuracy), percent(a.original.accuracy)
            )
            for name, a in list(useful.items())[:_MANY]
        )
        said.append(("Useful for", told))
    if evidence.suppressed:
        key = evidence.certificate is not None
        found = evidence.suppressed.items()
        people = any(a.linked_by not in (None, n) or a.not_linked for n, a in found)
        terms = [
            "the recipient does not have the original records",
            "each record is released once",
            *(["nobody can tell which records are of one person"] if people else []),
            *(["the key stays secret"] if key else []),
        ]
        listed = ", ".join(terms[:-1]) + ("," if len(terms) > 2 else "")
        more = ", up to what is proved" if key else ""
        stronger = f"A stronger attacker than ours may read more{more}."
        held = Markup("{} and {}. {}").format(listed, terms[-1], stronger)
        said.append(("Holds only if", held))
    return tuple(said)


def _tone(evidence: Evidence) -> str:
    found = evidence.suppressed or evidence.attributes
    if evidence.release is not None:
        return "blind"  # nothing was named to be suppressed
    return "readable" if any(a.readable for a in found.values()) else "blind"


def _listed(names: list[str], joined: str) -> Markup:
    shown = [_em(name) for name in names[:_MANY]]
    if len(names) > _MANY:
        return Markup("{} and {} more").format(Markup(", ").join(shown), len(names) - _MANY)
    if len(shown) == 1:
        return shown[0]
    return Markup("{} {} {}").format(Markup(", ").join(shown[:-1]), joined, shown[-1])


def _em(text: str) -> Markup:
    return Markup("<em>{}</em>").format(text)
