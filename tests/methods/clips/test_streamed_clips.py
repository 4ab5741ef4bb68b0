"""A fit whose clips are in a file gives the bytes of one whose clips are in memory."""

from __future__ import annotations

import numpy as np
import pytest

from methods.clips.toy_clips import fitted
from support import key_of
from withhold.media import clip_tensor


@pytest.mark.parametrize("method", ["spact", "adversarial"])
def test_a_fit_from_a_file_is_the_same(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    in_memory = fitted(method, key=key_of(0)).modifier.state()
    monkeypatch.setattr(clip_tensor, "IN_MEMORY", 1)
    monkeypatch.setattr(clip_tensor, "MOST_BYTES", 1)
    from_file = fitted(method, key=key_of(0)).modifier.state()
    assert in_memory.keys() == from_file.keys()
    for name, array in in_memory.items():
        np.testing.assert_array_equal(array, from_file[name], err_msg=name)
