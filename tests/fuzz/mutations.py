"""Small damages to bytes, each a plain tuple so that hypothesis can shrink a list of them."""

from __future__ import annotations

import random
import struct
from collections.abc import Sequence

# (what is done, where as a share of the length, a number that says how)
Mutation = tuple[str, float, int]

OPERATIONS = (
    "flip", "byte", "word16", "word32", "word64", "cut", "remove", "repeat", "move", "digits",
    "insert", "long",
)  # fmt: skip
# What breaks readers: ends of ranges, and signs that mean something in some format.
_NUMBERS = (
    0,
    1,
    0x7F,
    0x80,
    0xFF,
    0x7FFF,
    0xFFFF,
    2**31 - 1,
    2**31,
    2**32 - 1,
    2**63 - 1,
    2**64 - 1,
)
_DIGITS = (b"-1", b"0", b"99999999999", b"1e400", b"nan", b"-", b"1.5", b"9" * 400)
_TOKENS = (
    b"\x00", b"\xff\xfe", b"\n", b'"', b",", b"[[[[", b"{{{{", b"]", b"}", b"\\ud800", b"../",
    b"/dev/zero", b"\xed\xa0\x80", b"&a [*a]", b"!!int x", b"\xef\xbb\xbf", b"\x1b[2J", b"(",
    b"'|O'", b"\r", b"{}", b"*",
)  # fmt: skip


def apply(data: bytes, mutations: Sequence[Mutation]) -> bytes:
    """The bytes with all damages done, in order."""
    for operation, where, number in mutations:
        data = _one(data, operation, min(int(where * len(data)), max(len(data) - 1, 0)), number)
    return data[: 2**22]


def draw(rng: random.Random) -> list[Mutation]:
    """A few damages, most often one or two."""
    count = rng.choice((1, 1, 1, 1, 2, 2, 3, 8))
    kinds = rng.choice((OPERATIONS, OPERATIONS[:5], ("flip", "byte", "digits", "insert")))
    return [(rng.choice(kinds), _place(rng), rng.getrandbits(32)) for _ in range(count)]


def _place(rng: random.Random) -> float:
    """Headers and footers say more than what lies between them."""
    return rng.choice((rng.random(), rng.random() ** 4, 1 - rng.random() ** 4)) * 0.999999


def _one(data: bytes, operation: str, at: int, number: int) -> bytes:
    size = 1 + number % 16
    value = _NUMBERS[number % len(_NUMBERS)]
    match operation:
        case "flip" if data:
            return data[:at] + bytes([data[at] ^ (1 << number % 8)]) + data[at + 1 :]
        case "byte":
            return data[:at] + bytes([number % 256]) + data[at + 1 :]
        case "word16" | "word32" | "word64":
            form = {"word16": "H", "word32": "I", "word64": "Q"}[operation]
            order = "<" if number & 1024 else ">"
            word = struct.pack(order + form, value % 2 ** (8 * struct.calcsize(form)))
            return data[:at] + word + data[at + len(word) :]
        case "cut":
            return data[:at]
        case "remove":
            return data[:at] + data[at + size :]
        case "repeat":
            return data[:at] + data[at : at + size * 4] * (1 + number % 50) + data[at:]
        case "move":
            to = number % (len(data) + 1)
            piece, rest = data[at : at + size * 4], data[:at] + data[at + size * 4 :]
            return rest[:to] + piece + rest[to:]
        case "digits":
            return _replace_number(data, at, _DIGITS[number % len(_DIGITS)])
        case "insert":
            return data[:at] + _TOKENS[number % len(_TOKENS)] + data[at:]
        case "long":
            token = _TOKENS[number % len(_TOKENS)]
            return data[:at] + token * (1 + number % 5000) + data[at:]
    return data


def _replace_number(data: bytes, at: int, by: bytes) -> bytes:
    """The next run of digits after a place becomes another number."""
    start = next((i for i in range(at, len(data)) if data[i : i + 1].isdigit()), None)
    if start is None:
        return data
    end = start
    while end < len(data) and data[end : end + 1].isdigit():
        end += 1
    return data[:start] + by + data[end:]
