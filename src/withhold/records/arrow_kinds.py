"""Kinds of Arrow types that have several widths."""

from __future__ import annotations

import pyarrow as pa


def is_list(kind: pa.DataType) -> bool:
    """Lists of any length, and of a fixed one."""
    types = pa.types
    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))


def is_text(kind: pa.DataType) -> bool:
    """Text."""
    types = pa.types
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def is_bytes(kind: pa.DataType) -> bool:
    """Bytes of any length, and of a fixed one."""
    types = pa.types
    sized = types.is_fixed_size_binary(kind)
    return bool(types.is_binary(kind) or types.is_large_binary(kind) or sized)


def is_number(kind: pa.DataType) -> bool:
    """Integers and floating-point numbers."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))
