"""The audit of a release in memory, which holds its original.

The certificate of a table is signed for a file: its rows are made from codes, and cannot be counted
again. So a table is written to a temporary file and audited as its receiver reads it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from withhold.actions.audit import Audit, audit
from withhold.certificate.release_file import ReleaseCertificate, certificate_path
from withhold.core.progress import Progress
from withhold.records.dataset import Dataset
from withhold.records.readers import open_source
from withhold.records.table_features import attack_tables
from withhold.release.released_dataset import ReleasedDataset, released_rows


def audit_of(
    original: Dataset, suppress: Sequence[str], preserve: Sequence[str], key: bytes
) -> Callable[..., Audit]:
    """A function that audits a release of `original`, for `ReleasedDataset.audit`."""

    def attack(
        release: ReleasedDataset, *, quick: bool = False, progress: Progress | None = None
    ) -> Audit:
        with TemporaryDirectory(prefix="withhold-") as folder:
            before, after, certificate = original, release, release.certificate
            if original.tabular:
                after, certificate = _as_file(release, Path(folder) / "release.parquet")
                before, made = attack_tables(original, after, suppress)
                assert isinstance(made, ReleasedDataset)
                after = made
            return audit(
                before,
                after,
                suppress,
                preserve,
                certificate=certificate,
                key=key,
                quick=quick,
                same_order=release.same_order,
                progress=progress,
            )

    return attack


def _as_file(
    release: ReleasedDataset, path: Path
) -> tuple[ReleasedDataset, ReleaseCertificate | None]:
    """The release as it is read from its file, and the certificate that names the file."""
    release.write(path)
    read = Dataset.of_table(open_source(path), path=path)
    beside = certificate_path(path)
    certificate = ReleaseCertificate.from_json(beside) if beside.is_file() else None
    return released_rows(read, release.original_rows, digest=release.original_digest), certificate
