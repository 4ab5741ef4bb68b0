"""Signatures: only the same key and the same payload verify."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from withhold.core.signature import (
    canonical,
    keyed_digest,
    sign,
    sign_fields,
    verify,
    verify_fields,
)

KEY = bytes(range(32))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


@given(st.binary(), st.binary(), st.binary(min_size=32, max_size=32))
def test_a_signature_holds_for_one_key_and_one_payload(a: bytes, b: bytes, key: bytes) -> None:
    """Any other payload, and any other key, is refused."""
    assert verify(KEY, a, sign(KEY, a))
    assert verify(KEY, a, sign(KEY, b)) == (a == b)
    assert verify(key, a, sign(KEY, a)) == (key == KEY)


@pytest.mark.parametrize("odd", [None, "", "é" * 64, "0" * 64, 5])
def test_what_is_no_signature_is_refused_and_does_not_fail(odd: Any) -> None:
    """A field of a file may hold anything."""
    assert not verify(KEY, b"payload", odd)


def test_a_signature_stays_the_same_between_versions() -> None:
    """A certificate signed today verifies tomorrow."""
    assert sign(KEY, b"withhold").startswith("07176892053f9a85")
    assert canonical({"b": [1.5, None], "a": "ö"}) == b'{"a":"\\u00f6","b":[1.5,null]}'


@given(st.dictionaries(st.text(), JSON, max_size=4), st.text(), JSON)
def test_a_signed_object_may_be_reordered_but_not_edited(
    found: dict[str, Any], name: str, value: Any
) -> None:
    """The signature covers every field but itself."""
    signed = found | {"signature": sign_fields(KEY, found)}
    assert verify_fields(KEY, dict(reversed(signed.items())))
    edited = signed | {name: value}
    same = name == "signature" or canonical(edited) == canonical(signed)
    assert verify_fields(KEY, edited) == (same and edited["signature"] == signed["signature"])
    assert not verify_fields(KEY, found | {"signature": None})


def test_a_published_digest_cannot_be_compared_without_the_key() -> None:
    """It is neither the digest itself nor the same under another key."""
    plain = "ab" * 32
    assert keyed_digest(KEY, plain) == keyed_digest(KEY, plain)
    assert len({plain, keyed_digest(KEY, plain), keyed_digest(KEY[::-1], plain)}) == 3
