"""The page in a real browser: opened from disk, it asks for nothing, and names stay names."""

from __future__ import annotations

import html
import json
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

from report import samples
from report.reading import Page
from report.samples import IMG
from withhold.report import render

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--hide-scrollbars"),
    *("--disable-quic", "--disable-background-networking", "--disable-component-update"),
    *("--disable-sync", "--disable-default-apps", "--disable-extensions"),
    # What the browser asks its maker for must not leave this machine either.
    "--host-resolver-rules=MAP * ~NOTFOUND",
    *("--enable-logging=stderr", "--v=0", "--virtual-time-budget=3000", "--dump-dom"),
)
POLICY = "default-src 'none'; style-src 'unsafe-inline'"
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium, chromium-browser or chrome")


class Visit(NamedTuple):
    """What a browser made of a page."""

    dom: str
    console: list[str]
    requests: set[str]


def visit(source: str, folder: Path) -> Visit:
    """Open the page from disk: its DOM, its console, and every address that the page asked for."""
    assert CHROMIUM is not None
    file, log = folder / "report.html", folder / "net.json"
    file.write_text(source, encoding="utf-8")
    command = [
        CHROMIUM,
        *FLAGS,
        "--window-size=1400,900",
        f"--user-data-dir={folder / 'profile'}",
        f"--log-net-log={log}",
        file.as_uri(),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    console = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    events = [event.get("params", {}) for event in json.loads(log.read_text())["events"]]
    # A page has an origin, even one from disk; what the browser asks on its own account has none.
    asked = {e["url"] for e in events if e.get("initiator", "not an origin") != "not an origin"}
    return Visit(done.stdout, console, asked)


def unguarded(source: str, script: str) -> str:
    """The page without its security policy, and with a script that runs before anything else."""
    assert POLICY in source
    return source.replace(POLICY, "").replace("<head>", f"<head><script>{script}</script>")


# A dialog opens before anyone could see it in a browser without a screen: it leaves a mark instead.
MARK = "window.alert = () => { document.documentElement.dataset.opened = 'yes' }"


def test_nothing_leaves_and_the_console_is_clean(tmp_path: Path) -> None:
    seen = visit(render(samples.voices()), tmp_path)
    assert "Do not release this" in seen.dom
    assert seen.requests == set()
    assert seen.console == []


def test_a_hostile_name_is_text(tmp_path: Path) -> None:
    """By escaping alone: the policy, a second door, is open."""
    seen = visit(unguarded(render(samples.hostile(), title=IMG), MARK), tmp_path)
    page = Page(seen.dom)
    assert not list(page.all("img"))
    assert page.text.count(IMG) > 20
    assert "data-opened" not in seen.dom
    assert seen.requests == set()
    assert seen.console == []


def test_what_the_tests_above_would_see(tmp_path: Path) -> None:
    """The control: a page that does ask, open a dialog and speak."""
    address = "http://127.0.0.1:9/x.png"
    bad = f'{IMG}<img src="{address}"><script>console.log("spoken")</script></main>'
    seen = visit(unguarded(render(samples.voices()), MARK).replace("</main>", bad), tmp_path)
    assert address in seen.requests
    assert 'data-opened="yes"' in seen.dom
    assert any("spoken" in line for line in seen.console)


def test_the_policy_stops_what_escaping_might_miss(tmp_path: Path) -> None:
    address = "http://127.0.0.1:9/x.png"
    bad = f'<img src="{address}" onerror="document.title = 1"></main>'
    seen = visit(render(samples.voices(), title="kept").replace("</main>", bad), tmp_path)
    assert seen.requests == set()
    assert "<title>kept</title>" in seen.dom


@pytest.mark.parametrize("name", ["voices", "hostile", "crowded", "proved"])
@pytest.mark.parametrize("width", [390, 1280])
def test_the_page_does_not_scroll_sideways(name: str, width: int, tmp_path: Path) -> None:
    sample = {
        "voices": samples.voices,
        "proved": samples.proved,
        "hostile": lambda: samples.hostile("a_name_without_blanks_" * 4),
        "crowded": lambda: samples.crowded(classes=30),
    }[name]()
    # A window is never narrower than 500 pixels; a frame in it is.
    opened = render(sample).replace("<details", "<details open").replace(POLICY, "")
    measure = "`${f.contentDocument.documentElement.scrollWidth} ${f.contentWindow.innerWidth}`"
    frame = (
        f'<!doctype html><title></title><iframe id="f" width="{width}" height="900"'
        f' frameborder="0" onload="document.title = {measure}"'
        f' srcdoc="{html.escape(opened)}"></iframe>'
    )
    dom = visit(frame, tmp_path).dom
    content, window = map(int, dom.partition("<title>")[2].partition("</title>")[0].split())
    assert window == width
    assert content <= window


@pytest.mark.parametrize(("width", "wider"), [(390, True), (1280, False)])
def test_a_table_that_scrolls_shows_it(width: int, wider: bool, tmp_path: Path) -> None:
    """Shadows at the edges: two layers stay, and two that move with the table cover them."""
    opened = render(samples.voices()).replace("<details", "<details open").replace(POLICY, "")
    script = """[...f.contentDocument.querySelectorAll('.scroll')].map(box => [
        box.scrollWidth > box.clientWidth,
        f.contentWindow.getComputedStyle(box).backgroundAttachment])"""
    frame = (
        f'<!doctype html><title></title><iframe id="f" width="{width}" height="900"'
        f' frameborder="0" onload="document.title = JSON.stringify({html.escape(script)})"'
        f' srcdoc="{html.escape(opened)}"></iframe>'
    )
    dom = visit(frame, tmp_path).dom
    boxes = json.loads(html.unescape(dom.partition("<title>")[2].partition("</title>")[0]))
    assert any(scrolls for scrolls, _ in boxes) == wider
    assert {layers for _, layers in boxes} == {"local, local, scroll, scroll"}


def test_the_map_is_coloured_by_what_is_chosen(tmp_path: Path) -> None:
    measure = """onload = () => {
        const fills = () => new Set([...document.querySelectorAll('.scatter circle')]
            .map(dot => getComputedStyle(dot).fill)).size
        const shown = () => [...document.querySelectorAll('.legend')]
            .filter(legend => legend.checkVisibility()).map(legend => legend.children.length)
        const before = [fills(), shown()]
        document.getElementById('m3').click()
        document.title = JSON.stringify([before, [fills(), shown()]])
    }"""
    dom = visit(unguarded(render(samples.voices()), measure), tmp_path).dom
    found = json.loads(dom.partition("<title>")[2].partition("</title>")[0])
    assert found == [[9, [9]], [2, [2]]]  # eight speakers and the others; two genders
