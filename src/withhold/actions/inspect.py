"""The action `inspect`: what is in a dataset, and what is feasible for given roles."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from withhold.actions.inspect_columns import ColumnTells, what_columns_tell
from withhold.actions.request import DataOptions, Request
from withhold.core.errors import UserError
from withhold.core.progress import Progress, Silent
from withhold.records.dataset import Dataset
from withhold.records.feasibility import Feasibility, feasibility
from withhold.records.roles import Roles
from withhold.records.splits import PARTS


class InspectRequest(Request):
    """A dataset, how to read it, and roles to check."""

    data: Path
    suppress: str = ""
    preserve: str = ""
    reading: DataOptions = DataOptions()


@dataclass(frozen=True)
class AttributeFacts:
    """One column that can be a label."""

    kind: str
    classes: int
    missing: int
    majority: float
    entropy_bits: float | None


@dataclass(frozen=True)
class Inspection:
    """Attributes by name; the other columns, each with the reason why it is not a label.

    tells: for a mixed table, {suppressed attribute: what each other column says about it, the most
    telling first}.
    """

    name: str
    records: int
    features: int
    groups: int | None
    split: dict[str, int] | None
    attributes: dict[str, AttributeFacts]
    no_labels: dict[str, str]
    feasibility: Feasibility
    kind: Literal["features", "table"] = "features"
    tells: dict[str, tuple[ColumnTells, ...]] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON values: attributes first, then the other columns."""
        found = asdict(self)
        labels = {name: {"label": True, **facts} for name, facts in found["attributes"].items()}
        others = found.pop("no_labels").items()
        return found | {
            "attributes": labels | {name: {"label": False, "why": why} for name, why in others}
        }


def inspect(request: InspectRequest, progress: Progress | None = None) -> Inspection:
    """Read the dataset, and check every column and the roles."""
    progress = progress or Silent()
    if request.data.is_dir():
        raise UserError(
            f"{request.data} is a folder of media; inspect features of it: withhold extract"
            f" {request.data} -o DATA.parquet"
        )
    dataset = request.reading.resolved(request.data).read(request.data, progress)
    roles = Roles((), ())
    if request.suppress or request.preserve:
        roles = Roles.of(request.suppress, request.preserve)
        roles.check(dataset)
    had = feasibility(dataset, roles)
    labels, others = _columns(dataset, had)
    groups, parts = dataset.group_codes, dataset.parts
    return Inspection(
        dataset.name,
        len(dataset),
        dataset.dimension,
        None if groups is None else len(set(groups.tolist())),
        None if parts is None else {part: int((parts == part).sum()) for part in PARTS},
        labels,
        others,
        had,
        "table" if dataset.tabular else "features",
        what_columns_tell(dataset, roles.suppress, progress) if dataset.tabular else {},
    )


def _columns(
    dataset: Dataset, had: Feasibility
) -> tuple[dict[str, AttributeFacts], dict[str, str]]:
    labels, others = {}, {}
    for name in dataset.attribute_names:
        try:
            a = dataset.attribute(name)
            a.require_label(dataset.name)
        except UserError as error:
            others[name] = str(error)
            continue
        bits = had.entropy.get(name)
        labels[name] = AttributeFacts(a.kind, len(a.classes), a.missing, a.majority, bits)
    return labels, others
