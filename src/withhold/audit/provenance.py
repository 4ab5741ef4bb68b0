"""The provenance of an audit: what it read, its settings, and notes for the reader."""

from __future__ import annotations

import platform
from importlib.metadata import version
from typing import Any

import numpy as np

from withhold.audit.attack_plan import Seen
from withhold.audit.audit_case import AuditCase
from withhold.audit.findings import AuditedData
from withhold.audit.setting_groups import Effort
from withhold.core.safe_read import file_sha256
from withhold.media.clip_pixels import FRAMES
from withhold.records.dataset import Dataset


def source(data: Dataset) -> AuditedData:
    """What was audited, with the hash of its file, or of its values if there is no file."""
    file = data.path is not None and data.path.is_file()
    return AuditedData(
        name=data.name,
        records=len(data),
        features=data.dimension,
        sha256=file_sha256(data.path) if file and data.path is not None else data.digest(),
        sha256_of="file" if file else "values",
    )


def settings(case: AuditCase, effort: Effort) -> dict[str, Any]:
    """The settings of the audit: enough to run it again."""
    split, limits = case.split, effort.limits
    packages = ("torch", "scikit-learn", "numpy")
    pixels = {} if case.pixel_side is None else {"pixels": case.pixel_side}
    return pixels | {
        "seed": effort.seed,
        "quick": effort.quick,
        "attackers": [a.name for a in effort.ladder],
        "train": int(split.train.sum()),
        "val": int(split.val.sum()),
        "test": int(split.test.sum()),
        "most_records": {"train": limits.train, "val": limits.val, "test": limits.test},
        "used": {
            q.name: [len(q.parts.train), len(q.parts.val), len(q.parts.test)] for q in case.asks
        },
        "python": platform.python_version(),
        "packages": {name: version(name) for name in packages},
    }


def notes(case: AuditCase, after: Seen, effort: Effort, *, drawn_here: bool) -> tuple[str, ...]:
    """What a reader must know before reading the figures. after: the attacked features."""
    matched, split, original = case.matched, case.split, case.original
    said = [] if matched is None else list(matched.notes)
    if effort.quick:
        said.append("a quick audit: fewer attackers on fewer records; a full audit may find more")
    if case.pixel_kind == "clip":
        said.append(
            f"clips were also attacked as pixels: {FRAMES} frames of each, reduced to"
            f" {case.pixel_side} x {case.pixel_side}, alone and in their order, maps of the detail"
            " that this loses, and the brightest and darkest value of each pixel: a mark that a key"
            " hides, or motion in other frames, may be missed; the attacks on all rows and"
            " subgroups read features only"
        )
    if case.pixel_kind == "image":
        said.append(
            f"images were also attacked as pixels, reduced to {case.pixel_side} x"
            f" {case.pixel_side}, and through maps of the detail that this loses: a mark that a"
            " key hides, or a pattern far from the middle, may be missed; the attacks on all rows"
            " and subgroups read features only"
        )
    if after.pixels is None and not np.ptp(after.x[split.train], axis=0).any():
        said.append("no feature of the release varies: it reveals nothing about any record")
    same = matched and [np.array_equal(d.release.x, matched.release.x) for d in case.draws]
    if same and all(same):
        said.append("every draw gave the same records: further draws reveal nothing more")
    if drawn_here and matched is not None:
        said.append(
            "the data has no column 'split': the parts are those that `withhold fit` draws with the"
            " same --group and --suppress; a method fitted on other records may look too good here"
        )
    groups = original.group_codes
    if groups is not None:
        people = len(np.unique(groups[split.test]))
        if people < 10:
            said.append(
                f"the test part has {people} different '{original.group}': intervals over so few"
                " are rough"
            )
    return tuple(said)
