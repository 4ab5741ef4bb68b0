"""The frozen result of `codebook`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch
from pydantic import Field
from torch import Tensor

from withhold.core.errors import RecordError, UserError
from withhold.core.keyed import keyed_normal, other_key, with_nonces
from withhold.methods.blocks import in_fixed_blocks
from withhold.methods.channel import Channel, IntArray, counted, finite, pick
from withhold.methods.checked_state import Arrays, StateSettings, checked_modifier
from withhold.methods.features.codebook.cells import REST, joint
from withhold.methods.features.codebook.reader import READERS, FoldedReader, Reader
from withhold.methods.modifier import FloatArray, Labels, State


@dataclass(frozen=True, eq=False)
class Codebook:
    """Everything that determines a release, except the key.

    codes (N, d); weights (N,) are how often each is used; potentials (K, N) if labels are used;
    `mix` is the share of records that get a code by the weights alone; spread (r, d) is how records
    lie around their code. If codes were merged, `merge` (M,) is the code of each of the M outputs
    of the reader, and potentials are (K, M).
    """

    reader: Reader
    codes: FloatArray
    weights: FloatArray
    potentials: FloatArray | None
    mix: float
    spread: FloatArray
    merge: IntArray | None = None


class CodebookSettings(StateSettings):
    """Settings besides the arrays."""

    reader: Literal["metric", "network", "folded"]
    sharpness: float = Field(gt=0)
    mix: float = Field(ge=0, le=1)
    needs: tuple[str, ...]
    classes: tuple[str, ...]
    person: str | None


class CodebookModifier(Channel):
    """W(j | x, s) = (1 - mix) softmax_j(reader(x, s) + potentials[s]) + mix weights_j.

    If codes were merged, the draw is made among the outputs of the reader and then merged.
    """

    method = "codebook"

    def __init__(
        self,
        book: Codebook,
        key: bytes,
        needs: tuple[str, ...],
        classes: tuple[str, ...],
        person: str | None = None,
    ) -> None:
        self.book, self.key, self._needs, self.person = book, key, needs, person
        # The names of the classes are not in the bundle if no label is needed.
        self.classes = classes if needs else ()
        self.codes = book.codes
        self._potentials = None if book.potentials is None else torch.from_numpy(book.potentials)

    @property
    def needs(self) -> tuple[str, ...]:
        """Suppressed attributes whose labels are used, and the column that names the person."""
        person = () if self.person is None or self.person in self._needs else (self.person,)
        return (*self._needs, *person)

    @property
    def label_needs(self) -> tuple[str, ...]:
        """The suppressed attributes, if their labels are used."""
        return self._needs

    def with_book(self, book: Codebook) -> CodebookModifier:
        """The same modifier with other codes or channel."""
        return CodebookModifier(book, self.key, self._needs, self.classes, self.person)

    def _probabilities(self, x: FloatArray, labels: Labels) -> FloatArray:
        w, book = self._outputs(x, labels), self.book
        if book.merge is not None:
            outputs, w = w, np.zeros((len(w), len(self.codes)), np.float32)
            for output, code in enumerate(book.merge):
                w[:, code] += outputs[:, output]
        if book.mix == 0:
            return w
        return (1 - np.float32(book.mix)) * w + np.float32(book.mix) * book.weights

    def _outputs(self, x: FloatArray, labels: Labels) -> FloatArray:
        """Probabilities of the reader's outputs, before codes are merged: (n, M)."""
        # The class is passed along as one more column.
        s = self.class_of(labels, len(x)).astype(np.float32)
        return in_fixed_blocks(self._work, np.column_stack([x, s]), outputs=len(self.book.reader))

    def _draw(self, x: FloatArray, labels: Labels) -> IntArray:
        merge = self.book.merge
        if merge is None or self.book.mix > 0:
            return super()._draw(x, labels)
        w = finite(self._outputs(x, labels))
        drawn: IntArray = merge[pick(w, self._uniforms(x, labels))]
        return drawn

    def _work(self, piece: Tensor) -> Tensor:
        x, s = piece[:, :-1].contiguous(), piece[:, -1].long()
        scores = self.book.reader.scores(x, s)
        if self._potentials is not None:
            scores = scores + self._potentials[s]
        return torch.softmax(scores, dim=1)

    def class_of(self, labels: Labels, n: int) -> IntArray:
        """The joint class of each record as numbered by the fit, (n,); 0 if none is needed."""
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
        self,
        x: FloatArray,
        labels: Labels | None = None,
        *,
        nonces: npt.NDArray[np.uint64] | None = None,
    ) -> FloatArray:
        """A synthetic member near the code: c_J + e spread, e standard normal, (n, d).

        e is derived from the key, the record and a nonce that differs between equal records. Equal
        records get different members, so a member reveals no more about its record than its code
        does. A nonce belongs to the row and not to its place: shuffled rows get the same members.
        Without nonces, equal records of x are numbered.
        """
        x, labels = self._checked(x, labels)
        if len(x) == 0:
            return np.empty((0, self.dimension), np.float32)
        nonces = counted(x) if nonces is None else nonces
        rows = with_nonces(x, nonces)
        noise = keyed_normal(other_key(self.key, "sample"), rows, len(self.book.spread))
        # einsum sums each record by itself; a matrix product rounds by the number of records.
        around = np.einsum("nk,kd->nd", noise, self.book.spread)
        made: FloatArray = self.codes[self.draw(x, labels)] + around
        return made

    def state(self) -> State:
        """The codes and the reader's arrays."""
        book = self.book
        arrays: State = {"codes": book.codes, "weights": book.weights, "spread": book.spread}
        if book.potentials is not None:
            arrays["potentials"] = book.potentials
        if book.merge is not None:
            arrays["merge"] = book.merge
        return arrays | {f"reader.{k}": v for k, v in book.reader.state().items()}

    def settings(self) -> dict[str, Any]:
        """The reader's kind, the labels that are needed, and their classes in order."""
        return {
            "reader": self.book.reader.kind,
            "sharpness": self.book.reader.sharpness,
            "mix": self.book.mix,
            "needs": list(self._needs),
            "classes": list(self.classes),
            "person": self.person,
        }

    @classmethod
    def from_state(cls, state: State, settings: dict[str, Any], key: bytes) -> CodebookModifier:
        """The modifier that was saved."""
        checked, arrays = checked_modifier(settings, CodebookSettings), Arrays(state)
        codes = arrays.take("codes", "C", "d")
        weights = arrays.take("weights", "C", least=0)
        spread = arrays.take("spread", "r", "d")
        merge = _merge(arrays, len(codes))
        potentials = None
        if checked.needs:
            arrays.expect("K", len(checked.classes))
        if arrays.has("potentials"):
            potentials = arrays.take("potentials", "K", "N")
        reader = READERS[checked.reader].from_arrays(arrays, checked.sharpness)
        if isinstance(reader, FoldedReader):
            reader = FoldedReader(reader.one, reader.two, key)
        arrays.close()
        if not 0.99 < float(weights.sum()) < 1.01:
            raise UserError(
                "array 'weights' of the modifier does not sum to 1; restore the bundle, or fit"
                " again"
            )
        book = Codebook(reader, codes, weights, potentials, checked.mix, spread, merge)
        return cls(book, key, checked.needs, checked.classes, checked.person)


def _merge(arrays: Arrays, codes: int) -> IntArray | None:
    """The code of each output of the reader, if codes were merged. Fixes the size N."""
    if not arrays.has("merge"):
        arrays.expect("N", codes)
        return None
    merge = arrays.take_any("merge", "N")
    whole = merge.dtype == np.int64 and np.array_equal(np.unique(merge), np.arange(codes))
    if not whole:
        raise UserError(
            f"array 'merge' of the modifier does not name each of the {codes:,} codes; restore the"
            " bundle, or fit again"
        )
    return np.array(merge)
