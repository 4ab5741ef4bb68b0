"""Apply a modifier to records, and return the requested shape."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from withhold.bundle.bundle import Bundle
from withhold.core.errors import UserError
from withhold.methods import Channel, FeatureModifier
from withhold.methods.features.codebook import CodebookModifier
from withhold.methods.features.exact import ExactModifier
from withhold.records.attribute import Attribute

FloatArray = npt.NDArray[np.float32]
Shape = Literal["code", "sample", "index"]
INDEX = "code"  # the column of a release `--as index`


def check_shape(bundle: Bundle, shape: str) -> Shape:
    """Refuse a shape that this bundle cannot release."""
    if shape not in get_args(Shape):
        raise UserError(f"a release cannot be made as '{shape}'; --as takes code, sample or index")
    kinds = {"index": Channel, "sample": CodebookModifier}
    if shape in kinds and not isinstance(bundle.modifier, kinds[shape]):
        raise UserError(
            f"method '{bundle.method}' has no codes to release as {shape}; leave out --as, or use"
            " method codebook"
        )
    return shape  # type: ignore[return-value]


@dataclass(frozen=True, eq=False)
class Modified:
    """What the modifier made of some records.

    x: features (n, d); codes: (n,), if the modifier is a channel; rows: the columns of a table, if
    the records are rows of one; plan: W (n, N), if every row drew its code by itself; units: (n,),
    the unit that drew for each record, if people draw.
    """

    x: FloatArray
    codes: npt.NDArray[np.int64] | None = None
    rows: pa.Table | None = None
    plan: FloatArray | None = None
    units: npt.NDArray[np.int64] | None = None


def modified(
    bundle: Bundle,
    x: FloatArray,
    labels: dict[str, Attribute],
    *,
    shape: Shape,
    nonces: npt.NDArray[np.uint64] | None,
    name: str,
    done: int,
) -> Modified:
    """What leaves of records x: (n, d), and the code of each record.

    nonces: (n, 2) distinguish equal records, for `sample` and for methods whose rows draw by
    themselves. They do not depend on the position of the row.
    """
    modifier = bundle.modifier
    assert isinstance(modifier, FeatureModifier)
    if x.shape[1] != modifier.dimension:
        raise UserError(
            f"{name} has {x.shape[1]:,} features, the bundle was fitted on"
            f" {modifier.dimension:,}; name the same ones with --features"
        )
    if isinstance(modifier, ExactModifier):
        return _drawn_by_row(modifier, x, labels, nonces)
    drawn = modifier.draw(x, labels) if isinstance(modifier, Channel) else None
    if shape == "sample":
        assert isinstance(modifier, CodebookModifier)
        assert nonces is not None
        made = modifier.sample(x, labels, nonces=nonces)
    elif drawn is not None:
        assert isinstance(modifier, Channel)
        made = modifier.codes[drawn]
    else:
        made = modifier.transform(x, labels)
    if not np.isfinite(made).all():
        row = done + int(np.argmin(np.isfinite(made).all(axis=1)))
        raise UserError(
            f"row {row} of {name} (the first row is 0) is too large to be modified:"
            " its release would be NaN or infinite; drop the row"
        )
    return Modified(made, drawn)


def _drawn_by_row(
    modifier: ExactModifier,
    x: FloatArray,
    labels: dict[str, Attribute],
    nonces: npt.NDArray[np.uint64] | None,
) -> Modified:
    """Codes that every row draws by itself, and the plan that they were drawn from."""
    assert nonces is not None
    drawn, plan = modifier.draw_with(x, labels, nonces)
    rows = None
    if modifier.rows is not None:
        rows = modifier.rows.make(drawn, modifier.table_uniforms(x, nonces))
    if modifier.units is None:
        return Modified(modifier.codes[drawn], drawn, rows, plan)
    units = modifier.unit_of(labels, len(x))
    return Modified(modifier.codes[drawn], drawn, rows, units=units)
