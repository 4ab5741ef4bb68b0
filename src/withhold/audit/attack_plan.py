"""The plan of an audit: which attributes to measure, on which records, with which attacks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from withhold.audit.attack import Attack, RecordLimits
from withhold.audit.attackers import Attacker, get_attackers
from withhold.audit.attackers.attacker import (
    OF_PIXELS,
    FloatArray,
    PixelArray,
    PixelKind,
    ViewName,
)
from withhold.audit.feature_views import FeatureViews
from withhold.audit.split import AttackParts, Rows, Split, parts_of, unmeasurable, unseen
from withhold.core.errors import UserError, listing
from withhold.media.clip_pixels import (
    are_clips,
    detail_of_clips,
    frames_of_clips,
    windows_of_clips,
)
from withhold.media.image_detail import COLOURS
from withhold.records.attribute import Attribute, combine
from withhold.records.dataset import Dataset
from withhold.records.roles import Role, Roles

_PLAIN = ("prior", "logistic", "nearest", "kernel", "trees")
_SPECIAL = ("bits", "waves", "parity")  # each looks for one kind of leak that the others miss
FULL = (*_PLAIN, *_SPECIAL, "mlp-small", "mlp-large")
QUICK = ("prior", "logistic", "nearest", *_SPECIAL, "mlp-small")
PIXELS_QUICK = ("pixels-cnn", "pixels-detail")
PIXELS = ("pixels-cnn", "pixels-cnn-deep", "pixels-detail")
FRAMES_QUICK = ("frames-cnn", "clips-stack", "frames-detail")
FRAMES = ("frames-cnn", "clips-stack", "clips-r3d", "frames-detail")
_NETWORKS: dict[PixelKind, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "image": (PIXELS_QUICK, PIXELS),
    "clip": (FRAMES_QUICK, FRAMES),
}
_AGAIN = 6.0  # seconds: a randomised attacker that is quicker than this runs with two seeds


@dataclass(frozen=True, eq=False)
class Question:
    """One attribute to measure, its records, and the preserved attributes (`given`)."""

    name: str
    role: Role
    attribute: Attribute
    parts: AttackParts
    given: tuple[Attribute, ...]
    notes: tuple[str, ...]

    def on(self, kept: Rows) -> Question:
        """The same question on the rows `kept`, which must include all rows of its parts."""
        return replace(
            self,
            attribute=self.attribute.rows(kept),
            parts=self.parts.on(kept),
            given=tuple(a.rows(kept) for a in self.given),
        )


def questions(
    data: Dataset,
    roles: Roles,
    split: Split,
    *,
    hidden: Iterable[str] | str | None,
    joint: Iterable[Sequence[str] | str],
    limits: RecordLimits,
    seed: int,
) -> list[Question]:
    """The attributes with a role, joint attributes, and hidden ones that the split can measure.

    All are checked before any attacker is trained: a mistake found later would cost hours.
    """
    wanted = {name: data.attribute(name) for name in roles.named}
    combined = [_names(names) for names in ([joint] if isinstance(joint, str) else joint)]
    joined = {",".join(names): _join(data, names) for names in combined}
    wanted |= joined
    members = {",".join(names): names for names in combined}
    if hidden is None:
        able = {n: a for n, a in data.labels().items() if n not in wanted}
        wanted |= {n: a for n, a in able.items() if unmeasurable(a, split) is None}
    else:
        wanted |= {name: data.attribute(name) for name in _names(hidden)}
    groups = data.group_codes
    out = []
    for name, attribute in wanted.items():
        attribute.require_label(data.name)
        why = unmeasurable(attribute, split)
        if why:
            raise UserError(why)
        role = _role(members.get(name, (name,)), roles)
        parts = parts_of(attribute, split, groups, data.group, seed)
        parts = limits.apply(parts, len(attribute.classes), seed)
        given = tuple(
            data.attribute(p) for p in (roles.preserve if role == "suppress" else ()) if p != name
        )
        notes = [parts.note] if parts.note else []
        lost = unseen(attribute, parts)
        if lost:
            notes.append(
                f"no record of train has {name} {listing([repr(c) for c in lost])}: no attacker can"
                " name test records of these classes"
            )
        out.append(Question(name, role, attribute, parts, given, tuple(notes)))
    return out


def not_asked(data: Dataset, split: Split, asked: Sequence[str]) -> tuple[str, ...]:
    """Why attributes that the user did not name are not measured."""
    found = {n: unmeasurable(a, split) for n, a in data.labels().items() if n not in asked}
    return tuple(f"'{n}' is not measured: {why}" for n, why in found.items() if why)


def used_rows(asks: Sequence[Question], shown: Rows) -> Rows:
    """The records that some attacker or the map uses, sorted."""
    parts = [rows for q in asks for rows in (q.parts.train, q.parts.val, q.parts.test)]
    return np.unique(np.concatenate([shown, *parts]))


@dataclass(frozen=True, eq=False)
class Seen:
    """A feature matrix in the views that attackers need, each computed on first use and kept.

    pixels: the same records as small images with their detail (`image_detail`), or as small clips
    (`clip_pixels`), if they are such media.
    """

    x: FloatArray
    views: FeatureViews
    pixels: PixelArray | None = None
    _made: dict[ViewName, npt.NDArray[Any]] = field(default_factory=dict)

    def can_show(self, name: ViewName) -> bool:
        """Whether the records have this view."""
        return name not in OF_PIXELS or OF_PIXELS[name] == pixel_kind(self.pixels)

    def view(self, name: ViewName) -> npt.NDArray[Any]:
        """All records in one view: (n, d), images (n, channels, side, side), or parts of clips (n,
        parts, channels, side, side)."""
        if name == "raw":
            return self.x
        key: ViewName = name
        if name == "reduced" and self.views.axes is None:
            key = "standard"
        if key not in self._made:
            self._made[key] = self._shown(key)
        return self._made[key]

    def _shown(self, name: ViewName) -> npt.NDArray[Any]:
        if name not in OF_PIXELS:
            return self.views.see(name, self.x)
        assert self.pixels is not None
        # Copies of their own: worker processes then share one file of each.
        if name == "frames":
            return frames_of_clips(self.pixels)
        if name == "windows":
            return windows_of_clips(self.pixels)
        if name == "frame-detail":
            return detail_of_clips(self.pixels)
        return np.ascontiguousarray(
            self.pixels[:, :COLOURS] if name == "pixels" else self.pixels[:, COLOURS:]
        )


def pixel_kind(pixels: PixelArray | None) -> PixelKind | None:
    """What pixels (n, channels, side, side) show; None if there are none."""
    if pixels is None:
        return None
    return "clip" if are_clips(pixels) else "image"


def fresh_attacks(
    question: Question,
    seen: Seen,
    attackers: Sequence[Attacker],
    *,
    seed: int,
    also: Seen | None = None,
    twice: bool = True,
) -> tuple[list[Attack], dict[str, str]]:
    """An attack for every attacker that accepts the question, and why the others decline.

    `twice` runs quick attackers that depend on the seed with a second seed. `also` is the release,
    which models of the originals score too.
    """
    attacks, declined = [], {}
    n, k = len(question.parts.train), len(question.attribute.classes)
    for attacker in attackers:
        if not seen.can_show(attacker.view):
            declined[attacker.name] = f"these records have no {OF_PIXELS[attacker.view]}s"
            continue
        if attacker.view in OF_PIXELS and question.role == "hidden":
            # A network for each of 40 attributes nobody named would take hours.
            declined[attacker.name] = "pixels are attacked for suppressed and preserved attributes"
            continue
        x = seen.view(attacker.view)
        why = attacker.declines(n, x[:1].size, k)
        if why:
            declined[attacker.name] = why
            continue
        shown = also is not None and also.can_show(attacker.view)
        other = also.view(attacker.view) if also is not None and shown else None
        one = Attack(attacker.name, attacker, x, question.attribute, question.parts, seed, other)
        attacks.append(one)
        if attacker.starts_warm and twice and one.cost < _AGAIN:
            name = f"{attacker.name}-2"
            attacks.append(Attack(name, attacker, x, question.attribute, question.parts, seed + 1))
    if not attacks:
        why = "; ".join(declined.values()) or "the ladder is empty"
        raise UserError(f"no attacker can attack '{question.name}': {why}")
    return attacks, declined


def ladder(quick: bool, *, pixels: PixelKind | None = None) -> tuple[Attacker, ...]:
    """The attackers of a full audit, or of a quick one; those of `pixels` too, if there are any."""
    networks = () if pixels is None else _NETWORKS[pixels][0 if quick else 1]
    return get_attackers((*(QUICK if quick else FULL), *networks))


def models_of_originals(attackers: Sequence[Attacker]) -> tuple[Attacker, ...]:
    """The attackers that also serve as models of the original data; all of them if none does."""
    raw = tuple(a for a in attackers if a.raw)
    return raw or tuple(attackers)


def _join(data: Dataset, names: Sequence[str]) -> Attribute:
    if len(names) < 2:
        raise UserError(
            f"--joint '{','.join(names)}' names {len(names)} attribute; join two or more"
        )
    return combine([data.attribute(name) for name in names])


def _names(names: Iterable[str] | str) -> tuple[str, ...]:
    pieces = names.split(",") if isinstance(names, str) else names
    return tuple(n.strip() for n in pieces if n.strip())


def _role(members: Sequence[str], roles: Roles) -> Role:
    """A joint attribute is suppressed if any member is, and preserved if all members are."""
    found = {roles.role(name) for name in members}
    if "suppress" in found:
        return "suppress"
    return "preserve" if found == {"preserve"} else "hidden"
