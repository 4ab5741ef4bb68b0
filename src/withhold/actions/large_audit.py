"""Which audits of files attack a sample: those whose features should not be in memory."""

from __future__ import annotations

from withhold.actions.audit_request import AuditRequest
from withhold.audit.whole_release import WholeRelease
from withhold.core.progress import Progress
from withhold.records.readers import open_source
from withhold.records.writers.row_list import find_rows


def whole_of(request: AuditRequest, of_later: bool, progress: Progress) -> WholeRelease | None:
    """The whole of a large original and its release; None if both are read into memory.

    Both are read whole where a sample cannot be paired or checked without that: without a list of
    rows or `same_order`, by an id, with other draws, with other features in the release, and with
    a certificate of later records (`of_later`).
    """
    settings, reading, release = request.settings, request.reading, request.release
    if release is None or request.original.is_dir() or not reading.is_large(request.original):
        return None
    rows = request.rows or find_rows(release)
    asked = (settings.id, settings.average, request.again, request.release_features, of_later)
    if any(asked) or not (request.same_order or rows):
        return None
    if reading.features == "x" and "x" not in open_source(release).schema.names:
        return None
    named = [*settings.suppress, *settings.preserve]
    named += [n.strip() for joint in settings.joint for n in joint.split(",")]
    plain = reading.model_copy(
        update={"group": None, "exclude": (), "multilabel": {}, "test": None}
    )
    original = reading.stream(request.original, named, progress)
    released = plain.stream(release, (), progress)
    if original.layout.names != released.layout.names:
        return None
    return WholeRelease.of(
        original,
        released,
        settings.suppress,
        same_order=request.same_order,
        seed=settings.seed,
        rows=request.rows,
    )
