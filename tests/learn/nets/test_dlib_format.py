"""Networks written as dlib writes them are read back exactly; nothing else is read."""

from __future__ import annotations

import math
import struct
from pathlib import Path

import numpy as np
import pytest

from withhold.core.errors import UserError
from withhold.learn.nets.dlib_format import parse_network, read_network


def integer(value: int) -> bytes:
    digits = abs(value).to_bytes(max(1, (abs(value).bit_length() + 7) // 8), "little")
    return bytes([len(digits) | (0x80 if value < 0 else 0)]) + digits


def integers(*values: int) -> bytes:
    return b"".join(map(integer, values))


def real(value: float) -> bytes:
    mantissa, exponent = math.frexp(value)
    return integers(int(mantissa * 2**24), exponent - 24)


def text(value: str) -> bytes:
    return integer(len(value)) + value.encode()


def tensor(*values: float) -> bytes:
    return integers(2, len(values), 1, 1, 1) + struct.pack(f"<{len(values)}f", *values)


def shape(*sizes: int) -> bytes:
    return integers(1, *sizes)


LEFT_BY_TRAINING = b"110" + 3 * integers(2, 0, 0, 0, 0)
HEAD = integer(1) + text("loss_metric_2") + real(0.04) + real(0.6)
INPUT = text("input_rgb_image_sized") + real(-2.5) + real(117.0) + real(2**-10)
CONVOLUTION = (
    text("con_4") + tensor(0.5, -2.0, 3.0, 4.0, 5.0, 6.0) + integers(2, 1, 2, 1, 1, 0, 1)
) + (shape(2, 1, 1, 2) + shape(1, 2, 1, 1) + 4 * real(1.0))
# From the input outwards; None is a tag, which holds nothing.
LAYERS = [
    CONVOLUTION,
    text("affine_") + tensor(7.0, 8.0, 9.0, 10.0) + 2 * shape(1, 2, 1, 1) + integer(0),
    None,
    text("relu_"),
    text("max_pool_2") + integers(3, 3, 2, 2, 0, 0),
    text("add_prev_"),
    text("avg_pool_2") + integers(0, 0, 1, 1, 0, 0),
    (text("fc_2") + integers(1, 2) + tensor(11.0, 12.0) + shape(2, 1, 1, 1) + shape(0, 0, 0, 0))
    + (integer(1) + 4 * real(1.0)),
]


def network(*layers: bytes | None, head: bytes = HEAD, start: bytes = INPUT) -> bytes:
    """A network of these layers as dlib writes it: versions inwards, then details outwards."""
    versions = [3, *(1 if layer is None else 2 for layer in layers[1:])]
    details = [b"" if layer is None else layer + LEFT_BY_TRAINING for layer in layers]
    details[0] += integer(1)
    return b"".join([head, integers(*reversed(versions)), start, integers(150, 300), *details])


def test_layers_come_input_first_with_their_numbers() -> None:
    layers = parse_network(network(*LAYERS), "net.dat")
    assert [(layer.kind, layer.settings) for layer in layers] == [
        ("input", (150, 300)),
        ("con", (2, 1, 2, 1, 1, 0, 1)),
        ("affine", ()),
        ("tag", ()),
        ("relu", ()),
        ("max_pool", (3, 3, 2, 2, 0, 0)),
        ("add_prev", ()),
        ("avg_pool", (0, 0, 1, 1, 0, 0)),
        ("fc", (1, 2)),
    ]
    arrays = {layer.kind: [array.tolist() for array in layer.arrays] for layer in layers}
    assert arrays["input"] == [[-2.5, 117.0, 2**-10]]
    assert arrays["con"] == [[[[[0.5, -2.0]]], [[[3.0, 4.0]]]], [5.0, 6.0]]
    assert arrays["affine"] == [[7.0, 8.0], [9.0, 10.0]]
    assert arrays["fc"] == [[[11.0], [12.0]]]


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "ends early"),
        (b"\x89PNG\r\n\x1a\n", "integer was expected"),
        (network(*LAYERS) + b"\0", "left over"),
        (network(*LAYERS, head=integer(1) + text("loss_mmod_") + 2 * real(1.0)), "'loss_mmod_'"),
        (network(*LAYERS, head=integer(1) + integer(1 << 40)), "name was expected"),
        (network(*LAYERS, start=text("input_rgb_image")), "'input_rgb_image'"),
        (network(*LAYERS, start=INPUT.replace(real(-2.5), integers(1, 32000))), "of range"),
        (network(text("con_9")), "layer 'con_9' is not known"),
        (network(text("affine_") + tensor(1.0, math.nan)), "not finite"),
        (network(text("affine_") + integers(2, 1 << 19, 1 << 19, 1 << 19, 1)), "ends early"),
        (network(text("affine_") + integers(2, -1, -1, 1, 1)), "size is out of range"),
        (network(text("affine_") + tensor(1.0) + 2 * shape(1, 1, 1, 1)), "do not fit"),
        (HEAD + 2000 * integer(2), "too many layers"),
    ],
)
def test_another_file_is_refused_in_one_line(data: bytes, why: str) -> None:
    with pytest.raises(UserError, match=why) as error:
        parse_network(data, "net.dat")
    assert str(error.value).startswith("net.dat is no network of dlib")
    assert "\n" not in str(error.value)


def test_a_file_cut_anywhere_is_refused() -> None:
    whole = network(*LAYERS)
    for length in range(len(whole)):
        with pytest.raises(UserError):
            parse_network(whole[:length], "net.dat")


def test_a_flipped_bit_is_read_or_refused_and_nothing_else() -> None:
    whole = network(*LAYERS)
    refused = 0
    for at in range(8 * len(whole)):
        data = bytearray(whole)
        data[at // 8] ^= 1 << at % 8
        try:
            parse_network(bytes(data), "net.dat")
        except UserError:
            refused += 1
    # Most bytes are structure; what flips unseen is a weight, a mean or a multiplier.
    assert refused > 4 * len(whole)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "absent.dat"):
        with pytest.raises(UserError, match=r"cannot be read"):
            read_network(path)
    (tmp_path / "net.dat").write_bytes(network(*LAYERS))
    assert np.array_equal(read_network(tmp_path / "net.dat")[1].arrays[1], [5.0, 6.0])
