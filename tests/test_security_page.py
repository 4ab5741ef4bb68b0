"""docs/security.md names only tests and benches that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from withhold.bench.recipe import recipe_names

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "security.md").read_text()
NAMED = sorted(set(re.findall(r"`(tests/[\w/]+\.py(?:::\w+)?)`", PAGE)))


def test_it_names_tests() -> None:
    assert len(NAMED) > 40


@pytest.mark.parametrize("name", NAMED)
def test_every_test_exists(name: str) -> None:
    file, _, function = name.partition("::")
    text = (ROOT / file).read_text()
    assert re.search(rf"def {function or 'test_'}", text)
    if function:
        assert f"def {function}(" in text


def test_every_bench_exists() -> None:
    named = set(re.findall(r"bench `([\w-]+)`", PAGE))
    assert named
    assert named <= {name for name, _ in recipe_names()}


@pytest.mark.parametrize("item", [*(f"A{i}" for i in range(1, 9)), *(f"B{i}" for i in range(1, 7))])
def test_every_threat_has_a_row(item: str) -> None:
    assert f"({item})" in PAGE


def test_every_row_has_four_cells() -> None:
    rows = [line for line in PAGE.splitlines() if line.startswith("|")]
    assert {line.count("|") for line in rows} == {5}
