"""The page without a browser: login, forms of strangers, names that are text, streamed uploads."""

from __future__ import annotations

import re

import pytest
from starlette.testclient import TestClient

from server.conftest import Serve, Served, people
from withhold.server.request_checks import COOKIE
from withhold.server.worker import run_worker

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
    for kind in ("multipart/form-data; boundary=" + "y" * 500, "multipart/form-data", "text/csv"):
        odd_kind = {**ORIGIN, "Content-Type": kind}
        assert client.post("/upload", content=cut, headers=odd_kind).status_code == 422
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


HOSTILE = ("<script>alert(1)</script>", '"><img src=x onerror=alert(2)>', "'><svg onload=alert(3)>")


@pytest.mark.slow
def test_names_of_columns_are_text_on_every_page(visitor: tuple[TestClient, Served]) -> None:
    client, served = visitor
    lines = [",".join(f'"{name.replace(chr(34), chr(34) * 2)}"' for name in HOSTILE)]
    lines += [f"{HOSTILE[0]}{i % 2},b{i % 3},{i % 5}" for i in range(60)]
    id = served.upload("\n".join(lines).encode(), f"{HOSTILE[0]}.csv")
    hidden = {"hide": HOSTILE[0]}
    paths = ["/", f"/data/{id}", f"/data/{id}/plan"]
    for path in paths:  # the first look queues the inspection
        client.get(path, params=hidden)
    while (job := served.service.jobs.claim()) is not None:
        served.service.folder.make_job(job.id)
        assert run_worker(served.service.folder.root, job.id) == 0
        assert served.job(job.id)["state"] == "done", served.job(job.id)["error"]
    for path in paths:
        shown = client.get(path, params=hidden)
        assert shown.status_code == 200
        assert path == "/" or "&lt;script&gt;alert(1)" in shown.text
        assert not re.search(r"<(script>|img src=x|svg onload)", shown.text)


def test_a_file_that_is_html_runs_nothing(visitor: tuple[TestClient, Served]) -> None:
    """A report opens in a sandbox; a download is never shown."""
    client, served = visitor
    id = served.start(kind="audit", dataset=served.upload(people(60)), suppress=["sex"])
    assert served.service.jobs.claim() is not None
    served.service.folder.make_job(id)
    output = served.service.folder.output(id)
    output.mkdir()
    (output / "report.html").write_text(HOSTILE[0])
    (output / "link").symlink_to(served.service.folder.token)
    (served.service.folder.private(id) / "key").write_text("secret")
    assert served.service.jobs.finish(id, {})
    report = client.get(f"/jobs/{id}/report")
    assert report.headers["content-security-policy"].startswith("sandbox; default-src 'none'")
    loaded = client.get(f"/jobs/{id}/files/report.html")
    assert loaded.headers["content-disposition"].startswith("attachment")
    for name in (
        "link",
        "key",
        "..%2fprivate%2fkey",
        "..%2f..%2f..%2ftoken.sha256",
        "%2fetc%2fpasswd",
    ):
        assert client.get(f"/jobs/{id}/files/{name}").status_code == 404
        assert served.client.get(f"/api/v1/jobs/{id}/files/{name}").status_code == 404
