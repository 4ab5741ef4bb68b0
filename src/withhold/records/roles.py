"""Roles: which attributes to suppress and which to preserve; the rest are unnamed ("hidden")."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from withhold.core.errors import UserError
from withhold.core.lists import split_names
from withhold.records.checks import no_attribute

if TYPE_CHECKING:
    from withhold.records.dataset import Dataset

Role = Literal["suppress", "preserve", "hidden"]


@dataclass(frozen=True)
class Roles:
    """Names of the attributes to suppress and to preserve, in the user's order."""

    suppress: tuple[str, ...]
    preserve: tuple[str, ...] = ()

    @classmethod
    def of(cls, suppress: Iterable[str] | str, preserve: Iterable[str] | str = ()) -> Roles:
        """Roles from lists or comma-separated text; refuses an attribute in both."""
        roles = cls(_names(suppress), _names(preserve))
        both = [name for name in roles.suppress if name in roles.preserve]
        if both:
            raise UserError(
                f"attribute '{both[0]}' is in both --suppress and --preserve; choose one"
            )
        if not roles.suppress:
            raise UserError(
                "no attribute to suppress; name at least one with --suppress (suppress= in Python)"
            )
        return roles

    @property
    def named(self) -> tuple[str, ...]:
        """Suppressed, then preserved."""
        return self.suppress + self.preserve

    def role(self, name: str) -> Role:
        """The role of an attribute."""
        if name in self.suppress:
            return "suppress"
        return "preserve" if name in self.preserve else "hidden"

    def check(self, dataset: Dataset) -> None:
        """Refuse roles that do not fit this dataset; the error names the column and what to do."""
        known = dataset.attribute_names
        for name in self.named:
            if name not in known:
                raise no_attribute(name, dataset)
            dataset.attribute(name).require_label(dataset.name)


def _names(names: Iterable[str] | str) -> tuple[str, ...]:
    if isinstance(names, str):
        names = split_names(names)
    elif not isinstance(names, Iterable):
        raise UserError(f"{names!r} is no name of an attribute; give text or a list of names")
    return tuple(dict.fromkeys(n.strip() for n in names if n.strip()))
