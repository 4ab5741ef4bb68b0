"""A release in memory: the same policy, order and certificate as for a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field, fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from withhold.bundle.bundle import Bundle
from withhold.certificate.release_file import ReleaseCertificate, certificate_path
from withhold.core.errors import UserError
from withhold.core.progress import Progress, Silent, for_python
from withhold.core.safe_read import file_sha256
from withhold.media.folder_sink import dealt
from withhold.media.telling_sizes import warn_of_sizes
from withhold.methods import Channel, require_kind
from withhold.records.dataset import Dataset, Rows
from withhold.records.plain import plain_schema, plain_table
from withhold.records.readers import Selection
from withhold.records.writers.row_list import (
    check_release,
    find_rows,
    listed_digests,
    read_rows,
    records_digest,
    rows_path,
    write_rows,
)
from withhold.release.certificate import Certifier
from withhold.release.frame_types import with_types
from withhold.release.held_back import original_rows, people_draw, refuse_people, release_places
from withhold.release.keyed_order import occurrences, shuffled_places
from withhold.release.media_stream import decide_media, leaving_labels, release_media
from withhold.release.modified_media import ModifiedMedia
from withhold.release.modify_dataset import encoded, modify_dataset, with_made_rows
from withhold.release.policy import Decision, decide
from withhold.release.release_files import making
from withhold.release.subject import subject_of
from withhold.release.survey import survey
from withhold.release.wishes import Wishes

if TYPE_CHECKING:
    import pandas as pd

_ROWS = 16384


@dataclass(frozen=True, eq=False, repr=False)
class ReleasedDataset(Dataset):
    """A dataset that may leave, and private facts about it for its owner.

    left_out: the columns that were left out, each with the reason; kept_by_name: the columns that
    the user kept and no certificate covers; original_rows (n,): the row of the original that each
    row was; original_digest: the digest of the features of that original; certificate: what is
    proved about these rows, or None if the method has no codes; file_rows (n,): the rows of its
    file that these are, if only some were read.
    """

    left_out: Mapping[str, str] = field(default_factory=dict)
    kept_by_name: tuple[str, ...] = ()
    original_rows: npt.NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    original_digest: str | None = None
    file_rows: npt.NDArray[np.int64] | None = None
    same_order: bool = False
    certificate: ReleaseCertificate | None = None
    key: bytes = field(default=b"", repr=False)  # signs the certificate when it is written
    write_media: Callable[[Path], object] | None = field(default=None, repr=False)
    attack: Callable[..., Any] | None = field(default=None, repr=False)  # audits it, if known
    frame_types: Mapping[str, Any] = field(default_factory=dict, repr=False)  # of a pandas frame

    def to_pandas(self) -> pd.DataFrame:
        """A pandas frame; with the types of the original, if that was one."""
        return with_types(super().to_pandas(), self.frame_types)

    def audit(self, *, quick: bool = False, progress: Progress | None = None) -> Any:
        """Attack these records with retrained models; `.to_html(path)` writes the report.

        Progress goes to standard error, as that of `withhold.release`.
        """
        if self.attack is None:
            raise UserError(
                "this release does not hold its original; audit it with"
                " withhold.audit(original, release, suppress=…)"
            )
        return self.attack(self, quick=quick, progress=progress or for_python())

    def rows(self, rows: Rows) -> Self:
        """Some of the records, in the order given."""
        index = np.flatnonzero(rows) if rows.dtype == bool else np.asarray(rows, np.int64)
        # The certificate and the digest of the original are about all rows.
        whole = len(np.unique(index)) == len(index) == len(self)
        return replace(
            super().rows(index),
            original_rows=self.original_rows[index],
            original_digest=self.original_digest if whole else None,
            file_rows=None if self.file_rows is None else self.file_rows[index],
            certificate=None,
            write_media=None,
        )

    def without_columns(self, gone: Set[str]) -> Self:
        """The same records without these columns, nor multi-label attributes made of them."""
        # What was decided about the columns, and proved of them, was about those that were there.
        return replace(super().without_columns(gone), certificate=None, write_media=None)

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Refuse to be pickled: the pickle would hold the key and the original."""
        raise TypeError("a release is handed over as a file, not as a pickle: released.write(path)")

    def write(self, path: str | Path) -> None:
        """Write to Parquet, CSV or npz, by suffix, with the list of original rows beside it.

        Media are written in the form of the original: a folder, a Parquet file or an npz.
        """
        output = Path(path)
        if self.media is not None:
            if self.write_media is None:
                raise UserError(
                    "some records of a release cannot be written; release these records alone:"
                    " bundle.release(data.rows(…)).write(path)"
                )
            self.write_media(output)
            return
        with making(output) as folder:
            super().write(folder / output.name)
            if self.certificate is not None:
                certificate_path(folder / output.name).write_bytes(
                    self._certified(folder / output.name)
                )
            if not self.same_order:
                listed = folder / rows_path(output, len(self)).name
                file = folder / output.name
                write_rows(listed, self.original_rows, file, self.original_digest)

    def _certified(self, path: Path) -> bytes:
        """The certificate with the name and the digest of the file."""
        assert self.certificate is not None
        file = self.certificate.release.model_copy(
            update={"name": path.name, "sha256": file_sha256(path)}
        )
        found = self.certificate.model_copy(update={"release": file, "signature": None})
        return found.signed(self.key).json_bytes()


def release_dataset(
    bundle: Bundle,
    dataset: Dataset,
    wishes: Wishes | None = None,
    *,
    progress: Progress | None = None,
) -> ReleasedDataset:
    """The dataset to release: what the method made, and columns that reveal nothing.

    `released.left_out` says which columns were left out, and why. The certificate does not cover
    columns that the user wishes to keep. By default the rows are in a keyed random order.
    """
    wishes, progress = wishes or Wishes(), progress or Silent()
    require_kind(bundle.method, dataset.kind, dataset.name)
    dataset = encoded(bundle, dataset)
    if dataset.media is not None:
        return _release_media(bundle, dataset, wishes, progress)
    key = bundle.modifier.key
    starts = range(0, len(dataset), _ROWS)
    found = survey(
        ((dataset.x[at : at + _ROWS], dataset.table.slice(at, _ROWS)) for at in starts), key
    )
    subject = subject_of(
        bundle,
        dataset.schema,
        dataset.layout.columns,
        found.table,
        found.x,
        dataset.name,
        multilabel=dataset.multilabel,
        group=dataset.group,
    )
    decision = decide(subject, wishes)
    there = [
        n
        for n in bundle.modifier.needs
        if n in {*dataset.attribute_names, *dataset.table.column_names}
    ]
    labels = {n: dataset.attribute(n) for n in there}
    by_row = isinstance(bundle.modifier, Channel) and bundle.modifier.draws_by_row
    shuffled = shuffled_places(found.digests, key, occurrences(found.digests) if by_row else None)
    refuse_people(wishes, people_draw=people_draw(bundle.modifier))
    places = release_places(shuffled, hold_back=wishes.hold_back, same_order=wishes.same_order)
    order = original_rows(places)
    certifier = Certifier(bundle)
    made = modify_dataset(bundle, dataset, labels, found.digests, certifier, subject.multilabel)
    whole = dataset if made.rows is None else with_made_rows(dataset, made.rows)
    x = made.x if made.rows is None else np.empty((len(whole), 0), np.float32)
    left = whole.with_features(x).without_columns(set(decision.left_out))
    plain = plain_table(left.table, one_missing=True)
    released = replace(left, table=plain, schema=plain_schema(left.schema)).rows(order)
    _say_left_out(decision, progress)
    certificate = certifier.certificate(
        decision,
        name=dataset.name,
        sha256=None,
        records=len(order),
        columns=released.schema.names,
        same_order=wishes.same_order,
        held_back=len(dataset) - len(order),
    )
    linked = decision.whose_row(same_order=wishes.same_order)
    if certificate is not None and linked:
        progress.say(f"warning: {linked}")
    return ReleasedDataset(
        **{f.name: getattr(released, f.name) for f in fields(Dataset)},
        left_out=decision.left_out,
        kept_by_name=tuple(decision.kept_by_name),
        original_rows=order,
        original_digest=records_digest(dataset),
        same_order=wishes.same_order,
        certificate=certificate,
        key=key,
    )


def _release_media(
    bundle: Bundle, dataset: Dataset, wishes: Wishes, progress: Progress
) -> ReleasedDataset:
    """Media that leave: modified when they are asked for, or written in the form they came in."""
    media = dataset.media
    assert media is not None
    decision = decide_media(bundle, dataset, wishes)
    _say_left_out(decision, progress)
    warn_of_sizes(dataset, bundle.roles.suppress, progress)
    order = np.arange(len(media))
    if not wishes.same_order:
        order = np.argsort(dealt(media, bundle.modifier.key))
    labels = leaving_labels(dataset, decision)
    table = labels.take(pa.array(order)) if labels.num_columns else labels
    released = Dataset.of_media(ModifiedMedia(Selection.of(media, order), table, bundle))
    return ReleasedDataset(
        **{f.name: getattr(released, f.name) for f in fields(Dataset)},
        left_out=decision.left_out,
        kept_by_name=tuple(decision.kept_by_name),
        original_rows=order,
        same_order=wishes.same_order,
        key=bundle.modifier.key,
        write_media=partial(
            release_media, bundle, dataset, wishes=wishes, decision=decision, progress=progress
        ),
    )


def _say_left_out(decision: Decision, progress: Progress) -> None:
    left = ", ".join(f"{c} ({why})" for c, why in decision.left_out.items())
    if left:
        progress.say(f"left out of the release: {left}")


def with_rows(
    dataset: Dataset, release: Path, rows: Path | None = None, *, original: Path | None = None
) -> Dataset:
    """A release that was read from a file, with its list of rows: `rows`, or the one beside it.

    A list of another file is refused. original: the file of media that the release was made from,
    where `dataset` holds features of media; a list of another original is refused too.
    """
    named, rows = rows is not None, rows or find_rows(release)
    if rows is None:
        return dataset
    originals = read_rows(rows)
    check_release(rows, release, named=named)
    if len(originals) != len(dataset):
        raise UserError(
            f"{rows} lists {len(originals):,} rows and {release} has {len(dataset):,}; give the"
            " list of this release with --rows"
        )
    listed = listed_digests(rows).get("original")
    if original is not None:
        if listed is None or not original.is_file() or listed != file_sha256(original):
            raise UserError(
                f"{rows} does not say that {release} was made from {original} as it is now, so"
                " that records might be paired with strangers; give the original of this release,"
                " or vouch for the order of the rows with --same-order"
            )
        listed = None  # it is of the file, not of its features
    return released_rows(dataset, originals, digest=listed)


def released_rows(
    dataset: Dataset, originals: npt.NDArray[np.int64], *, digest: str | None = None
) -> ReleasedDataset:
    """A release of which it is known which original row each of its rows was."""
    return ReleasedDataset(
        **{f.name: getattr(dataset, f.name) for f in fields(Dataset)},
        original_rows=originals,
        original_digest=digest,
    )
