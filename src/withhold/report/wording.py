"""The findings in words, for someone who has to decide and does not read charts.

Names and figures are escaped and set in bold. If an interval contains the floor, the text says that
nobody we tried beat guessing. It never says that nobody can.
"""

from __future__ import annotations

from markupsafe import Markup

from withhold.audit.attribute_evidence import AttributeEvidence, Status
from withhold.audit.evidence import Evidence
from withhold.report.number_format import out_of, percent, points, span

STATUS: dict[Status, str] = {
    "readable": "can be read",
    "floor": "nobody we tried beat guessing",
    "blind": "the audit cannot tell",
}
ROLE = {"suppress": "suppressed", "preserve": "preserved", "hidden": "unnamed"}


def headline(evidence: Evidence) -> Markup:
    """One sentence for an audit of an original alone, or with nothing to suppress."""
    suppressed, alone = evidence.suppressed, evidence.release is None
    if not suppressed:
        return _given_away(evidence) if alone else Markup("Nothing was named to be suppressed.")
    if len(suppressed) == 1:
        [(name, found)] = suppressed.items()
        return _one(name, found)
    readable = sum(a.status == "readable" for a in suppressed.values())
    n = len(suppressed)
    if readable:
        every = "Both" if n == 2 else f"All {n}"
        which = every if readable == n else f"{readable} of the {n}"
        return Markup("{} attributes to suppress can be read from this data.").format(which)
    return Markup("Nobody we tried could read any of the {} attributes from this data.").format(n)


def sentences(name: str, a: AttributeEvidence, *, alone: bool) -> list[Markup]:
    """What an attacker reads of one attribute: the worst tier first, then what to compare it with.

    For an attribute that is not suppressed: what is left for a model trained on the release.
    """
    who = a.worst_tier if a.role == "suppress" else "informed"
    if a.status == "floor" and who.startswith("linked"):
        who = "informed"  # single records first, as in the headline
    tier = a.tiers[who]
    linked = who == "with_original"
    least = a.floor_of(who) if linked else a.floor
    worst, floor = out_of(tier.accuracy, least, apart=tier.least > least)
    said = [
        Markup("{} {} for {} {}; {} gets {}.").format(
            attacker(who, name, a, alone=alone, start=True),
            _names(name, a),
            bold(worst),
            units(who, a),
            "the same person without the release" if linked else _guessing(a),
            bold(floor),
        )
    ]
    if a.role == "suppress":
        said += _compared(name, a, alone=alone)
    return said


def attacker(
    tier: str, name: str, a: AttributeEvidence, *, alone: bool, start: bool = False
) -> str:
    """A tier in plain words: who attacks, and what they know."""
    # Records are linked by the group or, without one, by the attribute itself.
    one = a.linked_by or name
    if tier == "linked_row":
        words = f"someone who compares a record with the others of its {one}"
    elif tier == "linked_number":
        words = f"someone who knows how many records each {one} has"
    elif tier.startswith("linked"):
        words = f"someone who knows that {tier.removeprefix('linked')} records are of one {one}"
    elif tier == "ignorant":
        words = "a frozen model of the original data"
    elif tier == "repeated":
        words = f"someone who is given every record {a.draws} times"
    elif tier == "all_rows" and a.all_rows is not None and a.all_rows.eliminates:
        words = "someone who knows the labels of all other records"
    elif tier == "all_rows":
        words = "a model trained on some of the released records and asked about the others"
    elif tier == "columns":
        words = "a model trained on all columns of the release together"
    elif tier == "column" and a.column is not None:
        words = f"someone who looks at column '{a.column.column}' of the release"
    elif tier == "with_original" and a.with_original is not None:
        how = a.with_original.linked_by
        words = (
            f"someone who can tell whose row is whose ({how}) and knows that person's other columns"
        )
    elif tier == "subgroup" and a.subgroup is not None:
        words = f"a model asked only about {a.subgroup.value}"
    elif alone:
        words = "a model trained on this data"
    else:
        words = "a new model trained on the release"
    return words[0].upper() + words[1:] if start else words


def labelled(tier: str, a: AttributeEvidence, *, alone: bool) -> str:
    """A tier in the few words that a chart has room for."""
    if tier.removeprefix("linked").isdigit():
        return f"{tier.removeprefix('linked')} records together"
    return {
        "linked_row": "A record among its person's",
        "linked_number": "Number of records",
        "ignorant": "Release, frozen model",
        "informed": "This data" if alone else "Release, retrained model",
        "repeated": f"Release, {a.draws} draws averaged",
        "all_rows": "Knows all other labels"
        if a.all_rows is not None and a.all_rows.eliminates
        else "All released records",
        "columns": "All columns together",
        "column": "One column" if a.column is None else f"Column '{a.column.column}'",
        "with_original": "Together with the original",
        "subgroup": "Worst slice of records",
    }[tier]


def multilabel(a: AttributeEvidence) -> bool:
    """Whether the attribute is a set of binary labels."""
    return a.kind == "multilabel"


def assumptions(evidence: Evidence) -> list[Markup]:
    """What the figures assume, one line each."""
    said = [
        Markup(
            "The figures show what <b>the attackers we tried</b> read from held-out records. A"
            " stronger attacker may read more."
        ),
        Markup(
            "Each range contains the true figure in 95 of 100 audits. If it contains the floor, no"
            " leak was found. That does not prove that there is none."
        ),
    ]
    if any(a.certificate is not None for a in evidence.attributes.values()):
        said.append(
            Markup(
                "What is <b>proved</b> comes from the certificate. It holds for every attacker,"
                ' under <a href="#certificate">assumptions of its own</a>.'
            )
        )
    units = {a.units for a in evidence.attributes.values()} - {"record"}
    if units:
        said.append(
            Markup("Ranges treat each {} as independent of the others.").format(
                Markup(" or ").join(bold(unit) for unit in sorted(units))
            )
        )
    else:
        said.append(Markup("Ranges treat each record as independent of the others."))
    if evidence.release is not None:
        said.append(
            Markup("The retrained attacker is given the true labels of part of the release.")
        )
    return said


def kept(a: AttributeEvidence, *, alone: bool) -> str:
    """What is left of an attribute that is not suppressed."""
    if alone:
        return f"guessing gets {percent(a.floor)}"
    if a.nag is None or a.blind:
        return "not read from the original either"
    if a.destroyed:
        return f"was {percent(a.original.accuracy)}, now no better than guessing"
    return f"was {percent(a.original.accuracy)}"


def _one(name: str, a: AttributeEvidence) -> Markup:
    patterns: dict[Status, str] = {
        "readable": "This data gives the {} away.",
        "floor": "Nobody we tried could tell the {} from this data better than by guessing.",
        "blind": "Nobody we tried could read the {} from this data.",
    }
    return Markup(patterns[a.status]).format(Markup("<em>{}</em>").format(name))


def _given_away(evidence: Evidence) -> Markup:
    """An original alone, with nothing named: how many attributes it gives away."""
    found = [a.status == "readable" for a in evidence.attributes.values()]
    if not any(found):
        return Markup("Nobody we tried could read any attribute of this data.")
    which = f"all {len(found)}" if all(found) else f"{sum(found)} of the {len(found)}"
    return Markup("This data gives away {} attributes.").format(which)


def _compared(name: str, a: AttributeEvidence, *, alone: bool) -> list[Markup]:
    """The sentences after the first, for a suppressed attribute."""
    said = []
    worst, single = a.tiers[a.worst_tier], a.worst_tier.startswith("linked")
    able = [tier for tier, sure in a.sure.items() if sure]
    if able and a.worst_tier not in able:
        sure = max(able, key=lambda tier: a.tiers[tier].least)
        single = single and sure != "informed"
        said.append(
            Markup("That figure is uncertain ({} %). It is certain that {} gets {}.").format(
                span(worst.ci),
                attacker(sure, name, a, alone=alone),
                bold(percent(a.tiers[sure].accuracy)),
            )
        )
    if a.status == "floor":
        near = max(a.tiers.values(), key=lambda tier: tier.ci[0])
        doubt = "" if near.ci[0] <= a.floor else " at the 99.5 % confidence that we ask for"
        shown = a.informed if single else worst
        said.append(
            Markup("That <b>cannot be told from guessing</b>{} (range {} %).").format(
                doubt, span(near.ci if doubt else shown.ci)
            )
        )
        if single:
            said.append(
                Markup("{} gets {} ({} %), which cannot be told from guessing either.").format(
                    attacker(a.worst_tier, name, a, alone=alone, start=True),
                    bold(percent(worst.accuracy)),
                    span(worst.ci),
                )
            )
    elif single or a.only_eliminated:
        said.append(
            Markup("From single records, {} gets {}.").format(
                attacker("informed", name, a, alone=alone), bold(percent(a.informed.accuracy))
            )
        )
    if a.blind and a.status != "readable":
        said.append(
            Markup(
                "That shows nothing: the attackers tried may be too weak for this data."
                if alone
                else "The attackers tried cannot read it from the original data either, so their"
                " failure on the release shows nothing."
            )
        )
    elif a.unpaired:
        said.append(
            Markup(
                "That shows nothing: records may have been compared with the originals of others."
            )
        )
    elif not alone:
        said.append(
            Markup("From the original data it was {}.").format(bold(percent(a.original.accuracy)))
        )
    if a.smallest_leak is not None and a.status != "readable":
        said.append(
            Markup(
                "With this many records the audit would not notice a leak of less than {} points"
                " above guessing."
            ).format(bold(points(a.smallest_leak)))
        )
    if _missed(a):
        assert a.ignorant is not None
        said.append(
            Markup(
                "The usual check, a frozen model of the original data, gets {} and would have"
                " missed this."
            ).format(bold(percent(a.ignorant.accuracy)))
        )
    return said


def _missed(a: AttributeEvidence) -> bool:
    """Whether the usual check would have passed a release that can be read."""
    if a.only_eliminated:  # no model would have found it
        return False
    return a.status == "readable" and a.ignorant is not None and a.ignorant.ci[0] <= a.floor


def _names(name: str, a: AttributeEvidence) -> Markup:
    if multilabel(a):
        return Markup("is right about {}").format(bold(name))
    return Markup("names the right {} (one of {:,})").format(bold(name), a.classes)


def units(tier: str, a: AttributeEvidence) -> str:
    """What the figure of a tier counts."""
    if multilabel(a):
        return "labels"
    if tier == "linked_number":
        return "people"
    return "such sets" if tier.removeprefix("linked").isdigit() else "records"


def _guessing(a: AttributeEvidence) -> str:
    return "guessing from what is preserved" if a.floor > a.majority + 0.0005 else "guessing"


def bold(text: str) -> Markup:
    """The text in bold, escaped."""
    return Markup("<b>{}</b>").format(text)
