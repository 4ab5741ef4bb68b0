"""The page without a browser: login, forms of strangers, names that are text, streamed uploads."""

from __future__ import annotations

import re

import pytest
from starlette.testclient import TestClient

from server.conftest import Serve, Served, people
from withhold.server.page.sessions import COOKIE

ORIGIN = {"Origin": "http://127.0.0.1"}


@pytest.fixture
def visitor(serve: Serve) -> tuple[TestClient, Served]:
    """A browser that is logged in, and the server, which starts no jobs."""
    served = serve(work=False, upload_mebibytes=1)
    client = TestClient(served.client.app, base_url="http://127.0.0.1")
    answer = client.post("/login", data={"token": served.token}, headers=ORIGIN)
    assert answer.url.path == "/"
    return client, served


def test_nothing_is_shown_before_the_login(serve: Serve) -> None:
    served = serve(work=False)
    stranger = TestClient(served.client.app, base_url="http://127.0.0.1")
    id = served.upload(people(60))
    for path in ("/", f"/data/{id}", f"/data/{id}/plan?hide=sex", f"/jobs/{id}", f"/jobs/{id}/zip"):
        answer = stranger.get(path, follow_redirects=False)
        assert (answer.status_code, answer.headers["location"]) == (303, "/login")
    assert stranger.post("/sample", headers=ORIGIN, follow_redirects=False).status_code == 303
    wrong = stranger.post("/login", data={"token": "no"}, headers=ORIGIN)
    assert wrong.status_code == 401
    assert COOKIE not in wrong.cookies


def test_the_cookie_is_out_of_reach_and_not_a_token(visitor: tuple[TestClient, Served]) -> None:
    client, served = visitor
    answer = client.post(
        "/login", data={"token": served.token}, headers=ORIGIN, follow_redirects=False
    )
    said = answer.headers["set-cookie"].lower()
    assert "httponly" in said
    assert "samesite=strict" in said
    # A session opens the page only, and the token the API only.
    assert client.get("/api/v1/datasets").status_code == 401
    assert served.client.get("/", follow_redirects=False).status_code == 303
    stored = served.service.database.rows("SELECT digest FROM sessions")
    assert client.cookies[COOKIE] not in {row[0] for row in stored}
    client.post("/logout", headers=ORIGIN)
    assert client.get("/", follow_redirects=False).headers["location"] == "/login"


@pytest.mark.parametrize("origin", [None, "null", "http://evil.example", "http://127.0.0.1:1"])
def test_a_form_of_another_site_is_refused(
    visitor: tuple[TestClient, Served], origin: str | None
) -> None:
    client, served = visitor
    headers = {} if origin is None else {"Origin": origin}
    for path in ("/sample", "/upload", "/logout", "/login"):
        assert client.post(path, headers=headers).status_code == 403
    assert served.service.datasets.uploads() == []


def test_a_dropped_file_is_streamed_to_its_folder(visitor: tuple[TestClient, Served]) -> None:
    client, served = visitor
    data = people(120)
    name = '<img src=x onerror="alert(1)">.csv'
    sent = {"file": (name, data, "text/csv")}
    answer = client.post("/upload", files=sent, headers=ORIGIN, follow_redirects=False)
    id = answer.headers["location"].removeprefix("/data/")
    assert served.service.datasets.path(id, "csv").read_bytes() == data
    shown = client.get("/").text
    assert "<img src=x" not in shown
    assert "&lt;img src=x" in shown
    large = {"file": ("a.csv", bytes(2**20 + 1), "text/csv")}
    assert client.post("/upload", files=large, headers=ORIGIN).status_code == 413
    odd = {"file": ("a.exe", b"x", "text/csv")}
    assert "must end in one of" in client.post("/upload", files=odd, headers=ORIGIN).text
    assert client.post("/upload", data={"a": "b"}, headers=ORIGIN).status_code == 422
    cut = b'--x\r\nContent-Disposition: form-data; name="f"; filename="a.csv"\r\n\r\nabc'
    headers = {**ORIGIN, "Content-Type": "multipart/form-data; boundary=x"}
    assert client.post("/upload", content=cut, headers=headers).status_code == 422
    assert len(served.service.datasets.uploads()) == 1
    assert len(list((served.service.folder.root / "uploads").iterdir())) == 1


def test_pages_have_no_script_or_style_inside(visitor: tuple[TestClient, Served]) -> None:
    """The policy forbids them, so that they would silently do nothing."""
    client, served = visitor
    id = served.upload(people(60))
    job = served.start(kind="release", dataset=id, suppress=["sex"])
    for path in ("/login", "/", f"/data/{id}", f"/jobs/{job}", "/nothing"):
        answer = client.get(path)
        assert "text/html" in answer.headers["content-type"]
        assert answer.headers["content-security-policy"].startswith("default-src 'self';")
        assert not re.search(r"<style|\sstyle=|<script(?! src=)|\son[a-z]+=", answer.text)
        assert not re.search(r"(src|href|action)=\"(?!/|#)", answer.text)
    for name in set(re.findall(r"/static/([a-z.]+)", client.get("/").text)):
        assert client.get(f"/static/{name}").status_code == 200
    assert client.get("/static/..%2frendering.py").status_code == 404


def test_a_choice_that_cannot_be_is_explained(visitor: tuple[TestClient, Served]) -> None:
    client, served = visitor
    id = served.upload(people(60))
    assert "at least one column" in client.get(f"/data/{id}/plan").text
    both = client.get(f"/data/{id}/plan?hide=sex&keep=sex")
    assert both.status_code == 422
    assert "cannot be hidden and kept" in both.text
    assert client.get("/data/unknown").status_code == 422


def test_jobs_of_the_page(visitor: tuple[TestClient, Served]) -> None:
    client, served = visitor
    id = served.upload(people(60))
    chosen = {"hide": ["sex"], "keep": ["income"], "quick": "true"}
    answer = client.post(f"/data/{id}/release", data=chosen, headers=ORIGIN)
    job = served.job(answer.url.path.removeprefix("/jobs/"))
    assert job["request"]["suppress"] == ["sex"]
    assert job["request"]["preserve"] == ["income"]
    assert job["request"]["quick"] is True
    assert "Waiting for its turn" in answer.text
    stopped = client.post(f"/jobs/{job['id']}/cancel", headers=ORIGIN)
    assert "cancelled" in stopped.text
    compare = client.post(f"/data/{id}/compare", data=chosen, headers=ORIGIN)
    assert served.job(compare.url.path.removeprefix("/jobs/"))["kind"] == "compare"
