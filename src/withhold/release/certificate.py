"""The certificate of the rows that leave, made while they are released."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from withhold import __version__
from withhold.bundle.bundle import Bundle
from withhold.certificate.claim_wording import PERSON_NOTES
from withhold.certificate.claims import ReleaseClaim
from withhold.certificate.code_digests import digests
from withhold.certificate.leaving_rows import LeavingRows
from withhold.certificate.release_file import ReleaseCertificate, ReleasedFile, attribute_claims
from withhold.certificate.stated_figures import stated
from withhold.certificate.unit_tally import UnitTally
from withhold.methods import Channel
from withhold.methods.features.exact import ExactModifier
from withhold.release.modify import Modified
from withhold.release.policy import Decision
from withhold.release.release_counts import ReleaseCounts


class Certifier:
    """Counts the codes of the released rows. A method without codes gets no certificate."""

    def __init__(self, bundle: Bundle) -> None:
        self.bundle = bundle
        self.counts = ReleaseCounts.of(bundle)

    def add(
        self,
        made: Modified,
        table: pa.Table,
        multilabel: Mapping[str, Sequence[str]],
        name: str,
    ) -> None:
        """Count rows: their codes, and the source columns with their labels."""
        self.counts.add(self.bundle, made, table, multilabel, name)

    def certificate(
        self,
        decision: Decision,
        *,
        name: str,
        sha256: str | None,
        records: int,
        columns: list[str],
        same_order: bool,
        held_back: int = 0,
    ) -> ReleaseCertificate | None:
        """What is proved about the release, signed with the key of the bundle.

        records: rows that leave; held_back: rows that stay, drawn at random. The figures are of all
        rows. One that was counted on the rows that leave would tell whoever knows all other labels
        who is missing. They are rounded up (`stated_figures`).
        """
        modifier = self.bundle.modifier
        tally, plan = self.counts.tally, self.counts.plan
        if tally is None or not isinstance(modifier, Channel):
            return None
        leave = LeavingRows(records, records + held_back) if held_back else None
        claims = tally.claims(modifier.codes, leave=leave)
        if plan is not None:
            claims = {
                n: claim.model_copy(update={"plan": plan.claim(n, leave=leave)})
                for n, claim in claims.items()
            }
        elif self.counts.units is not None:
            claims = self._of_people(self.counts.units, claims)
        claims = {n: stated(claim) for n, claim in claims.items()}
        later = (self.bundle.certificate or {}).get("attributes")
        found = ReleaseCertificate(
            schema=2,
            version=__version__,
            method=self.bundle.method,
            codes=len(modifier.codes),
            code_digests=digests(modifier.codes),
            release=ReleasedFile(
                name=name,
                sha256=sha256,
                records=records,
                columns=tuple(columns),
                kept_by_name=tuple(decision.kept_by_name),
                left_out=decision.left_out,
                same_order=same_order,
                held_back=held_back,
            ),
            attributes=attribute_claims(claims, tally.reasons, later, self.bundle.roles.suppress),
            preserve=tuple(n for n in tally.preserve if n not in tally.unknown),
            group=None if self.counts.no_people else self.counts.group,
            notes=(
                *(PERSON_NOTES if self.counts.units is not None else ()),
                *self._unknown(),
                *_notes(decision, same_order),
                *(self._held_back(decision) if held_back else ()),
            ),
        )
        return found.signed(modifier.key)

    def _of_people(
        self, units: UnitTally, claims: Mapping[str, ReleaseClaim]
    ) -> dict[str, ReleaseClaim]:
        """The claims with those of the plan, where people drew."""
        modifier = self.bundle.modifier
        assert isinstance(modifier, ExactModifier)
        assert modifier.units is not None
        w, whose, column = modifier.unit_plan(), modifier.units.whose, modifier.units.column
        return {
            n: claim.model_copy(update={"plan": units.claim(n, w, whose, column=column)})
            for n, claim in claims.items()
        }

    def _held_back(self, decision: Decision) -> list[str]:
        """What rows that are held back do not protect from."""
        found = []
        if self.counts.group is not None:
            found.append(
                "'known' is for one row, and rows are held back one by one, not person by person."
                " Whoever knows the labels of all other people may read more than it says of a"
                " person with several rows."
            )
        if decision.kept_by_name:
            found.append(
                f"'known' does not hold for anyone to whom {', '.join(decision.kept_by_name)}, kept"
                " by name, shows who was held back."
            )
        return found

    def _unknown(self) -> list[str]:
        """Notes on columns of the fit that these records lack, so the certificate ignores them."""
        assert self.counts.tally is not None
        found = []
        for name in sorted(self.counts.tally.unknown):
            found.append(
                f"'{name}' was preserved in the fit but is not in these data. An attacker who knows"
                " it for a row may be right more often than stated here."
            )
        if self.counts.no_people:
            group = self.bundle.input.get("group")
            found.append(
                f"'{group}', the group of the fit, is not in these data. Rows known to belong to"
                " one person may reveal more than 'linked' says."
            )
        return found


def _notes(decision: Decision, same_order: bool) -> list[str]:
    found = []
    measured = [c.column for c in decision.columns if c.leaves and c.rule == "harmless"]
    if measured:
        people = " Each was also measured in several rows of one person." if decision.people else ""
        found.append(
            f"Columns {', '.join(measured)} are released because a measurement found that they"
            " reveal nothing about the suppressed attributes: alone, in pairs, all at once and"
            f" together with the code.{people} This is a measurement and not a proof."
        )
    fitted = [c.column for c in decision.columns if c.leaves and c.rule == "fitted"]
    if fitted:
        found.append(
            f"Columns {', '.join(fitted)} are released only because they revealed nothing in the"
            " data of the fit: these records have no labels to check them with. This certificate"
            " does not cover what they reveal now."
        )
    if decision.kept_by_name:
        found.append(
            f"Columns {', '.join(decision.kept_by_name)} were kept by name. This certificate does"
            " not cover them. If they show whose a row is, its figures do not hold for anyone who"
            " knows other columns of that person."
        )
        if decision.people:
            found.append(
                f"No figure about the rows of one person covers {', '.join(decision.kept_by_name)}:"
                " how the values of these columns vary between the rows of a person may tell more."
            )
    if same_order:
        found.append(
            "The rows are in the order of the original. This certificate does not cover what that"
            " order reveals, and its figures do not hold for anyone who knows whose row is where"
            " and other columns of these people."
        )
    return found
