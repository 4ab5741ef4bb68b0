"""The quickstarts run as they are written, on data that they make themselves."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from docs.page_commands import blocks, commands
from withhold.cli.main import outcome

# Fewer records and codes than on the page, which is about three times as slow.
SMALLER = {"census(3000": "census(600", "speakers=12, takes=10": "speakers=6, takes=10"}
QUICKLY = {"release": ["--set", "codes=8", "--set", "rounds=1", "--set", "exact_rounds=1"]}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("page", "secret", "kept"),
    [("quickstart-tables.md", "sex", "income"), ("quickstart-embeddings.md", "speaker", "digit")],
)
def test_a_quickstart_ends_with_a_folder_and_a_proof(
    page: str, secret: str, kept: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    first, last = (_smaller(text) for text in blocks(page, "python"))
    names: dict[str, object] = {}
    exec(compile(first, page, "exec"), names)
    for command in commands(page):
        assert outcome([*command, *QUICKLY.get(command[0], [])]) == 0
    folder = tmp_path / commands(page)[-1][commands(page)[-1].index("-o") + 1]
    said = json.loads((folder / "certificate.json").read_text())["attributes"][secret]["release"]
    assert said["plan"]["one"] == pytest.approx(said["floor"], abs=1e-6)
    assert {"README.md", "report.html", "audit.json"} < {p.name for p in folder.iterdir()}
    assert not any("bundle" in p.name or "rows" in p.name for p in folder.iterdir())
    exec(compile(last, page, "exec"), names)
    table = names["release"].table  # type: ignore[attr-defined]
    assert kept in table.column_names
    assert secret not in table.column_names


def _smaller(text: str) -> str:
    for page, test in SMALLER.items():
        text = text.replace(page, test)
    return text
