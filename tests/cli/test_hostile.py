"""Files made to harm: every command refuses them with one line and code 2."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from release_support import write_picture
from withhold.core.errors import UserError
from withhold.records.readers import open_media

FIT = ("fit", "data.parquet", "--suppress", "secret", "-o", "b")
CHAIN = list(pairwise("abcdefghijklmnopq"))

DEVICES = ["d.parquet", "d.csv", "d.npz"]


@pytest.mark.parametrize("name", DEVICES)
def test_a_device_behind_a_link_is_refused(cli, place, name):
    Path(name).symlink_to("/dev/zero")
    for command in (
        ("inspect", name),
        ("fit", name, "--suppress", "a", "-o", "new"),
        ("audit", name, "--suppress", "a", "-o", "new"),
        ("extract", name, "--extractor", "pixels", "-o", "new.parquet"),
    ):
        assert "device, not a file" in cli(*command).mistake


def test_settings_and_lists_that_are_devices(cli, place):
    Path("zero.yaml").symlink_to("/dev/zero")
    assert "device, not a file" in cli(*FIT, "--config", "zero.yaml").mistake
    assert "no such recipe" in cli("bench", "zero.yaml").mistake


def chain(link: str) -> str:
    """Sixteen lines, each of which names the one before three times: 3^16 values."""
    return "a: &a {x: 1}\n" + "".join(f"{n}: &{n} {link.replace('@', f'*{p}')}\n" for p, n in CHAIN)


BOMBS = {
    chain("[@, @, @]"): "after expanding aliases",
    chain("{<<: [@, @, @]}"): "after expanding aliases",
    "a: &a [*a]": "an alias that contains itself",
    "a: " + "[" * 70 + "]" * 70: "nested more than 64",
    "a: " + "[" * 5_000: "nested more than 64",
    "a: 2024-13-40": "is not YAML",
    "a: !!int x": "is not YAML",
    "a: !!timestamp x": "is not YAML",
    'a: "\\ud800"': "is not YAML",
    "a: " + "1:" * 5000 + "1": "a number or date of 10,001 characters",
    "a: " + "x" * 2**20: "larger than",
}


@pytest.mark.parametrize("told", sorted(set(BOMBS.values())))
def test_settings_that_are_bombs(cli, place, told):
    for text in (text for text, words in BOMBS.items() if words == told):
        Path("c.yaml").write_text(text)
        assert told in cli(*FIT, "--config", "c.yaml").mistake
        assert told in cli("bench", "c.yaml").mistake


@pytest.fixture
def table(place):
    """A table that names a file beside its folder."""
    Path("in").mkdir()
    Path("secret.txt").write_text("what nobody is to read")
    Path("in/list.csv").write_text("path,secret\n../secret.txt,1\n")
    return "in/list.csv"


@pytest.mark.parametrize(
    "command",
    [
        ("extract", "in/list.csv", "-o", "new.parquet"),
        ("fit", "in/list.csv", "--method", "blur", "--suppress", "secret", "-o", "new"),
        ("fit", "in/list.csv", "--method", "white-noise", "--suppress", "secret", "-o", "new"),
        ("audit", "in/list.csv", "--extractor", "logmel", "--suppress", "secret", "-o", "new"),
    ],
)
def test_a_table_that_leads_out_of_its_folder(cli, table, command):
    told = cli(*command).mistake
    assert "list.csv, row 0" in told
    assert "'../secret.txt'" in told
    assert "--allow-outside" in told
    assert "leads out" not in cli(*command, "--allow-outside").err
    with pytest.raises(UserError, match="row 0"):
        open_media(table, "text")


def test_a_bundle_does_not_allow_what_its_fit_was_allowed(cli, place):
    for i in range(3):
        write_picture(Path(f"{i}.png"), seed=i)
    Path("in").mkdir()
    Path("in/list.csv").write_text("path,who\n" + "".join(f"../{i}.png,{i}\n" for i in range(3)))
    fit = ("fit", "in/list.csv", "--method", "blur", "--suppress", "who", "-o", "blur", "-q")
    assert "row 0" in cli(*fit).mistake
    assert cli(*fit, "--allow-outside").code == 0
    release = ("transform", "blur", "in/list.csv", "-o", "out", "-q")
    assert "list.csv, row 0" in cli(*release).mistake
    assert not Path("out").exists()
    assert cli(*release, "--allow-outside").code == 0
    assert len(list(Path("out").glob("*.png"))) == 3


def test_words_of_a_file_do_not_steer_the_terminal(cli, place):
    Path("e.csv").write_text("x,y\n1,2\n")
    told = cli("fit", "e.csv", "--suppress", "\x1b[2J\x07evil", "-o", "b").mistake
    assert told.isprintable()
    assert "evil" in told
