"""What a certificate says: a bound per suppressed attribute, and what it rests on.

The contract of `certificate.json`. Accuracies are fractions in 0..1. It holds no time and no path,
so that the same bundle and the same records give the same bytes.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from withhold.certificate.bound import By
from withhold.certificate.signed_document import Claim, SignedDocument

SCHEMA = 1
Share = Annotated[float, Field(ge=0, le=1)]


class GroupClaim(Claim):
    """The same bound for new people: every group counts once, however many records it has."""

    column: str
    groups: int
    majority: float
    plug_in: float
    slack: float
    bound: Share
    by: By


class NoGroupClaim(Claim):
    """Why there is no bound for new people."""

    reason: str
    records_apply: bool = Field(
        True,
        description="whether the bound by record is the one to state: no group was named, or the"
        " attribute names the group itself",
    )


class LinkedClaim(Claim):
    """r records of one class, drawn independently, put together."""

    plug_in: float = Field(description="the best attacker of these very records")
    bound: Share = Field(description="holds with the confidence of the attribute; 1 says nothing")


class Lift(Claim):
    """The code that tells most: P(class | code) / P(class)."""

    code: int
    of: str = Field(description="the class that it points to")
    lift: float
    share: float = Field(description="of records that get this code")


class Behind(Claim):
    """The code with the fewest behind it, of the codes that these records were given."""

    code: int
    number: int
    of: str = Field(description="what was counted: a group column, or records")


class AttributeClaim(Claim):
    """No attacker names this attribute of one record more often than `bound`."""

    classes: int
    records: int
    missing: int = Field(description="records without a label, left out")
    majority: float
    floor: float = Field(description="the best guess from the preserved labels alone")
    plug_in: Share = Field(description="the best attacker on these very records")
    slack: float = Field(description="bound less plug_in: the price of having so many records")
    bound: Share
    by: By
    confidence: Share
    groups: GroupClaim | NoGroupClaim
    linked: dict[str, LinkedClaim]
    worst_lift: Lift
    smallest_behind_code: Behind
    codes_used: int = Field(description="codes that these records were given")

    @property
    def stated(self) -> float | None:
        """The bound to state: by group if a group was named, otherwise by record.

        It is never below the floor: the bound is for an attacker who sees the code, and an attacker
        who knows the preserved labels reads the floor without it.
        None if a group was named and nothing is proved about new people: records of one person are
        not independent, so the bound by record does not hold for other people.
        """
        if isinstance(self.groups, GroupClaim):
            return max(self.groups.bound, self.floor)
        return max(self.bound, self.floor) if self.groups.records_apply else None

    @property
    def stated_units(self) -> str:
        """What the stated bound counted: `960 records`, or `12 different 'speaker'`."""
        if isinstance(self.groups, GroupClaim):
            return f"{self.groups.groups:,} different '{self.groups.column}'"
        return f"{self.records:,} records"


class PersonClaim(Claim):
    """What all rows of one person tell, where a person draws one code for its rows of one class.

    A *unit* is all rows of one person with one class and one preserved value: they share a draw.
    Someone is picked, a row or a person at random, whichever gives the higher figure, and the
    attacker is shown all rows of that unit or person. How many rows these are, and their preserved
    values, can be seen and are not hidden: they alone tell the class as often as `floor` says.
    Exact, no confidence level. Nothing is claimed of other columns that leave beside the codes.
    """

    column: str = Field(description="names the person of each row")
    people: int
    draws: int = Field(description="units with a label")
    unit_floor: Share = Field(description="from the number and the preserved value of the rows")
    unit: Share = Field(
        description="from all rows that share a draw. If a person has rows of several classes, or"
        " without a label, which rows these are cannot be seen"
    )
    floor: Share | None = Field(
        None, description="from the numbers of rows of a person by preserved value"
    )
    all_rows: Share | None = Field(
        None,
        description="from all rows of one person; the error of the Monte Carlo is added. Several"
        " preserved values are several draws, so it may be far above `unit`",
    )
    beside: Share | None = Field(
        None,
        description="the same for whoever has all other rows, and even knows how many people of"
        " each class have the same codes, numbers of rows and preserved values",
    )
    reason: str | None = Field(None, description="why there is no figure for all rows")


class PlanClaim(Claim):
    """What every attacker can read who does not know the draws. Exact, no confidence level.

    Every row drew its code by itself from a plan W(j | record), or with `person` every unit of a
    person did: then `linked` is for rows of different units. The attacker may know all
    originals, labels, codes and the plan, but neither the key, nor the draws, nor which row is
    whose, and is shown the codes of one row, or of r rows of one class, and no other rows. With all
    rows at hand a trace more can be read; `ReleaseClaim.one` bounds that.
    """

    one: Share = Field(description="from one row and its preserved labels: sum_ju max_s M_suj / n")
    linked: dict[str, Share] = Field(
        description="from r rows of one class; the error of the Monte Carlo is added"
    )
    unequal: Share = Field(
        description="the largest difference between a class's share of a code and the share of all"
    )
    person: PersonClaim | None = Field(
        None, description="where every person drew one code for its rows of one class"
    )


class ReleaseClaim(Claim):
    """What every attacker can read from the rows of one given release. Exact, no confidence level.

    The attacker may know all originals, labels and codes, and the table of classes by codes as it
    was drawn, but not which row is whose. `plan` is about attackers who do not know the draws. If
    rows were held back at random, all rows are counted, and the attacker may not know which left.
    """

    records: int = Field(description="labelled rows, with those held back")
    missing: int = Field(0, description="rows without a label, not counted")
    classes: int
    codes_used: int
    floor: Share = Field(description="the best guess without the codes")
    one: Share = Field(description="from one row and its preserved labels: sum_ju max_s c_sju / n")
    linked: dict[str, Share] = Field(description="from r rows of one class")
    known: dict[str, Share] = Field(
        description="where a share of the labels is known, and with it the table of classes by"
        " codes; who knows all but one and the table gets the last by subtraction"
    )
    measured: dict[str, Share] = Field(
        description="elimination attacks with as many labels, without the table: not a bound"
    )
    plan: PlanClaim | None = Field(
        None, description="where every row drew its code by itself: who does not know the draws"
    )

    @property
    def stated(self) -> float:
        """The figure to state for one row: of the plan if there is one."""
        return self.one if self.plan is None else self.plan.one


class CertifiedData(Claim):
    """The records that were counted."""

    name: str
    records: int
    part: Literal["test", "all"]
    sha256: str = Field(
        description="of the whole file, keyed: only a holder of the bundle's key can compare it"
    )
    near_twins: Share | None = Field(
        None,
        description="share of records that nearly equal a record of the fit; null where they are"
        " the test part of the very file of the fit",
    )


class Certificate(SignedDocument):
    """A bound on every attacker, for each suppressed attribute and for several together."""

    schema_number = SCHEMA
    made_by = "certify again: withhold certify BUNDLE DATA -o certificate.json"

    schema_: Literal[1] = Field(1, alias="schema")
    version: str
    method: str
    codes: int
    features: int = Field(description="of a code")
    codebook_sha256: str
    labels_used: tuple[str, ...]
    fit_sha256: str = Field(
        description="of the data of the fit, keyed: only a holder of the bundle's key can compare"
    )
    data: CertifiedData
    attributes: dict[str, AttributeClaim]
    assumptions: tuple[str, ...]
    notes: tuple[str, ...] = ()
    code_digests: tuple[str, ...] = Field(description="the beginning of each code's SHA-256")
