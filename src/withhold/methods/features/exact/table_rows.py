"""How the codes of a table become rows: the encoder of the table, and the values of each code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from withhold.core.errors import UserError
from withhold.core.keyed import keyed_words
from withhold.methods.channel import IntArray
from withhold.methods.modifier import FloatArray, State
from withhold.records.tabular import RowMaker, TableEncoder

OF_ROWS = "rows."  # the beginning of the names of these arrays in a bundle


@dataclass(frozen=True, eq=False)
class TableRows:
    """The encoder turns rows into features, the maker turns codes into rows."""

    encoder: TableEncoder
    maker: RowMaker

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are made, in the order of the table."""
        return tuple(c.name for c in self.maker.columns)

    def uniforms(self, key: bytes, rows: FloatArray) -> npt.NDArray[np.float64]:
        """A uniform number in (0, 1) for each record and column, (n, columns)."""
        words = keyed_words(key, rows, 2 * len(self.maker.columns)).astype(np.float64)
        high, low = words[:, 0::2], words[:, 1::2]
        made: npt.NDArray[np.float64] = (high * 2**20 + low // 2**12 + 0.5) / 2**52
        return made

    def make(self, drawn: IntArray, uniforms: npt.NDArray[np.float64]) -> pa.Table:
        """Rows (n) of codes (n,)."""
        return self.maker.rows(drawn, uniforms)

    def state(self) -> State:
        """The arrays of the maker."""
        arrays, _ = self.maker.state()
        return {f"{OF_ROWS}{name}": array for name, array in arrays.items()}

    def settings(self) -> dict[str, str]:
        """The encoder and the columns of the maker, as JSON."""
        return {"encoder": self.encoder.to_json(), "maker": self.maker.state()[1]}

    @classmethod
    def from_state(cls, state: State, settings: dict[str, Any]) -> tuple[State, TableRows]:
        """The arrays that are left, and the rows that were saved."""
        own = {k.removeprefix(OF_ROWS): v for k, v in state.items() if k.startswith(OF_ROWS)}
        left = {k: v for k, v in state.items() if not k.startswith(OF_ROWS)}
        try:
            made = cls(
                TableEncoder.from_json(settings["encoder"]),
                RowMaker.from_state(own, settings["maker"]),
            )
        except (KeyError, ValueError, TypeError, IndexError, pa.ArrowException) as error:
            raise UserError(
                "'table' of the saved modifier is not what a fit writes; restore the bundle, or"
                " fit again"
            ) from error
        return left, made
