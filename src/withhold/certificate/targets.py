"""The attributes that a certificate is about: each suppressed one, and all of them together."""

from __future__ import annotations

from collections.abc import Sequence

from withhold.records.attribute import Attribute, combine

JOINT = 1000  # most classes of the joint attribute; with more, each would have about one record


def single(attribute: Attribute) -> list[Attribute]:
    """A multi-label attribute as one attribute of two classes for each label."""
    if not attribute.multilabel:
        return [attribute]
    return [
        Attribute(
            label if label.startswith(attribute.name) else f"{attribute.name}.{label}",
            "categorical",
            ("0", "1"),
            attribute.codes[:, i],
        )
        for i, label in enumerate(attribute.classes)
    ]


def together(targets: Sequence[Attribute]) -> Attribute | None:
    """All of them as one attribute, if there are several and some record has all of them."""
    joint = combine(targets) if len(targets) > 1 else None
    return joint if joint is not None and len(joint.classes) > 1 else None
