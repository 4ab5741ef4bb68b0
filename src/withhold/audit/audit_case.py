"""The records that an audit works on: original and releases, paired, split, with the questions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from withhold.audit import picture
from withhold.audit.attack_plan import Question, pixel_kind, questions, used_rows
from withhold.audit.attackers.attacker import PixelArray, PixelKind
from withhold.audit.averaged import by_source
from withhold.audit.findings import Distortion
from withhold.audit.lost_records import without_held_back
from withhold.audit.pairing import PairedRelease, pair
from withhold.audit.setting_groups import Effort, Pairing
from withhold.audit.split import Rows, Split
from withhold.core.errors import UserError
from withhold.records.dataset import Dataset
from withhold.records.record_sets import SIZES, SMALL
from withhold.records.roles import Roles
from withhold.release.released_dataset import ReleasedDataset


@dataclass(frozen=True, eq=False)
class AuditCase:
    """The records of an audit, paired and split, and the questions about them.

    `matched` is None if there is no release; `draws` are other releases of the same records.
    """

    original: Dataset
    matched: PairedRelease | None
    draws: tuple[PairedRelease, ...]
    split: Split
    asks: tuple[Question, ...]

    @classmethod
    def of(
        cls,
        original: Dataset,
        release: Dataset | None,
        again: Sequence[Dataset],
        roles: Roles,
        pairing: Pairing,
        effort: Effort,
        *,
        average: str | None,
        hidden: Iterable[str] | str | None,
        joint: Iterable[Sequence[str] | str],
    ) -> AuditCase:
        """Split the original, pair the releases with it, and ask the questions of the roles."""
        # Identity can only be measured on a split by record; `parts_of` separates people later.
        whole = len(original)
        if isinstance(release, ReleasedDataset) and 0 < len(release) < whole and pairing.id is None:
            original, release = without_held_back(original, release, roles.suppress)
        named = roles.suppress or ((original.group,) if original.group else ())
        if average is not None:
            original = by_source(original, average)
        original = original.with_drawn_split(named)
        roles.check(original)
        if release is None and again:
            raise UserError("other draws (again) need a release; name the release too")
        match = partial(pair, original, by=pairing.id, same_order=pairing.same_order)
        matched = None if release is None else match(release)
        if matched is not None and len(original) < whole:
            stay = whole - len(original)
            said = f"{stay:,} of {whole:,} records were held back, by its list"
            matched = replace(matched, notes=(*matched.notes, said), held_back=stay)
        draws = tuple(match(other) for other in again)
        split = Split.of(original, effort.seed)
        limits, seed = effort.limits, effort.seed
        asks = questions(
            original, roles, split, hidden=hidden, joint=joint, limits=limits, seed=seed
        )
        return cls(original, matched, draws, split, tuple(asks))

    @property
    def names(self) -> list[str]:
        """The attributes that are measured."""
        return [q.name for q in self.asks]

    @property
    def tiers(self) -> list[str]:
        """The tiers that the audit can measure."""
        sizes = (f"linked{r}" for r in (*SMALL, *SIZES))
        found = ["informed", "linked", *sizes, "linked_row", "linked_number"]
        found += ["all_rows", "subgroup"]
        found += [] if self.matched is None else ["columns", "column", "with_original"]
        if self.matched is not None and self.matched.same_space:
            found.append("ignorant")
        return found + (["repeated"] if self.draws else [])

    def used(self, shown: Rows) -> tuple[AuditCase, Rows]:
        """Keep only the records that an attacker or the map uses; also the new places of `shown`.

        shown: the records on the map.
        """
        kept = used_rows(self.asks, shown)
        if len(kept) == len(self.original):
            return self, shown
        original = self.original.rows(kept)
        case = AuditCase(
            original,
            None if self.matched is None else self.matched.on(kept, original),
            tuple(draw.on(kept, original) for draw in self.draws),
            self.split.on(kept),
            tuple(q.on(kept) for q in self.asks),
        )
        return case, np.searchsorted(kept, shown)

    @property
    def pixel_side(self) -> int | None:
        """The side of the images or frames that are attacked; None if there are none."""
        return None if self._pixels is None else int(self._pixels.shape[-1])

    @property
    def pixel_kind(self) -> PixelKind | None:
        """Whether images or clips are attacked as pixels; None if neither."""
        return pixel_kind(self._pixels)

    @property
    def _pixels(self) -> PixelArray | None:
        attacked = self.original if self.matched is None else self.matched.release
        return attacked.pixels

    def mean_of_draws(self) -> Dataset | None:
        """The mean features of all draws of every record; None if there is only one draw.

        If all draws are images or clips, also the mean pixels.
        """
        if self.matched is None or not self.draws:
            return None
        first = self.matched.release
        for other in self.draws:
            if other.release.dimension != first.dimension:
                raise UserError(
                    f"{other.release.name} has {other.release.dimension:,} features and"
                    f" {first.name} has {first.dimension:,}; draws must have the same features"
                )
        total = first.x.astype(np.float64)
        for other in self.draws:
            total += other.release.x
        mean = first.with_features((total / (len(self.draws) + 1)).astype(np.float32))
        drawn = [one.pixels for one in (first, *(d.release for d in self.draws))]
        images = [pixels for pixels in drawn if pixels is not None]
        if len(images) < len(drawn):
            return mean
        blend = sum(pixels.astype(np.float32) for pixels in images) / len(images)
        return replace(mean, pixels=np.rint(blend).astype(np.uint8))

    def distortion(self) -> Distortion | None:
        """How far the test records moved; None if the release has other features."""
        if self.matched is None or not self.matched.same_space:
            return None
        test = self.split.test
        return picture.distortion(self.original.x[test], self.matched.release.x[test])
