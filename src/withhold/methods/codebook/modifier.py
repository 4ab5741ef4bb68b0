"""The frozen result of `codebook`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from pydantic import Field
from torch import Tensor

from withhold.errors import RecordError, UserError
from withhold.keyed import keyed_normal, other_key
from withhold.methods.blocks import in_fixed_blocks
from withhold.methods.channel import Channel, IntArray
from withhold.methods.checked_state import Arrays, StateSettings, checked_modifier
from withhold.methods.codebook.cells import REST, joint
from withhold.methods.codebook.reader import READERS, Reader
from withhold.methods.modifier import FloatArray, Labels, State


@dataclass(frozen=True, eq=False)
class Codebook:
    """Everything that decides a release but the key.

    codes (N, d); weights (N,) are how often each is used; potentials (K, N) where the label is
    used; `mix` is the share of records that get a code by the weights alone; spread (r, d) is how
    records lie around their code.
    """

    reader: Reader
    codes: FloatArray
    weights: FloatArray
    potentials: FloatArray | None
    mix: float
    spread: FloatArray


class CodebookSettings(StateSettings):
    """Settings beside the arrays."""

    reader: Literal["metric", "network"]
    sharpness: float = Field(gt=0)
    mix: float = Field(ge=0, le=1)
    needs: tuple[str, ...]
    classes: tuple[str, ...]


class CodebookModifier(Channel):
    """W(j | x, s) = (1 - mix) softmax_j(reader(x, s) + potentials[s]) + mix weights_j."""

    method = "codebook"

    def __init__(
        self, book: Codebook, key: bytes, needs: tuple[str, ...], classes: tuple[str, ...]
    ) -> None:
        self.book, self.key, self._needs = book, key, needs
        # Who the classes are is nobody's business where no label is needed.
        self.classes = classes if needs else ()
        self.codes = book.codes
        self._potentials = None if book.potentials is None else torch.from_numpy(book.potentials)
        self._weights = torch.from_numpy(book.weights)

    @property
    def needs(self) -> tuple[str, ...]:
        """The suppressed attributes, where their labels are used."""
        return self._needs

    def _probabilities(self, x: FloatArray, labels: Labels) -> FloatArray:
        # The class travels with the record as one more column.
        s = self._class_of(labels, len(x)).astype(np.float32)
        return in_fixed_blocks(self._work, np.column_stack([x, s]), outputs=len(self.codes))

    def _work(self, piece: Tensor) -> Tensor:
        x, s = piece[:, :-1].contiguous(), piece[:, -1].long()
        scores = self.book.reader.scores(x, s)
        if self._potentials is not None:
            scores = scores + self._potentials[s]
        w = torch.softmax(scores, dim=1)
        return w if self.book.mix == 0 else (1 - self.book.mix) * w + self.book.mix * self._weights

    def _class_of(self, labels: Labels, n: int) -> IntArray:
        """The joint class of each record as the fit numbered it, (n,); 0 where none is needed."""
        if not self._needs:
            return np.zeros(n, np.int64)
        names, codes = joint([labels[name] for name in self._needs])
        number = {name: i for i, name in enumerate(self.classes)}
        rest = number.get(REST, -1)
        place = np.array([*(number.get(name, rest) for name in names), -1], np.int64)
        s = place[codes]
        if (s < 0).any():
            row = int(np.argmax(s < 0))
            what = "has no label" if codes[row] < 0 else "has a class that the fit did not see"
            raise RecordError(
                row,
                f"{what} of {', '.join(self._needs)}, which this bundle needs; leave it out, or fit"
                " without labels (use_labels: false)",
            )
        return s

    def sample(
        self, x: FloatArray, labels: Labels | None = None, *, first_row: int = 0
    ) -> FloatArray:
        """A member made up near the code: c_J + e spread, e standard normal, (n, d).

        e comes from the key and the record's place in the data, not from the record: equal records
        get different members, so a member tells of its record what its code tells and no more.
        """
        x, labels = self._checked(x, labels)
        if len(x) == 0:
            return np.empty((0, self.dimension), np.float32)
        place = first_row + np.arange(len(x))
        rows = np.stack([place >> 20, place & 0xFFFFF], axis=1).astype(np.float32)
        noise = keyed_normal(other_key(self.key, "sample"), rows, len(self.book.spread))
        # einsum adds up each record by itself; a matrix product rounds by how many there are.
        around = np.einsum("nk,kd->nd", noise, self.book.spread)
        made: FloatArray = self.codes[self.draw(x, labels)] + around
        return made

    def state(self) -> State:
        """The codes and the reader's arrays."""
        book = self.book
        arrays: State = {
            "codes": book.codes,
            "weights": book.weights,
            "spread": book.spread,
        }
        if book.potentials is not None:
            arrays["potentials"] = book.potentials
        return arrays | {f"reader.{k}": v for k, v in book.reader.state().items()}

    def settings(self) -> dict[str, Any]:
        """The reader's kind, the labels that are needed, and their classes in order."""
        return {
            "reader": self.book.reader.kind,
            "sharpness": self.book.reader.sharpness,
            "mix": self.book.mix,
            "needs": list(self._needs),
            "classes": list(self.classes),
        }

    @classmethod
    def from_state(cls, state: State, settings: dict[str, Any], key: bytes) -> CodebookModifier:
        """The modifier that was saved."""
        checked, arrays = checked_modifier(settings, CodebookSettings), Arrays(state)
        codes = arrays.take("codes", "N", "d")
        weights = arrays.take("weights", "N", least=0)
        spread = arrays.take("spread", "r", "d")
        potentials = None
        if checked.needs:
            arrays.expect("K", len(checked.classes))
        if arrays.has("potentials"):
            potentials = arrays.take("potentials", "K", "N")
        reader = READERS[checked.reader].from_arrays(arrays, checked.sharpness)
        arrays.close()
        if not 0.99 < float(weights.sum()) < 1.01:
            raise UserError(
                "array 'weights' of the modifier does not sum to 1; restore the bundle, or fit"
                " again"
            )
        book = Codebook(reader, codes, weights, potentials, checked.mix, spread)
        return cls(book, key, checked.needs, checked.classes)
