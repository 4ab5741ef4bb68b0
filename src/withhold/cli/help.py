"""The help of a command, with its options in groups."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand, TyperOption

ROLES = "Roles"
DATA = "How the data is read"
MEDIA = "Media"
RELEASE = "What is released"
METHOD = "The method"
AUDIT = "The audit"
PROOF = "Proof and gate"
_LAST = "Other options"


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
