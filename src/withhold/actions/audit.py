"""The action `audit`: what can still be inferred from a release, and a report on it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy.typing as npt

from withhold.actions.audit_media import features_in_memory
from withhold.audit.attackers.attacker import Attacker, Prediction
from withhold.audit.evaluate import evaluate
from withhold.audit.evidence import Evidence
from withhold.audit.setting_groups import Claims, Effort, Pairing
from withhold.audit.whole_release import WholeRelease
from withhold.certificate.claims import Certificate
from withhold.certificate.release_file import ReleaseCertificate
from withhold.core.errors import UserError
from withhold.core.progress import Progress, Silent
from withhold.media.attack_pixels import SIDE
from withhold.records.arrays import as_pixels
from withhold.records.dataset import Dataset
from withhold.records.roles import Roles
from withhold.release.engines import Engine


class Audit(Evidence):
    """The evidence of an audit, which can be written as a page."""

    @classmethod
    def of(cls, evidence: Evidence) -> Audit:
        """The same evidence."""
        return cls.model_construct(**{n: getattr(evidence, n) for n in type(evidence).model_fields})

    def __repr__(self) -> str:
        return f"Audit({self.verdict})"

    __str__ = __repr__

    def _repr_html_(self) -> str:
        """The verdict and a line for each attribute; every name is escaped."""
        lines = "".join(
            f"<tr><td>{escape(name)}</td><td>{a.role}</td><td>{100 * a.floor:.1f}</td>"
            f"<td>{100 * a.informed.accuracy:.1f}</td></tr>"
            for name, a in self.attributes.items()
        )
        head = "<th>attribute</th><th>role</th><th>floor, %</th><th>retrained attacker, %</th>"
        return (
            f"<div><p>{escape(self.verdict)}</p><table><thead><tr>{head}</tr></thead>"
            f"<tbody>{lines}</tbody></table></div>"
        )

    def to_html(self, path: str | Path, *, title: str = "Audit") -> None:
        """Write `report.html`: one self-contained page, atomically."""
        from withhold.report import write_report  # only a page needs the templates

        write_report(self, path, title=title)


def audit(
    original: Dataset | npt.ArrayLike,
    release: Dataset | npt.ArrayLike | None = None,
    suppress: Iterable[str] | str = (),
    preserve: Iterable[str] | str = (),
    *,
    attributes: Any = None,
    group: str | None = None,
    hidden: Iterable[str] | str | None = None,
    joint: Iterable[Sequence[str] | str] = (),
    id: str | None = None,
    same_order: bool = False,
    order_counts: bool = True,
    average: str | None = None,
    again: Sequence[Dataset] = (),
    models: Mapping[str, Prediction] | None = None,
    attackers: Sequence[Attacker] | None = None,
    quick: bool = False,
    extractor: str | None = None,
    extractor_settings: Mapping[str, Any] | None = None,
    pixels: int = SIDE,
    certificate: Certificate | ReleaseCertificate | None = None,
    key: bytes | str | Path | None = None,
    fail_if: str | Iterable[str] | None = None,
    seed: int = 0,
    workers: int | None = None,
    engine: Engine | None = None,
    whole: WholeRelease | None = None,
    progress: Progress | None = None,
) -> Audit:
    """Attack a release with retrained attackers. Without a release, attack the original.

    Both are Datasets, or features: arrays, frames or tensors (n, d) and (n, d') with the records in
    the same order. With features, `attributes` has the labels of the n records, as a frame or a
    mapping of columns, and may have a column `split`; `group` names its column of people or
    sources.

    Both may also be Datasets of media, or arrays of images (n, height, width, 3). Features of both
    are then made with `extractor`, and images and clips are also attacked as pixels: convolutional
    networks read them at `pixels` by `pixels` (0 leaves these attackers out), clips frame by frame
    and as motion.

    These options are described in `withhold.audit.setting_groups`: `id`, `same_order` and
    `order_counts` in `Pairing`; `attackers`, `models`, `quick`, `workers`, `engine` and `seed` in
    `Effort`; `certificate` and `key` in `Claims`. The others are described in
    `withhold.audit.evaluate.evaluate`.
    """
    for given in (original, release):
        if isinstance(given, str | Path):
            raise UserError(
                f"audit takes datasets and arrays; read the file first: Dataset.read('{given}')"
            )
    suppress = suppress if isinstance(suppress, str) else tuple(suppress)
    media = any(as_pixels(g) is not None or _is_media(g) for g in (original, release))
    if not isinstance(original, Dataset):
        original = _original(original, attributes, group)
    elif attributes is not None or group is not None:
        raise UserError("a Dataset already has its attributes and group; do not pass them as well")
    if release is not None and not isinstance(release, Dataset):
        # Rows of arrays have no other name than their place. Where the records lie no nearer to
        # their own originals than to others, the audit refuses unless `same_order` vouches.
        release = _released(release, original)
    if media:
        if again:
            raise UserError("other draws (again) are Datasets of features; extract each draw first")
        original, release = features_in_memory(
            original,
            release,
            extractor=extractor,
            settings=dict(extractor_settings or {}),
            side=pixels,
            suppress=Roles.of(suppress or "-").suppress,
            progress=progress or Silent(),
        )
    elif extractor is not None:
        raise UserError(f"{original.name} holds features already; leave out the extractor")
    return Audit.of(
        evaluate(
            original,
            release,
            suppress,
            preserve,
            hidden=hidden,
            joint=joint,
            again=again,
            average=average,
            pairing=Pairing(id, same_order, order_counts),
            effort=Effort(attackers, models or {}, quick, workers, seed, engine),
            claims=Claims(certificate, key),
            fail_if=fail_if,
            whole=whole,
            progress=progress,
        )
    )


def _is_media(given: object) -> bool:
    return isinstance(given, Dataset) and given.media is not None


def _original(x: npt.ArrayLike, attributes: Any, group: str | None) -> Dataset:
    if attributes is None:
        raise UserError(
            "features without labels cannot be audited: pass attributes=frame with a column for"
            " each name in suppress and preserve, or pass a Dataset"
        )
    if hasattr(attributes, "to_frame"):  # a pandas or polars series
        attributes = attributes.to_frame()
    return Dataset.from_arrays(x, attributes, name="the original array", group=group)


def _released(x: npt.ArrayLike, original: Dataset) -> Dataset:
    release = Dataset.from_arrays(x, name="the released array")
    if len(release) != len(original):
        if release.media is not None:
            raise UserError(
                f"{original.name} has {len(original):,} records and {release.name}"
                f" {len(release):,}; row i of both arrays must be the same record"
            )
        raise UserError(
            f"{original.name} has {original.x.shape} values (records, features) and {release.name}"
            f" {release.x.shape}; row i of both arrays must be the same record"
        )
    return release
