"""Which frames make a window: known places, and properties for every length of video."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from withhold.media.windows import Window, centre_window, equidistant_windows
from withhold.records.samples import BadMedia

LENGTHS = st.integers(16, 400)


def test_a_window_names_its_frames() -> None:
    window = Window(5, frames=4, step=3)
    assert list(window.numbers) == [5, 8, 11, 14]
    assert (window.last - window.first + 1, window.last, window.centre) == (10, 14, 9)


def test_the_windows_of_a_known_video() -> None:
    assert centre_window(41, 16, 2) == Window(5, 16, 2)
    assert [w.first for w in equidistant_windows(121, 10, 16, 2)] == list(range(0, 91, 10))
    assert equidistant_windows(41, 1) == [centre_window(41)]


@given(LENGTHS, st.integers(2, 12))
def test_equidistant_windows_reach_from_the_start_to_the_end(count: int, n: int) -> None:
    windows = equidistant_windows(count, n)
    assert len(windows) == n
    assert windows[0].first == 0
    assert windows[-1].last == count - 1
    gaps = [b.first - a.first for a, b in pairwise(windows)]
    assert max(gaps) - min(gaps) <= 1


@given(LENGTHS, st.integers(1, 5))
def test_the_step_falls_only_as_far_as_it_must(count: int, step: int) -> None:
    window = centre_window(count, 16, step)
    assert window.last < count
    assert window.step == step or 15 * (window.step + 1) + 1 > count
    # As many frames before it as behind it, or one fewer.
    assert count - 1 - window.last - window.first in (0, 1)


@pytest.mark.parametrize(("count", "words"), [(5, "5 frames"), (1, "1 frame"), (0, "0 frames")])
def test_too_few_frames_are_refused(count: int, words: str) -> None:
    with pytest.raises(BadMedia, match=f"^{words}, 16 are needed$"):
        equidistant_windows(count)
    with pytest.raises(BadMedia, match="16 are needed"):
        centre_window(count)
