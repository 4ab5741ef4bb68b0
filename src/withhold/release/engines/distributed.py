"""A release of records that stay where they are, in the dataset of an engine.

The engine looks at all batches (a map and a sum), `policy.decide` says here what may leave, the
engine modifies the batches, and sorts the rows by their keyed place. Every adapter runs these
steps; none of them can leave one out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from withhold.bundle.bundle import Bundle, load_bundle
from withhold.certificate.release_file import ReleaseCertificate
from withhold.core.errors import UserError
from withhold.release.certificate import Certifier
from withhold.release.engines.batch_digests import BatchDigests
from withhold.release.engines.batch_look import BatchLook, Looked
from withhold.release.engines.batch_modifier import BatchModifier
from withhold.release.engines.hidden_columns import COUNTS, check_names
from withhold.release.feature_columns import layout_of, leaving_schema
from withhold.release.keyed_order import Order
from withhold.release.modify import Shape, check_shape
from withhold.release.policy import Decision, decide
from withhold.release.release_counts import ReleaseCounts
from withhold.release.subject import subject_of
from withhold.release.wishes import Wishes

_ATTEMPTS = 5  # times that more rows are asked for the sample: many equal rows spoil an estimate
ROWS = 4096  # of a batch


@dataclass(frozen=True, eq=False)
class EngineRelease:
    """A release as a dataset of its engine.

    data: the rows that may leave, sorted by their keyed place; certificate: what is proved about
    them, or None if the method has no codes; decision: why each column leaves or not.
    """

    data: Any
    records: int
    decision: Decision
    certificate: ReleaseCertificate | None

    @property
    def left_out(self) -> dict[str, str]:
        """The columns that were left out, each with the reason."""
        return self.decision.left_out


class DistributedRelease:
    """The steps that are the same for all engines."""

    def __init__(
        self,
        bundle: Bundle | str | Path,
        schema: pa.Schema,
        wishes: Wishes,
        *,
        features: str | None,
        shape: str,
        name: str,
    ) -> None:
        self.bundle = bundle if isinstance(bundle, Bundle) else load_bundle(bundle)
        if self.bundle.kind not in ("features", "table"):
            raise UserError(
                f"this bundle changes {self.bundle.kind}s, which are no rows of a dataset; release"
                " them with withhold transform"
            )
        wishes.refuse_hold_back("the dataset of an engine")
        check_names(schema.names, name)
        self.schema, self.wishes, self.name = schema, wishes, name
        self.features = features or self.bundle.feature_spec
        self.shape: Shape = check_shape(self.bundle, shape)
        self.layout = layout_of(self.bundle, schema, self.features, name)
        self.digests = BatchDigests.of(self.bundle, self.layout)
        self.records = self.total = 0
        self.decision: Decision | None = None
        self.leaving: pa.Schema | None = None

    @property
    def by_row(self) -> bool:
        """Whether equal rows need numbers."""
        return BatchModifier(self.bundle, shape=self.shape).by_row

    def decide(self, records: int, looks: Callable[[BatchLook], Iterable[pa.Table]]) -> None:
        """Look at all batches, and decide which columns leave.

        looks: run a look on the engine; its tables, in any order.
        """
        for attempt in range(_ATTEMPTS):
            found = Looked.of(looks(BatchLook.of(self.digests, records, times=4**attempt)))
            if found.enough:
                break
        else:
            raise UserError(f"{self.name} changes while it is read; write it to files first")
        if found.records == 0:
            raise UserError(f"{self.name} has no rows; nothing can be released")
        self.records, self.total = found.records, found.total
        seen = found.survey
        subject = subject_of(
            self.bundle, self.schema, self.layout.columns, seen.table, seen.x, self.name
        )
        self.decision = decide(subject, self.wishes)
        self.leaving = leaving_schema(
            self.layout, self.schema, self.decision, self.shape, self.name
        )

    def modifier(self, total: int | None = None) -> BatchModifier:
        """What modifies a batch. total: of digests and numbers, if equal rows have numbers."""
        assert self.leaving is not None
        key = self.bundle.modifier.key
        return BatchModifier(
            self.bundle,
            self.leaving,
            self.features,
            self.shape,
            self.name,
            order=Order.of(self.total if total is None else total, self.records, key),
        )

    def finish(self, data: Any, batches: Iterable[pa.Table]) -> EngineRelease:
        """The release, with the certificate from the columns COUNTS of all batches."""
        assert self.decision is not None
        assert self.leaving is not None
        certifier = Certifier(self.bundle)
        if certifier.counts.plan is not None:
            certifier.counts = ReleaseCounts.of(self.bundle, keep_plan=False)
        parts = [c for b in batches for c in b[COUNTS].drop_null().to_pylist()]
        for part in sorted(parts):  # engines finish in any order
            certifier.counts.merge(ReleaseCounts.from_bytes(part, self.bundle))
        certificate = certifier.certificate(
            self.decision,
            name=self.name,
            sha256=None,
            records=self.records,
            columns=self.leaving.names,
            same_order=self.wishes.same_order,
        )
        return EngineRelease(data, self.records, self.decision, certificate)
