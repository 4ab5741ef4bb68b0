"""`compare`: the rows on worlds with known answers, resuming, and the time limit."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support import Interrupted, Recorder, of_world
from withhold.actions import compare_plans, compare_run
from withhold.actions.compare import CompareRequest, compare
from withhold.core.errors import UserError
from withhold.datasets.worlds import two_attributes
from withhold.datasets.worlds.census import census

QUICK = ("leace", "noise")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two independent attributes, both read in 97.7 % by the Bayes rule."""
    made = two_attributes(600, 4, separation_suppress=2, separation_preserve=2, seed=1)
    path = tmp_path_factory.mktemp("world") / "world.parquet"
    of_world(made).write(path)
    return path


def request(data: Path, output: Path, **changes: Any) -> CompareRequest:
    given: dict[str, Any] = {"data": data, "output": output, "suppress": "secret"}
    return CompareRequest(**given | {"methods": QUICK} | changes)


@pytest.fixture
def fits(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The methods that were fitted, in order."""
    made: list[str] = []
    whole: Callable[..., Any] = compare_run.fit_bundle

    def counted(*args: Any, **settings: Any) -> Any:
        made.append(settings["method"])
        return whole(*args, **settings)

    monkeypatch.setattr(compare_run, "fit_bundle", counted)
    return made


@pytest.mark.slow
def test_table_exact_is_at_the_floor_and_the_original_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compare_plans, "PARTS", ())
    pq.write_table(census(600, seed=2), tmp_path / "census.parquet")
    found = compare(
        CompareRequest(
            data=tmp_path / "census.parquet",
            output=tmp_path / "out",
            suppress="sex",
            methods=("exact",),
            read=("region", "income", "education"),
        )
    )
    assert found.kind == "table"
    assert [r.label for r in found.rows] == ["identity", "exact"]
    before, after = (r.leak("sex") for r in found.rows)
    # Other columns reveal sex in about 87 % (`census_bayes`); 360 records teach most of it.
    assert before.ci[0] > before.floor + 0.1
    assert before.proved is None
    assert after.ci[0] < after.floor
    assert after.accuracy < before.ci[0]
    assert after.proof == "these records"
    assert after.proved == pytest.approx(after.proved_floor, abs=1e-5)
    assert found.best == found.rows[1]
    assert 0 < (found.kept(found.rows[1]) or 0) < 1
    assert found.readable == ("region", "income", "education")


@pytest.fixture(scope="module")
def output(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that two tests share: the second finds the runs of the first."""
    return tmp_path_factory.mktemp("compared")


def test_features_rows_have_known_figures_and_files(world: Path, output: Path) -> None:
    found = compare(request(world, output))
    assert [r.label for r in found.rows] == [
        "identity",
        "leace",
        "noise, sigma 1",
        "noise, sigma 3",
    ]
    by = {r.label: r.leak("secret").accuracy for r in found.rows}
    assert by["identity"] > 0.93
    assert by["leace"] < 0.65  # the classes differ in their means only
    assert by["noise, sigma 3"] < by["noise, sigma 1"] < by["identity"]
    kept = {r.label: found.kept(r) or 0 for r in found.rows}
    assert kept["identity"] == 1
    assert kept["leace"] > 0.9
    assert kept["noise, sigma 3"] < 0.7
    assert found.best is None  # nothing is proved
    saved = json.loads((output / "compare.json").read_text())
    assert saved["rows"][1]["kept"] == kept["leace"]
    assert saved == json.loads(json.dumps(found.to_dict()))


def test_a_budget_marks_the_row_that_keeps_most_within_it(world: Path, output: Path) -> None:
    found = compare(request(world, output, budget="secret<=70"))
    assert found.best is not None
    assert found.best.label == "leace"
    loose = compare(request(world, output, budget="secret<=100"))
    assert loose.best is not None
    assert loose.best.label == "identity"


def test_resuming_repeats_no_fit(
    world: Path, tmp_path: Path, fits: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = compare_run.read_features

    def stop(*args: Any, **settings: Any) -> Any:
        if len(fits) == 3:
            raise Interrupted("the power went")
        return whole(*args, **settings)

    with monkeypatch.context() as patch:
        patch.setattr(compare_run, "read_features", stop)
        with pytest.raises(Interrupted):
            compare(request(world, tmp_path / "out", methods=("noise",)))
    assert fits == ["identity", "noise", "noise"]
    assert not (tmp_path / "out" / "compare.json").exists()
    first = compare(request(world, tmp_path / "out", methods=("noise",)))
    assert fits == ["identity", "noise", "noise", "noise"]
    again = compare(request(world, tmp_path / "out", methods=("noise",)))
    assert len(fits) == 4
    assert again == first
    compare(request(world, tmp_path / "out", preserve="useful", methods=("identity",)))
    assert fits[4:] == ["identity"]  # other roles: nothing of it may be reused


def test_the_time_limit_starts_no_further_row(world: Path, tmp_path: Path) -> None:
    said = Recorder()
    found = compare(request(world, tmp_path / "out", time_limit=1e-9), said)
    assert [r.label for r in found.rows] == ["identity"]
    assert found.not_run == ("leace", "noise, sigma 1", "noise, sigma 3")
    assert "not run, the time limit has passed: leace; noise, sigma 1" in said.text
    assert "noise, sigma 3" in (tmp_path / "out" / "compare.html").read_text()


def test_a_method_that_cannot_be_tried_is_skipped_with_a_reason(
    world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "concept_erasure", None)
    found = compare(request(world, tmp_path / "out", methods=("leace",)))
    assert found.rows[1].skipped == (
        "method 'leace' needs the package concept-erasure: pip install 'withhold[leace]'"
    )
    assert "withhold[leace]" in (tmp_path / "out" / "compare.html").read_text()


@pytest.mark.slow
def test_seeds_make_several_runs(world: Path, tmp_path: Path) -> None:
    found = compare(request(world, tmp_path / "out", methods=("leace",), seeds=2))
    assert [[run.seed for run in r.runs] for r in found.rows] == [[0, 1]] * 2
    erased = found.rows[1]
    assert erased.runs[0].leaks != erased.runs[1].leaks  # the attackers have other seeds
    assert found.kept_spread(erased) is not None


def test_the_page_fetches_nothing_and_escapes_names(world: Path, tmp_path: Path) -> None:
    table = pq.read_table(world)
    names = ["<script>x</script>" if n == "useful" else n for n in table.column_names]
    table = table.rename_columns(names)
    pq.write_table(table, tmp_path / "odd.parquet")
    compare(request(tmp_path / "odd.parquet", tmp_path / "out", methods=("leace",)))
    page = (tmp_path / "out" / "compare.html").read_text()
    assert "<script" not in page
    assert "&lt;script&gt;x&lt;/script&gt;" in page
    assert not re.search(r"https?://|url\(|@import|<link|<img|\bsrc=", page)
    assert "default-src 'none'" in page


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"suppress": "sectet"}, "did you mean 'secret'"),
        ({"methods": ("codebok",)}, "did you mean 'codebook'"),
        ({"budget": "useful<=60"}, "'useful' is not suppressed"),
        ({"read": ("secret",)}, "'secret' is suppressed"),
        ({"read": ("usefull",)}, "did you mean 'useful'"),
        ({"tune": "leace"}, "no settings of 'leace' can be searched"),
    ],
)
def test_mistakes_are_found_before_the_first_fit(
    world: Path, tmp_path: Path, fits: list[str], changes: dict[str, Any], why: str
) -> None:
    with pytest.raises(UserError, match=re.escape(why)):
        compare(request(world, tmp_path / "out", **changes))
    assert not fits
    assert not (tmp_path / "out").exists()


def test_without_another_attribute_nothing_is_marked(tmp_path: Path) -> None:
    made = two_attributes(200, 3, separation_suppress=2, separation_preserve=2, seed=1)
    table = made.attributes.drop_columns(["useful"])
    x = pa.FixedSizeListArray.from_arrays(pa.array(made.x.ravel()), 3)
    pq.write_table(table.append_column("x", x), tmp_path / "d.parquet")
    found = compare(request(tmp_path / "d.parquet", tmp_path / "out", budget="secret<=100"))
    assert found.best is None
    assert "what is left to use is not measured" in found.notes[0]
    assert "No other attribute can be read" in (tmp_path / "out" / "compare.html").read_text()
