"""The frozen result of `exact`."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch
from pydantic import Field
from torch import Tensor

from withhold.core.errors import RecordError, UserError
from withhold.core.keyed import keyed_uniform, other_key, with_nonces
from withhold.methods.blocks import in_fixed_blocks
from withhold.methods.channel import Channel, IntArray, counted, pick
from withhold.methods.checked_state import Arrays, StateSettings, checked_modifier
from withhold.methods.features.codebook.reader import READERS, Reader
from withhold.methods.features.exact.exact_balance import exact_plan
from withhold.methods.features.exact.labelled_cells import places, refuse_unknown
from withhold.methods.features.exact.person_units import PersonUnits
from withhold.methods.features.exact.table_rows import TableRows
from withhold.methods.modifier import FloatArray, Labels, State

Nonces = npt.NDArray[np.uint64]
_PIECE = 2048  # records whose probabilities are in memory at once


@dataclass(frozen=True, eq=False)
class ExactPlan:
    """The channel W(j | x, c) = keep_cj V_j + rest_cj (1 - sum_l keep_cl V_l), where
    V = softmax(reader(x, s) + potentials_c).

    codes (N, d); potentials, keep and rest (C, N); cells (K, U) is the cell of each suppressed
    class and preserved value, -1 where the fit saw no such record.
    """

    reader: Reader
    codes: FloatArray
    potentials: FloatArray
    keep: FloatArray
    rest: FloatArray
    cells: IntArray


class ExactSettings(StateSettings):
    """Settings besides the arrays."""

    reader: Literal["metric", "network"]
    sharpness: float = Field(gt=0)
    suppress: tuple[str, ...]
    preserve: tuple[str, ...]
    classes: tuple[str, ...]
    values: tuple[str, ...]
    table: dict[str, Any] | None = None
    person: str | None = None


class ExactModifier(Channel):
    """Every row draws its code by itself, from a plan that is balanced over the fitted records.

    It needs the suppressed and preserved labels of every record. Released with the records of the
    fit, each class uses each code in exactly the same share, on average over the draws. For a
    table, `rows` turns codes into rows. With `units`, a person draws one code for all its rows with
    the same class and preserved value.
    """

    method = "exact"
    kinds = ("features", "table")
    draws_by_row = True
    of_given_records = True
    way_out = "give the records of the fit with all their columns"

    def __init__(
        self,
        plan: ExactPlan,
        key: bytes,
        *,
        suppress: tuple[str, ...],
        preserve: tuple[str, ...],
        classes: tuple[str, ...],
        values: tuple[str, ...],
        rows: TableRows | None = None,
        units: PersonUnits | None = None,
    ) -> None:
        self.plan, self.key, self.codes, self.units = plan, key, plan.codes, units
        self.suppress, self.preserve = suppress, preserve
        self.classes, self.values, self.rows = classes, values, rows
        self._potentials = torch.from_numpy(plan.potentials)
        self._keep, self._rest = torch.from_numpy(plan.keep), torch.from_numpy(plan.rest)

    @property
    def needs(self) -> tuple[str, ...]:
        """The suppressed and the preserved attributes, and the person if it draws."""
        person = () if self.units is None else (self.units.column,)
        return tuple(dict.fromkeys((*self.suppress, *self.preserve, *person)))

    def cells_of(self, labels: Labels, n: int) -> tuple[IntArray, IntArray]:
        """The suppressed class (n,) and the cell (n,) of each record."""
        s, u = self._places(labels, n)
        return s, self.plan.cells[s, u]

    def unit_of(self, labels: Labels, n: int) -> IntArray:
        """The unit of each record (n,), where people draw."""
        assert self.units is not None
        people = labels[self.units.column]
        return self.units.find(self.key, people, *self._places(labels, n))

    def _places(self, labels: Labels, n: int) -> tuple[IntArray, IntArray]:
        """The suppressed class (n,) and the preserved value (n,) of each record."""
        s, _ = places(labels, self.suppress, self.classes, n)
        u, _ = places(labels, self.preserve, self.values, n)
        cell = np.where((s < 0) | (u < 0), -1, self.plan.cells[s, u])
        refuse_unknown(cell, (*self.suppress, *self.preserve))
        return s, u

    def _probabilities(self, x: FloatArray, labels: Labels) -> FloatArray:
        if self.units is not None:
            which, place = np.unique(self.unit_of(labels, len(x)), return_inverse=True)
            return self.unit_plan(which)[place.reshape(-1)]
        return self._plan_of(x, *self.cells_of(labels, len(x)))

    def unit_plan(self, which: IntArray | None = None) -> FloatArray:
        """W of some units (m,), or of all: (m, N)."""
        assert self.units is not None
        units = self.units
        at = np.arange(len(units.x)) if which is None else which
        return self._plan_of(units.x[at], units.s[at], units.cell[at])

    def _plan_of(self, x: FloatArray, s: IntArray, cell: IntArray) -> FloatArray:
        # The class and the cell are passed along as two more columns.
        whole = np.column_stack([x, s.astype(np.float32), cell.astype(np.float32)])
        return in_fixed_blocks(self._work, whole, outputs=len(self.codes))

    def _work(self, piece: Tensor) -> Tensor:
        x, s, cell = piece[:, :-2].contiguous(), piece[:, -2].long(), piece[:, -1].long()
        scores = self.plan.reader.scores(x, s)
        return exact_plan(scores, self._potentials[cell], self._keep[cell], self._rest[cell])

    def draw_with(
        self, x: FloatArray, labels: Labels | None, nonces: Nonces | None
    ) -> tuple[IntArray, FloatArray]:
        """The code of each record (n,), and W (n, N), of at most some thousand records.

        nonces (n, k) tell equal records apart, so that each row draws by itself. Where people draw,
        they only tell the draws of a release from others: see `_drawn_at`.
        """
        x, labels = self._checked(x, labels)
        if len(x) == 0:
            return np.empty(0, np.int64), np.empty((0, len(self.codes)), np.float32)
        w = self._finite(x, labels)
        return pick(w, self._drawn_at(x, labels, nonces)), w

    def uniforms(
        self, x: FloatArray, labels: Labels | None = None, *, nonces: Nonces | None = None
    ) -> npt.NDArray[np.float64]:
        """The number in (0, 1) at which each row draws its code: (n, d) -> (n,)."""
        x, labels = self._checked(x, labels)
        return self._drawn_at(x, labels, self._numbered(x, nonces))

    def _drawn_at(
        self, x: FloatArray, labels: Labels, nonces: Nonces | None
    ) -> npt.NDArray[np.float64]:
        """A person draws by its name. A draw without nonces is not the one of a release: code
        vectors are made from it, and must not tell the draws that leave."""
        if self.units is None:
            return keyed_uniform(self._key_of("draws"), with_nonces(x, nonces))
        which, place = np.unique(self.unit_of(labels, len(x)), return_inverse=True)
        key = self._key_of("other draws" if nonces is None else "draws")
        names = with_nonces(np.empty((len(which), 0), np.float32), self.units.name[which, None])
        return keyed_uniform(key, names)[place.reshape(-1)]

    def _numbered(self, x: FloatArray, nonces: Nonces | None) -> Nonces | None:
        """The nonces; without them, equal records of x are numbered, unless people draw."""
        return counted(x) if nonces is None and self.units is None else nonces

    def _key_of(self, purpose: str) -> bytes:
        """A key for this plan alone: two releases under one key must not share their draws, or
        their rows could be matched."""
        plan = hashlib.blake2b(self.plan.potentials.tobytes(), digest_size=16)
        plan.update(self.plan.rest.tobytes())
        return other_key(self.key, f"{purpose} of plan {plan.hexdigest()}")

    def _draw(self, x: FloatArray, labels: Labels) -> IntArray:
        raise RecordError(0, "cannot be drawn alone: the draws of `exact` belong to rows")

    def draw(
        self, x: FloatArray, labels: Labels | None = None, *, nonces: Nonces | None = None
    ) -> IntArray:
        """The code of each record: (n, d) -> (n,)."""
        x, labels = self._checked(x, labels)
        nonces = self._numbered(x, nonces)
        out = np.empty(len(x), np.int64)
        for start in range(0, len(x), _PIECE):
            at = np.arange(start, min(start + _PIECE, len(x)))
            part = {n: a.rows(at) for n, a in labels.items()}
            try:
                out[at] = self.draw_with(x[at], part, None if nonces is None else nonces[at])[0]
            except RecordError as error:
                raise error.after(start) from None
        return out

    def table_uniforms(self, x: FloatArray, nonces: Nonces) -> npt.NDArray[np.float64]:
        """Uniforms (n, columns) that decide the values of the rows of a table."""
        assert self.rows is not None
        return self.rows.uniforms(self._key_of("values"), with_nonces(x, nonces))

    def state(self) -> State:
        """The plan, the reader's arrays, and how codes become rows of a table."""
        p = self.plan
        arrays: State = {
            "codes": p.codes, "potentials": p.potentials, "keep": p.keep, "rest": p.rest,
            "cells": p.cells,
        }  # fmt: skip
        arrays |= {f"reader.{k}": v for k, v in p.reader.state().items()}
        arrays |= {} if self.units is None else self.units.state()
        return arrays if self.rows is None else arrays | self.rows.state()

    def settings(self) -> dict[str, Any]:
        """The reader's kind, the attributes, and their values in order."""
        return {
            "reader": self.plan.reader.kind,
            "sharpness": self.plan.reader.sharpness,
            "suppress": list(self.suppress),
            "preserve": list(self.preserve),
            "classes": list(self.classes),
            "values": list(self.values),
            "table": None if self.rows is None else self.rows.settings(),
            "person": None if self.units is None else self.units.column,
        }

    @classmethod
    def from_state(cls, state: State, settings: dict[str, Any], key: bytes) -> ExactModifier:
        """The modifier that was saved."""
        checked = checked_modifier(settings, ExactSettings)
        rows = None
        if checked.table is not None:
            state, rows = TableRows.from_state(state, checked.table)
        arrays = Arrays(state)
        codes = arrays.take("codes", "N", "d")
        potentials = arrays.take("potentials", "C", "N")
        keep, rest = (arrays.take(n, "C", "N", least=0) for n in ("keep", "rest"))
        cells = arrays.take_any("cells", len(checked.classes), len(checked.values))
        if cells.dtype != np.int64 or not -1 <= cells.min() <= cells.max() < len(keep):
            raise UserError(
                "array 'cells' of the modifier names no cells; restore the bundle, or fit again"
            )
        if (keep > 1).any() or not np.allclose(rest.sum(axis=1), 1, atol=1e-3):
            raise UserError(
                "array 'rest' of the modifier does not sum to 1; restore the bundle, or fit again"
            )
        arrays.expect("K", len(checked.classes))
        reader = READERS[checked.reader].from_arrays(arrays, checked.sharpness)
        units = None
        if checked.person is not None:
            units = PersonUnits.from_arrays(
                arrays, checked.person, classes=len(checked.classes), cells=len(keep)
            )
        arrays.close()
        return cls(
            ExactPlan(reader, codes, potentials, keep, rest, np.array(cells)),
            key,
            suppress=checked.suppress,
            preserve=checked.preserve,
            classes=checked.classes,
            values=checked.values,
            rows=rows,
            units=units,
        )
