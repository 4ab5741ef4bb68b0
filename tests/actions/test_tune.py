"""`compare --tune`: settings are searched, the search resumes, and Optuna may be missing."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from support import of_world
from withhold.actions import compare_run
from withhold.actions.compare import CompareRequest, compare
from withhold.actions.tune import SETTINGS
from withhold.core.errors import UserError
from withhold.datasets.worlds import two_attributes
from withhold.methods import get_method


def request(folder: Path, **changes: Any) -> CompareRequest:
    data = folder / "world.parquet"
    if not data.exists():
        world = two_attributes(300, 3, separation_suppress=1, separation_preserve=3, seed=1)
        of_world(world).write(data)
    given: dict[str, Any] = {"data": data, "output": folder / "out", "suppress": "secret"}
    return CompareRequest(**given | {"tune": "noise", "budget": "secret<=80"} | changes)


@pytest.mark.slow
def test_a_search_finds_settings_and_resumes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("optuna")
    fits: list[float] = []
    whole = compare_run.fit_bundle

    def counted(*args: Any, **settings: Any) -> Any:
        fits.append(settings["config"].get("sigma", 0.0))
        return whole(*args, **settings)

    monkeypatch.setattr(compare_run, "fit_bundle", counted)
    first = compare(request(tmp_path, trials=2))
    assert len(fits) == 3  # the data as they are, and two settings
    assert [r.method for r in first.rows] == ["identity"] + ["noise"] * 2
    more = compare(request(tmp_path, trials=4))
    assert len(fits) == 5
    assert len(set(fits)) == 5  # a resumed search does not try the same settings again
    assert more.rows[:3] == first.rows
    best = more.best
    assert best is not None
    assert best.leak("secret").ci[1] <= 0.8
    able = [r for r in more.rows if more.within(r)]
    assert more.kept(best) == max(more.kept(r) or 0 for r in able)


def test_certified_fits_share_the_confidence(tmp_path: Path) -> None:
    from withhold.actions.compare import Comparing
    from withhold.core.progress import Silent

    pytest.importorskip("optuna")
    work = Comparing.of(request(tmp_path, tune="codebook", trials=10), Silent())
    assert work.confidence == pytest.approx(1 - 0.05 / 10)
    assert Comparing.of(request(tmp_path, tune=None), Silent()).confidence == pytest.approx(0.975)


def test_missing_optuna_says_how_to_install_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(UserError, match=r"pip install 'withhold\[tune\]'"):
        compare(request(tmp_path))


def test_every_searched_setting_is_one_of_the_method() -> None:
    class Middle:
        """A trial that suggests the lower end of every range."""

        def suggest_int(self, name: str, low: int, high: int, *, log: bool) -> int:
            return low

        def suggest_float(self, name: str, low: float, high: float, *, log: bool) -> float:
            return low

    for method, suggest in SETTINGS.items():
        trial: Any = Middle()
        get_method(method).config_type.model_validate(suggest(trial, 64))
