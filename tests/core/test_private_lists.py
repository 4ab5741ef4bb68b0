"""Lists for people beside a release: who may read them, and what a spreadsheet makes of them."""

from __future__ import annotations

import csv
import io
import os
import stat
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from media_support import constant, write_wav
from release_support import bundle_of, people
from withhold.core.lists import as_cell, as_csv, from_cell
from withhold.core.progress import Silent
from withhold.media.folder_sink import names_path
from withhold.media.pipeline import Skipped
from withhold.media.to_file import list_skipped
from withhold.records.readers import open_media
from withhold.records.writers.row_list import read_rows, write_rows
from withhold.release.media_stream import release_media
from withhold.release.wishes import Wishes

FORMULAS = ["=1+1", "+cmd", "-cmd", "@SUM(A1)", "\t=1", "\r=1", "-1+2", "+", "＝1", "-a.png"]


@pytest.fixture(params=[0o000, 0o022])
def umask(request: pytest.FixtureRequest):
    old = os.umask(request.param)
    yield
    os.umask(old)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("name", ["release.rows.csv", "release.rows.parquet"])
def test_lists_of_who_is_who_are_for_their_owner_alone(tmp_path: Path, umask, name) -> None:
    path = tmp_path / name
    path.touch(mode=0o666)  # an older list that anyone can read
    (tmp_path / "release.parquet").write_bytes(b"a release")
    write_rows(path, np.array([2, 0, 1]), tmp_path / "release.parquet", None)
    assert mode(path) == 0o600
    assert read_rows(path).tolist() == [2, 0, 1]


def test_names_of_files_are_for_their_owner_alone(tmp_path: Path, umask) -> None:
    bundle, collection = bundle_of(people(tmp_path / "faces"), pattern="{person}_{pose}.png")
    names_path(tmp_path / "out").touch(mode=0o666)  # an older list that anyone can read
    release_media(bundle, collection, tmp_path / "out", wishes=Wishes(), progress=Silent())
    assert mode(names_path(tmp_path / "out")) == 0o600


@pytest.mark.parametrize("text", FORMULAS)
def test_no_cell_of_a_list_is_a_formula(tmp_path: Path, text: str) -> None:
    assert as_cell(text) == f"'{text}"
    listed = list_skipped([Skipped(0, text, text)], tmp_path / "x.errors.csv")
    assert listed is not None
    with listed.open(newline="") as file:
        assert list(csv.reader(file))[1] == [f"'{text}", f"'{text}"]


@pytest.mark.parametrize("text", ["-5", "+1.5e3", "-.5", "a=b", "", "anna.png", " =1", "0"])
def test_numbers_and_words_stay(text: str) -> None:
    assert as_cell(text) == text


@given(st.text())
def test_cells_are_read_back(text: str) -> None:
    assert from_cell(as_cell(text)) == text
    assert not as_cell(text).startswith(("=", "@", "\t", "\r"))
    rows = list(csv.DictReader(io.StringIO(as_csv(["a"], [{"a": "x"}]).decode(), newline="")))
    assert rows == [{"a": "x"}]


def test_a_list_of_names_gives_the_names_back(tmp_path: Path) -> None:
    write_wav(tmp_path / "r" / "00000000.wav", constant(0.1))
    names = as_csv(
        ["released", "original"], [{"released": "00000000.wav", "original": "-anna_3.wav"}]
    )
    (tmp_path / "r.names.csv").write_bytes(names)
    assert b"'-anna" in names
    found = open_media(
        tmp_path / "r", "sound", pattern="{who}_{n}.wav", names=tmp_path / "r.names.csv"
    )
    assert found.labels()["who"].to_pylist() == ["-anna"]
