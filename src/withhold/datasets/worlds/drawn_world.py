"""What drawn worlds share: checks of arguments, people with fixed measures, the table of labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from withhold.core.errors import UserError
from withhold.datasets.worlds.attribute_set import Codes

# Whether every person is in all parts, or each in one part only.
SplitBy = Literal["record", "person"]
_PARTS = ("train", "train", "train", "val", "test")


def check_at_least(name: str, value: int, least: int) -> None:
    """Refuse a number below `least`."""
    if value < least:
        raise UserError(f"{name} must be at least {least}, not {value}")


def check_range(name: str, value: float, least: float, most: float, unit: str = "") -> None:
    """Refuse a number outside least..most, and NaN."""
    if not least <= value <= most:
        raise UserError(f"{name} must be in {least}..{most}{unit}, not {value:g}")


def check_seed(seed: int) -> None:
    """Refuse a negative seed."""
    if seed < 0:
        raise UserError(f"seed must not be negative, not {seed}")


def draw_people(
    measures: Mapping[str, tuple[float, float]], people: int, seed: int
) -> dict[str, npt.NDArray[np.float32]]:
    """The measures of every person, (people,) each; the same for a number and a seed.

    Measures are drawn uniformly from their least to their greatest value. A person does not depend
    on how many there are.
    """
    drawn = np.stack(
        [np.random.default_rng((2, p, seed)).random(len(measures)) for p in range(people)]
    )
    return {
        name: (low + (high - low) * drawn[:, i]).astype(np.float32)
        for i, (name, (low, high)) in enumerate(measures.items())
    }


def label_table(
    codes: Codes, values: Mapping[str, tuple[str, ...]], split_by: SplitBy = "record"
) -> pa.Table:
    """The person, the values by name, and the split.

    Of five records, or of five people, three are train, one val and one test.
    """
    person = codes["person"]
    columns = {"person": [f"p{number:02d}" for number in person.tolist()]}
    for name, names in values.items():
        columns[name] = np.asarray(names)[codes[name]].tolist()
    turn = person if split_by == "person" else np.arange(len(person))
    columns["split"] = [_PARTS[i] for i in (turn % len(_PARTS)).tolist()]
    return pa.table(columns)


def check_split(split_by: str, people: int) -> None:
    """Refuse an unknown split, and one by person with too few people for three parts."""
    if split_by not in ("record", "person"):
        raise UserError(f"split_by must be 'record' or 'person', not '{split_by}'")
    if split_by == "person" and people < len(_PARTS):
        raise UserError(
            f"a split by person needs at least {len(_PARTS)} people, not {people}; raise people"
        )
