"""The data card: a README.md beside a release, for whoever receives it."""

from __future__ import annotations

import re
from pathlib import Path

from withhold.audit.evidence import Evidence
from withhold.audit.whole_release import sampled_note
from withhold.bundle.bundle import Bundle
from withhold.certificate.claim_wording import APART, at_most_or_guess, person_sentence
from withhold.certificate.claims import ReleaseClaim
from withhold.certificate.elimination_bound import ALL_BUT_ONE
from withhold.certificate.release_file import ReleaseCertificate
from withhold.core.safe_read import file_sha256
from withhold.report.linked_words import most_linked, not_linked_lines
from withhold.report.with_original_words import with_original_lines

_KNOWN = {"0.1": "a tenth", "0.5": "half", "0.9": "nine tenths"}


def data_card(
    bundle: Bundle, certificate: ReleaseCertificate, evidence: Evidence, release: Path
) -> str:
    """What was done, what is proved, what is not, and how to check it, as Markdown."""
    suppress = _names(bundle.roles.suppress)
    lines = [
        f"# {_plain(release.name)}",
        "",
        f"{certificate.release.records:,} records in which {suppress} is suppressed, released with"
        f" `withhold release` {certificate.version}.",
        "",
    ]
    if evidence.gate is not None and not evidence.gate.passed:
        lines += ["**The gate of this release FAILED. Do not hand it over.** See report.html.", ""]
    elif evidence.alarming:
        lines += ["**The audit found a leak. Read report.html before you hand this over.**", ""]
    lines += [
        "## What was done",
        "",
        f"Every record was replaced by one of {certificate.codes:,} codes. Every class of"
        f" {suppress} uses every code in the same share, on average over the draws, so a code by"
        " itself says nothing about the class.",
        _kind(bundle),
        _kept(bundle),
        *_held_back(certificate),
        f"Rows are in {_order(certificate)}. Columns: {_names(certificate.release.columns)}.",
        *_left_out(certificate),
        "",
        "## What is proved",
        "",
    ]
    for name, claims in certificate.attributes.items():
        if claims.release is not None:
            lines += _proved(name, claims.release, held_back=bool(certificate.release.held_back))
    lines += [
        "",
        "The attacker may know every original record, every label, the codes and this software, but"
        " not the key, not the draws, and not which row is whose.",
        "",
        "## What attackers found",
        "",
        *(f"- {_sentence(_plain(one))}" for one in evidence.verdicts),
        "",
        *_sampled(evidence),
        "## What is not proved",
        "",
        "- Whoever can tell which row is whose, and knows other columns of that person's original,"
        " may read more than stated above, and more than from those columns alone.",
        *_with_original(evidence),
        f"- Several rows that are known to belong to one person can say more than one row."
        f"{_linked(bundle, evidence)}",
        "- Another release of the same records, with another key or other settings, is not covered:"
        " whoever can tell which of its rows belongs to which row here can average out the draws.",
        "- Whoever knows the labels of most rows can narrow down the others (see above). Whoever"
        " knows the labels of all other people, also of any who were held back, gets the last one"
        " from the size of the commonest class, which the figures above give.",
        *_not_covered(certificate),
        "",
        "## How to check it",
        "",
        f"- SHA-256 of {_plain(release.name)}: `{file_sha256(release)}`",
        "- The owner holds the original, the bundle and the list of rows, and can run:"
        " `withhold audit ORIGINAL RELEASE --rows LIST --certificate certificate.json --key KEY`.",
        "- `report.html` shows every attack; `audit.json` has the same for programs.",
        "",
    ]
    return "\n".join(lines)


def _with_original(evidence: Evidence) -> list[str]:
    """What such a person read in the audit, attribute by attribute."""
    return [f"  - Measured: {_plain(line)}." for line in with_original_lines(evidence)]


def _linked(bundle: Bundle, evidence: Evidence) -> str:
    """What attackers read from rows of one person, where the audit measured it."""
    told = []
    for name in bundle.roles.suppress:
        told += [
            f"{_plain(name)} in {_percent(line.found.accuracy)} of cases from {line.seen}"
            f" (guessing: {_percent(line.found.floor)}; {line.who})"
            for line in most_linked(name, evidence.attributes.get(name))
        ]
    untried = "".join(f" Not attacked: {_plain(line)}." for line in not_linked_lines(evidence))
    if not told:
        return untried
    return untried + (
        f" Attackers who knew which rows are of one person named {'; '.join(told)}. Attackers that"
        " were not tried may read more. A release with one row per person does not have this"
        " weakness."
    )


def _sampled(evidence: Evidence) -> list[str]:
    """What was attacked, if that was not every row."""
    sampled = evidence.settings.get("sampled")
    if sampled is None:
        return []
    return [_sentence(sampled_note(sampled)), ""]


def _kind(bundle: Bundle) -> str:
    if bundle.kind == "table":
        return (
            "The values of a row were drawn column by column from the values of its code, which"
            " several people share. No row was copied from a person, but a row of few or common"
            " values may equal one by chance."
        )
    return "A code is a mean over several people."


def _kept(bundle: Bundle) -> str:
    if not bundle.roles.preserve:
        return "No column was named to be preserved."
    return f"Preserved for every record: {_names(bundle.roles.preserve)}."


def _held_back(certificate: ReleaseCertificate) -> list[str]:
    held = certificate.release.held_back
    if not held:
        return []
    whole = held + certificate.release.records
    return [f"{100 * held / whole:.0f} % of the records, drawn at random, were held back."]


def _order(certificate: ReleaseCertificate) -> str:
    return "the order of the original" if certificate.release.same_order else "a random order"


def _left_out(certificate: ReleaseCertificate) -> list[str]:
    left = certificate.release.left_out
    if not left:
        return []
    return ["", "Left out:", "", *(f"- {_plain(n)}: {_plain(why)}" for n, why in left.items())]


def _proved(name: str, claim: ReleaseClaim, *, held_back: bool) -> list[str]:
    shown, plan = _plain(name), claim.plan
    one = claim.stated

    def bound(figure: float) -> str:
        digits = 1 if figure >= 0.1 else 2
        return f"{at_most_or_guess(figure, claim.floor, digits=digits)} %"

    lines = [
        f"- **{shown}**: nobody names it correctly from one row in more than {bound(one)} of"
        f" cases, seen without the other rows. Guessing gets {_percent(claim.floor)}."
    ]
    linked = claim.linked if plan is None else plan.linked
    told = ", ".join(f"{size} rows: {bound(most)}" for size, most in linked.items())
    apart = "" if plan is None or plan.person is None else f", {APART}"
    lines.append(f"  - From several rows of one class{apart}, at most: {told}.")
    if plan is not None and plan.person is not None:
        lines.append(f"  - {person_sentence(plan.person)}.")
    if held_back:
        lines.append(
            "  - Whoever knows the labels of all other rows of this file, and even how often each"
            " class drew each code, but not who was held back: at most"
            f" {bound(claim.known[ALL_BUT_ONE])}. That is for people with one row each."
        )
    if claim.measured:
        known = ", ".join(
            f"{words} of the labels: {_percent(claim.measured[share])}"
            for share, words in _KNOWN.items()
            if share in claim.measured
        )
        lines.append(
            f"  - Measured, not proved: attacks that know the labels of other rows, with {known}."
        )
    # Who sees all rows also sees how often each code was drawn, so only the drawn table bounds it.
    drawn = ", ".join(f"{size} rows: {bound(most)}" for size, most in claim.linked.items())
    lines.append(
        f"  - Whoever sees all rows at once, or even knew how often each class drew each code: at"
        f" most {bound(claim.one)} from one row; from several of one class, at most: {drawn}."
    )
    return lines


def _not_covered(certificate: ReleaseCertificate) -> list[str]:
    return [f"- {_plain(note)}" for note in certificate.notes]


def _names(names: tuple[str, ...] | list[str]) -> str:
    return ", ".join(_code(n) for n in names) or "none"


def _sentence(said: str) -> str:
    return f"{said[:1].upper()}{said[1:].rstrip('.')}."


def _code(text: str) -> str:
    """Text from a file as a code span, in which Markdown reads nothing but backticks."""
    one = " ".join(str(text).split())
    if "`" not in one:
        return f"`{one}`"
    fence = "`" * (1 + max(len(run) for run in re.findall("`+", one)))
    return f"{fence} {one} {fence}"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %" if share >= 0.1 else f"{100 * share:.2f} %"


def _plain(text: str) -> str:
    """Text from a file on one line, without characters that Markdown would read."""
    one = " ".join(str(text).split())
    for sign in "\\`*_{}[]<>#|":
        one = one.replace(
            sign, f"\\{sign}" if sign not in "<>" else {"<": "&lt;", ">": "&gt;"}[sign]
        )
    return one
