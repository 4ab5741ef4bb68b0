"""The certificate of the rows that leave, made while they are released."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from withhold import __version__
from withhold.bundle.bundle import Bundle
from withhold.certificate.code_digests import digests
from withhold.certificate.given_release import ReleaseTally, preserved_names
from withhold.certificate.plan_tally import PlanTally
from withhold.certificate.release_file import ReleaseCertificate, ReleasedFile, attribute_claims
from withhold.methods import Channel
from withhold.records.attribute import Attribute
from withhold.release.modify import Modified
from withhold.release.policy import Decision, labels_of


class Certifier:
    """Counts the codes of the released rows. A method without codes gets no certificate."""

    def __init__(self, bundle: Bundle) -> None:
        self.bundle = bundle
        self.tally: ReleaseTally | None = None
        self.group: str | None = None  # the column that names the person of each row
        self._no_people = False
        if isinstance(bundle.modifier, Channel):
            roles = bundle.roles
            self.tally = ReleaseTally(suppress=roles.suppress, preserve=roles.preserve)
        by_row = isinstance(bundle.modifier, Channel) and bundle.modifier.draws_by_row
        self.plan = PlanTally(bundle.roles.suppress) if by_row else None

    def add(
        self,
        made: Modified,
        table: pa.Table,
        multilabel: Mapping[str, Sequence[str]],
        name: str,
    ) -> None:
        """Count released rows: their codes, and the source columns with their labels."""
        drawn = made.codes
        if self.tally is None or drawn is None:
            return
        roles = self.bundle.roles
        labels: dict[str, Attribute] = labels_of(roles.named, table, multilabel, name)
        group = self.bundle.input.get("group")
        people = None
        if group is not None and group in table.column_names:
            people = [str(v) for v in table[group].to_pylist()]
            self.group = group
        elif group is not None:
            self._no_people = True
        self.tally.add(drawn, labels, people)
        if self.plan is not None and made.plan is not None:
            given = [labels[n] for n in roles.preserve if n in labels]
            self.plan.add(made.plan, labels, preserved_names(given, len(drawn)))

    def certificate(
        self,
        decision: Decision,
        *,
        name: str,
        sha256: str | None,
        records: int,
        columns: list[str],
        same_order: bool,
    ) -> ReleaseCertificate | None:
        """What is proved about the release, signed with the key of the bundle."""
        modifier = self.bundle.modifier
        if self.tally is None or not isinstance(modifier, Channel):
            return None
        claims = self.tally.claims(modifier.codes)
        if self.plan is not None:
            claims = {
                n: claim.model_copy(update={"plan": self.plan.claim(n)})
                for n, claim in claims.items()
            }
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
            ),
            attributes=attribute_claims(
                claims, self.tally.reasons, later, self.bundle.roles.suppress
            ),
            preserve=tuple(n for n in self.tally.preserve if n not in self.tally.unknown),
            group=None if self._no_people else self.group,
            notes=(*self._unknown(), *_notes(decision, same_order)),
        )
        return found.signed(modifier.key)

    def _unknown(self) -> list[str]:
        """Notes on columns of the fit that these records lack, so the certificate ignores them."""
        assert self.tally is not None
        found = []
        for name in sorted(self.tally.unknown):
            found.append(
                f"'{name}' was preserved in the fit but is not in these data. An attacker who knows"
                " it for a row may be right more often than stated here."
            )
        if self._no_people:
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
        found.append(
            f"Columns {', '.join(measured)} are released because a measurement found that they"
            " reveal nothing about the suppressed attributes: alone, in pairs, all at once and"
            " together with the code. This is a measurement and not a proof."
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
    if same_order:
        found.append(
            "The rows are in the order of the original. This certificate does not cover what that"
            " order reveals, and its figures do not hold for anyone who knows whose row is where"
            " and other columns of these people."
        )
    return found
