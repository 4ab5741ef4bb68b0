"""dlib's serialised networks: a file of bytes to a list of layers, input first.

    network = 1 loss version_1 .. version_n input details_n .. details_1

A dlib network is a nest of templates, the loss outermost, written as it is nested: first the
versions of all layers on the way in to the input, then what each holds on the way out. A version of
1 is a tag or a skip, which holds nothing; 2 is a layer; 3 is the layer beside the input.

Numbers are packed: one byte with the count of bytes (its top bit is the sign), then those bytes,
little end first. A real number is two of them, m 2^e; tensors are plain little-endian float32.
Nothing of the file is run, and no size in it is believed before the bytes are known to be there.
"""

from __future__ import annotations

import errno
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from withhold.core.errors import UserError
from withhold.core.safe_read import read_bounded

FloatArray = npt.NDArray[np.float32]
# Far above any network this module can read, so that a file of another kind is not read whole.
_MOST_BYTES = 1 << 28
_MOST_LAYERS = 1000
_MOST_SIZE = 1 << 20
_LONGEST_NAME = 64


@dataclass(frozen=True, eq=False)
class Layer:
    """One layer as it was written.

    `kind`       `settings`                                       `arrays`
    input        rows, columns                                    mean of R, G, B (3,)
    con          filters, rows, columns, 2 strides, 2 paddings    weight (n, k, r, c), bias (n,)
    affine                                                        scale (n,), shift (n,)
    max_pool     rows, columns, 2 strides, 2 paddings
    avg_pool     the same; 0 rows and columns take everything
    fc           outputs, inputs                                  weight (inputs, outputs)
    relu, add_prev, tag (or skip)
    """

    kind: str
    settings: tuple[int, ...] = ()
    arrays: tuple[FloatArray, ...] = ()


def read_network(path: Path) -> list[Layer]:
    """The layers of the network in a file, input first."""
    try:
        data = read_bounded(path, _MOST_BYTES)
    except OSError as error:
        if error.errno == errno.EFBIG:
            raise UserError(
                f"{path} is no network of dlib that can be read: it is too large"
            ) from error
        raise UserError(f"weights {path} cannot be read: {error.strerror or error}") from error
    return parse_network(data, str(path))


def parse_network(data: bytes, source: str) -> list[Layer]:
    """The layers of a serialised network, input first; `source` is named in an error."""
    stream = _Stream(data, source)
    stream.expect(stream.integer(), 1, "version of the loss")
    stream.expect(stream.name(), "loss_metric_2", "loss")
    stream.reals(2)

    versions = [stream.integer()]
    while versions[-1] in (1, 2):
        if len(versions) == _MOST_LAYERS:
            raise stream.failure("it has too many layers")
        versions.append(stream.integer())
    stream.expect(versions[-1], 3, "version of the first layer")

    stream.expect(stream.name(), "input_rgb_image_sized", "input")
    mean = np.array(stream.reals(3), dtype=np.float32)
    layers = [Layer("input", stream.integers(2), (mean,))]
    for version in reversed(versions):
        if version == 1:
            layers.append(Layer("tag"))
            continue
        layers.append(_details(stream))
        # What training left behind: three flags and three tensors of gradients and outputs.
        for _ in range(3):
            stream.flag()
        for _ in range(3):
            stream.tensor()
        if version == 3:
            stream.expect(stream.integer(), 1, "number of samples an image")
    stream.end()
    return layers


def _details(stream: _Stream) -> Layer:
    """What one layer holds, beginning with its name."""
    name = stream.name()
    match name:
        case "con_4":
            values = stream.tensor()
            settings = stream.integers(7)
            arrays = stream.parts(values, [stream.shape(), stream.shape()])
            stream.reals(4)
            return Layer("con", settings, (arrays[0], arrays[1].reshape(-1)))
        case "affine_":
            values = stream.tensor()
            arrays = stream.parts(values, [stream.shape(), stream.shape()])
            stream.expect(stream.integer(), 0, "mode of affine")
            return Layer("affine", (), (arrays[0].reshape(-1), arrays[1].reshape(-1)))
        case "max_pool_2" | "avg_pool_2":
            return Layer(name.removesuffix("_2"), stream.integers(6))
        case "fc_2":
            settings = stream.integers(2)
            values = stream.tensor()
            weight, _ = stream.parts(values, [stream.shape(), stream.shape()])
            stream.expect(weight.shape[2:].count(1), 2, "number of flat axes of fc")
            stream.expect(stream.integer(), 1, "mode of fc (1 is without bias)")
            stream.reals(4)
            return Layer("fc", settings, (weight[:, :, 0, 0],))
        case "relu_" | "add_prev_":
            return Layer(name.removesuffix("_"))
    raise stream.failure(f"layer '{name}' is not known")


class _Stream:
    """The bytes of a file, read from the front; every read is checked against what is left."""

    def __init__(self, data: bytes, source: str) -> None:
        self._data, self._source, self._at = data, source, 0

    def failure(self, why: str) -> UserError:
        return UserError(
            f"{self._source} is no network of dlib that can be read:"
            f" {why} (byte {self._at}); install its package again"
        )

    def expect(self, found: int | str, wanted: int | str, what: str) -> None:
        """Refuse what this module would misread."""
        if found != wanted:
            raise self.failure(f"{what} is {found!r} where {wanted!r} was expected")

    def end(self) -> None:
        """Nothing may follow."""
        if self._at != len(self._data):
            raise self.failure("there are bytes left over")

    def integer(self) -> int:
        """A packed integer of at most 64 bits."""
        head = self._take(1)[0]
        size = head & 0x0F
        if head & 0x70 or not 1 <= size <= 8:
            raise self.failure("an integer was expected")
        value = int.from_bytes(self._take(size), "little")
        return -value if head & 0x80 else value

    def integers(self, count: int) -> tuple[int, ...]:
        return tuple(self.integer() for _ in range(count))

    def reals(self, count: int) -> tuple[float, ...]:
        """Real numbers m 2^e that float32 can hold; infinities have a huge exponent."""
        numbers = []
        for _ in range(count):
            mantissa, exponent = self.integers(2)
            if not -900 <= exponent <= 64:
                raise self.failure("a number is out of range")
            numbers.append(math.ldexp(mantissa, exponent))
        return tuple(numbers)

    def name(self) -> str:
        length = self.integer()
        if not 1 <= length <= _LONGEST_NAME:
            raise self.failure("a name was expected")
        return self._take(length).decode("ascii", errors="replace")

    def flag(self) -> bool:
        byte = self._take(1)
        if byte not in (b"0", b"1"):
            raise self.failure("a yes or no was expected")
        return byte == b"1"

    def shape(self) -> tuple[int, ...]:
        """The shape of a part of a tensor: (samples, channels, rows, columns)."""
        self.expect(self.integer(), 1, "version of a shape")
        return self._sizes()

    def tensor(self) -> FloatArray:
        """A tensor, flat: whoever reads it knows its parts."""
        self.expect(self.integer(), 2, "version of a tensor")
        values = np.frombuffer(self._take(4 * math.prod(self._sizes())), dtype="<f4")
        if not np.isfinite(values).all():
            raise self.failure("a weight is not finite")
        return values.astype(np.float32, copy=False)

    def parts(self, values: FloatArray, shapes: list[tuple[int, ...]]) -> list[FloatArray]:
        """A flat tensor cut into arrays of `shapes`, which must fill it."""
        sizes = [math.prod(shape) for shape in shapes]
        if sum(sizes) != values.size:
            raise self.failure("the shapes of a layer do not fit its weights")
        cuts = np.split(values, np.cumsum(sizes)[:-1])
        return [cut.reshape(shape) for cut, shape in zip(cuts, shapes, strict=True)]

    def _sizes(self) -> tuple[int, ...]:
        sizes = self.integers(4)
        if min(sizes) < 0 or max(sizes) > _MOST_SIZE:
            raise self.failure("a size is out of range")
        return sizes

    def _take(self, count: int) -> bytes:
        if count > len(self._data) - self._at:
            raise self.failure("it ends early")
        self._at += count
        return self._data[self._at - count : self._at]
