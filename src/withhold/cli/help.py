"""Options of a command, and its help, with the options in groups."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperCommand, TyperOption

ROLES = "Roles"
DATA = "How the data is read"
MEDIA = "Media"
RELEASE = "What is released"
METHOD = "The method"
AUDIT = "The audit"
PROOF = "Proof and gate"
ENGINE = "Where it runs"
_LAST = "Other options"


def option(help: str, group: str | None = None, *flags: str, min: int | None = None) -> Any:
    """An option in a group of the help; without flags it is named like its parameter."""
    return typer.Option(*flags, help=help, rich_help_panel=group, min=min)


class GroupedCommand(TyperCommand):
    """Options without a group come last, under `Other options`; without any group, `Options`."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments, then one section for each group, in the order of the options."""
        sections: dict[str, list[tuple[str, str]]] = {}
        rest: list[tuple[str, str]] = []
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is None:
                continue
            if not isinstance(parameter, TyperOption):
                sections.setdefault("Arguments", []).append(record)
            elif parameter.rich_help_panel:
                sections.setdefault(parameter.rich_help_panel, []).append(record)
            else:
                rest.append(record)
        if rest:
            sections["Options" if set(sections) <= {"Arguments"} else _LAST] = rest
        for name, records in sections.items():
            with formatter.section(name):
                formatter.write_dl(records)
