"""The audit of a release in memory, which holds its original."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from withhold.actions.audit import Audit, audit
from withhold.core.progress import Progress
from withhold.records.dataset import Dataset
from withhold.records.table_features import attack_tables
from withhold.release.released_dataset import ReleasedDataset


def audit_of(
    original: Dataset, suppress: Sequence[str], preserve: Sequence[str], key: bytes
) -> Callable[..., Audit]:
    """A function that audits a release of `original`, for `ReleasedDataset.audit`."""

    def attack(
        release: ReleasedDataset, *, quick: bool = False, progress: Progress | None = None
    ) -> Audit:
        before, after = original, release
        if original.tabular:
            before, made = attack_tables(original, release, suppress)
            assert isinstance(made, ReleasedDataset)
            after = made
        return audit(
            before,
            after,
            suppress,
            preserve,
            certificate=release.certificate,
            key=key,
            quick=quick,
            same_order=release.same_order,
            progress=progress,
        )

    return attack
