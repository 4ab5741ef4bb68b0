"""The page in a real browser, from the drop of a file to the download of the release folder."""

from __future__ import annotations

import io
import shutil
import zipfile
from pathlib import Path

import pytest

from server.conftest import people
from server.process import ServerProcess

CHROMIUM = shutil.which("chromium")
FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
)
DROP = """([form, text]) => {
    const transfer = new DataTransfer();
    transfer.items.add(new File([text], "people.csv", {type: "text/csv"}));
    form.dispatchEvent(new DragEvent("drop", {dataTransfer: transfer, cancelable: true}));
}"""


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")
def test_from_drop_to_download(tmp_path: Path) -> None:
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    server = ServerProcess(tmp_path / "served")
    try:
        with playwright.sync_playwright() as started:
            browser = started.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
            page = browser.new_context(viewport={"width": 390, "height": 900}).new_page()
            page.set_default_timeout(120_000)
            said: list[str] = []
            asked: set[str] = set()
            page.on("console", lambda message: said.append(message.text))
            page.on("request", lambda request: asked.add(request.url.split("/")[2]))
            page.goto(server.address)
            page.get_by_label("Token").fill(server.token)
            page.keyboard.press("Enter")
            form = page.locator("[data-drop]")
            form.evaluate(f"(form, text) => ({DROP})([form, text])", people(200).decode())
            page.get_by_label("hide sex").check()
            page.get_by_label("keep income").check()
            page.get_by_role("button", name="See what can be had").press("Enter")
            page.get_by_label("Quick check").check()
            assert "After the best possible release" in page.inner_text("main")
            page.get_by_role("button", name="Make the release").press("Enter")
            page.locator("[data-stages] b").first.wait_for()
            with page.expect_download() as download:
                page.get_by_role("link", name="Download the folder").click()
            assert page.evaluate("document.documentElement.scrollWidth") <= 390
            assert page.get_by_role("heading", name="The proof").is_visible()
            archive = zipfile.ZipFile(io.BytesIO(Path(download.value.path()).read_bytes()))
            names = {name.rpartition("/")[2] for name in archive.namelist()}
            assert names == {
                "README.md",
                "audit.json",
                "certificate.json",
                "data.csv",
                "report.html",
            }
            with page.context.expect_page() as opened:
                page.get_by_role("link", name="Read the report").click()
            opened.value.wait_for_load_state()
            assert "sex" in opened.value.inner_text("h1")
            assert said == []
            assert asked == {server.address.split("/")[2]}
            browser.close()
    finally:
        server.stop()  # with its workers
