"""A release with very many rows: attackers get some rows, the certificate is counted on all.

The sample is drawn by the seed of the audit and the content of the release, from all rows alike:
whoever knows the seed cannot change the other rows without changing the sample. Where rows belong
to people, and these are many, all rows of random people are drawn: r rows of one person must stay
together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from withhold.audit.attack_plan import Question
from withhold.audit.certified_release import ShownCodes, prove_release
from withhold.audit.checked_certificate import Proof
from withhold.audit.pairing import PairedRelease
from withhold.audit.recount import codes_of_rows
from withhold.audit.row_order import Placed
from withhold.audit.split import Rows
from withhold.certificate.release_file import ReleaseCertificate
from withhold.core.errors import UserError
from withhold.core.safe_read import file_sha256
from withhold.records.attribute import Attribute, combine
from withhold.records.dataset import Dataset
from withhold.records.streamed import StreamedDataset
from withhold.records.writers.row_list import (
    FeatureDigest,
    check_release,
    find_rows,
    listed_digests,
    read_rows,
)
from withhold.release.released_dataset import ReleasedDataset

AUDITED = 300_000  # rows that are attacked; train, val and test of them fill what attackers take
_NUMBERS, _FEWEST = 2**25, 50_000  # with very many features, fewer rows: numbers, and rows at least
_PEOPLE = 1000  # at least, for a sample of people


@dataclass(frozen=True, eq=False)
class WholeRelease:
    """All rows of a release: labels of the original, the row of each record in the file (n,).

    rows (m,): the records of the original that are attacked; people: whether whole people were
    drawn.
    """

    original: StreamedDataset
    released: StreamedDataset
    place: Rows
    rows: Rows
    people: bool
    seed: int

    @classmethod
    def of(
        cls,
        original: StreamedDataset,
        release: StreamedDataset,
        suppress: Sequence[str],
        *,
        same_order: bool,
        seed: int,
        rows: Path | None = None,
    ) -> WholeRelease:
        """Pair all rows by a list, by default that beside the release; choose those to attack."""
        n = len(original)
        if len(release) != n:
            raise UserError(
                f"{original.name} has {n:,} records and {release.name} {len(release):,}; a release"
                " has the same records"
            )
        place = np.arange(n) if same_order else _listed(original, release, rows)
        groups = None if original.group in suppress else original.group_codes
        most = min(AUDITED, max(_NUMBERS // max(original.dimension, 1), _FEWEST))
        chosen, people = audited_rows(n, most, groups, [seed, _number_of(release)])
        return cls(original, release, place, chosen, people, seed)

    def __len__(self) -> int:
        return len(self.original)

    @property
    def settings(self) -> dict[str, Any]:
        """How the rows were drawn, for the evidence."""
        drawn = "all rows of random people" if self.people else "random rows"
        return {"rows": len(self.rows), "of": len(self), "drawn": drawn, "seed": self.seed}

    @property
    def note(self) -> str:
        """What a reader must know."""
        return sampled_note(self.settings)

    def sample(self) -> tuple[Dataset, ReleasedDataset]:
        """The attacked records of original and release, each in the order of its file."""
        before = self.original.rows(self.rows)
        file_rows = np.sort(self.place[self.rows])
        after = self.released.rows(file_rows)
        own = {f.name: getattr(after, f.name) for f in fields(Dataset)}
        numbers = np.empty(len(self.rows), np.int64)  # the place of each released row in `before`
        numbers[np.searchsorted(file_rows, self.place[self.rows])] = np.arange(len(self.rows))
        same_order = bool(np.array_equal(numbers, np.arange(len(numbers))))
        return before, ReleasedDataset(
            **own, original_rows=numbers, file_rows=file_rows, same_order=same_order
        )

    def placed(self, question: Question, seed: int) -> Placed:
        """Rows for the attack on the order of all rows."""
        return Placed(self.place, self._labels(question.name)).some(seed)

    def prove(
        self, certificate: ReleaseCertificate, asks: Sequence[Question], *, key: bytes | None
    ) -> Proof:
        """Check the certificate against all rows and labels."""
        shown = self._codes(certificate)
        matched = PairedRelease(self.original, self.released, (), self.released, self.place)
        whole = [
            replace(
                q,
                attribute=self._labels(q.name),
                given=tuple(self._labels(a.name) for a in q.given),
            )
            for q in asks
            if q.role == "suppress"
        ]
        return prove_release(certificate, matched, whole, None, key=key, shown=shown)

    def _codes(self, certificate: ReleaseCertificate) -> ShownCodes:
        """The code of every record, in the order of the original, read block by block."""
        in_file = np.empty(len(self), np.int64)
        vectors = None
        for rows, x in self.released.blocks():
            found = codes_of_rows(x, certificate.code_digests)
            if found is None:
                return ShownCodes()
            in_file[rows] = found
            if vectors is None:
                vectors = np.repeat(x[:1], certificate.codes, axis=0)
            vectors[found] = x
        return ShownCodes(in_file[self.place], vectors)

    def _labels(self, name: str) -> Attribute:
        if name in self.original.attribute_names:
            return self.original.attribute(name)
        return combine([self.original.attribute(n) for n in name.split(",")])


def sampled_note(sampled: dict[str, Any]) -> str:
    """What a reader must know of the sample in `settings`, in one sentence."""
    return (
        f"attackers got {sampled['rows']:,} of the {sampled['of']:,} rows ({sampled['drawn']}, seed"
        f" {sampled['seed']}), so that a leak in few of the other rows may be missed; the"
        " certificate and the order of the rows were checked on all rows"
    )


def _number_of(release: StreamedDataset) -> int:
    """A number of the file: nobody can tell the sample before the release is final."""
    assert release.path is not None
    return int(file_sha256(release.path)[:16], 16)


def audited_rows(
    n: int, most: int, groups: Rows | None, seed: int | Sequence[int]
) -> tuple[Rows, bool]:
    """About `most` of n rows, sorted, and whether they are all rows of some people."""
    rng = np.random.default_rng([*([seed] if isinstance(seed, int) else seed), 0x5A3D])
    if n <= most:
        return np.arange(n), groups is not None
    if groups is not None:
        size = np.bincount(groups)
        order = rng.permutation(len(size))
        enough = int(np.searchsorted(np.cumsum(size[order]), most)) + 1
        if enough >= _PEOPLE:
            chosen = np.zeros(len(size), bool)
            chosen[order[:enough]] = True
            return np.flatnonzero(chosen[groups]), True
    return np.sort(rng.choice(n, most, replace=False, shuffle=False)), False


def _listed(original: StreamedDataset, release: StreamedDataset, rows: Path | None) -> Rows:
    """The row of each original record in the file of the release, by the list beside it."""
    path = release.path
    assert path is not None
    listed = rows or find_rows(path)
    if listed is None:
        raise UserError(f"there is no list of rows beside {path}; make the release again")
    check_release(listed, path, named=rows is not None)
    originals = read_rows(listed)
    if not np.array_equal(np.sort(originals), np.arange(len(original))):
        raise UserError(
            f"the list of rows of {release.name} does not name each of the {len(original):,}"
            f" records of {original.name} once; does it belong to another release?"
        )
    digest = FeatureDigest()
    for _, x in original.blocks():
        digest.add(x)
    if listed_digests(listed).get("original", digest.hexdigest()) != digest.hexdigest():
        raise UserError(
            f"{release.name} was made from other data than {original.name}, or from the same"
            " records in another order; give the data that was released"
        )
    place = np.empty(len(originals), np.int64)
    place[originals] = np.arange(len(originals))
    return place
