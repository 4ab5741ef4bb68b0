"""The API from upload to removal: what is asked is looked up, what is wrong is said in a line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from server.conftest import Serve, Served, people
from withhold.server.private_folder import new_id


@pytest.fixture
def idle(serve: Serve) -> Served:
    """A server that starts no jobs."""
    return serve(work=False, upload_mebibytes=1, stored_mebibytes=2, most_queued=2)


def line(answer: object) -> str:
    """The one line of an error."""
    body = json.loads(answer.text)  # type: ignore[attr-defined]
    assert set(body) <= {"error", "job"}
    assert "\n" not in body["error"]
    found: str = body["error"]
    return found


@pytest.mark.parametrize(
    "authorization", ["", "Bearer", "Bearer wrong", "Basic {}", "Bearer  x{}", "Bearer \u00e9"]
)
def test_every_call_needs_the_token(idle: Served, authorization: str) -> None:
    sent = {"Authorization": authorization.format(idle.token).encode()}
    for path in ("/api/v1/datasets", "/api/v1/openapi.json", "/metrics", "/api/v1/nothing"):
        answer = idle.client.get(path, headers=sent)
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"] == "Bearer"
        assert "token" in line(answer)


def test_the_body_of_a_stranger_is_not_read(idle: Served) -> None:
    def endless() -> Iterator[bytes]:
        yield b"x"
        raise AssertionError("the body was read")

    answer = idle.client.post(
        "/api/v1/datasets?format=csv&name=a.csv",
        content=endless(),
        headers={"Authorization": "Bearer no"},
    )
    assert answer.status_code == 401


def test_the_token_is_stored_as_a_hash_that_only_its_owner_reads(idle: Served) -> None:
    path = idle.service.folder.token
    assert path.stat().st_mode & 0o777 == 0o600
    assert idle.token not in path.read_text()
    for folder in (path.parent, path.parent / "uploads", path.parent / "jobs"):
        assert folder.stat().st_mode & 0o777 == 0o700


def test_health_needs_no_token(idle: Served) -> None:
    assert idle.client.get("/healthz", headers={"Authorization": ""}).json()["status"] == "ok"


@pytest.mark.parametrize(
    ("host", "status"),
    [("127.0.0.1:80", 200), ("LOCALHOST", 200), ("[::1]:9", 200), ("evil.example", 400), ("", 400)],
)
def test_other_hosts_are_refused(idle: Served, host: str, status: int) -> None:
    """A page of a stranger whose name leads to 127.0.0.1 sends its own name."""
    answer = idle.client.get("/api/v1/datasets", headers={"Host": host})
    assert answer.status_code == status


@pytest.mark.parametrize(
    "name",
    ["../../etc/passwd.csv", "/etc/passwd.csv", "a\x00b.csv", "..\\..\\x.csv", "é\u202eno.csv"],
)
def test_a_hostile_name_is_never_a_path(idle: Served, name: str, tmp_path: Path) -> None:
    id = idle.upload(b"a,b\n1,2\n", name)
    files = [p for p in tmp_path.rglob("*") if p.is_file() and p.suffix == ".csv"]
    assert files == [idle.service.folder.upload(id) / "data.csv"]
    assert files[0].stat().st_mode & 0o777 == 0o600
    shown = idle.client.get(f"/api/v1/datasets/{id}").json()["name"]
    assert not {"/", "\\", "\x00", "\u202e"} & set(shown)


def test_a_large_upload_is_refused_and_leaves_nothing(idle: Served) -> None:
    def chunks(count: int) -> Iterator[bytes]:
        for _ in range(count):
            yield bytes(2**18)

    declared = idle.client.post("/api/v1/datasets?format=csv&name=a.csv", content=bytes(4 * 2**20))
    streamed = idle.client.post("/api/v1/datasets?format=csv&name=a.csv", content=chunks(6))
    for answer in (declared, streamed):
        assert answer.status_code == 413
        assert "larger than" in line(answer)
    assert list((idle.service.folder.root / "uploads").iterdir()) == []
    for _ in range(2):
        assert (
            idle.client.post(
                "/api/v1/datasets?format=csv&name=a.csv", content=chunks(4)
            ).status_code
            == 201
        )
    full = idle.client.post("/api/v1/datasets?format=csv&name=a.csv", content=b"x")
    assert full.status_code == 413
    assert "all uploads together" in line(full)


def test_other_bodies_are_bounded(idle: Served) -> None:
    answer = idle.client.post("/api/v1/jobs", content=b" " * (2**20 + 1))
    assert answer.status_code == 413


def test_an_empty_or_unknown_file_is_refused(idle: Served) -> None:
    assert "empty" in line(idle.client.post("/api/v1/datasets?format=csv&name=a.csv", content=b""))
    assert "format" in line(idle.client.post("/api/v1/datasets?name=a.exe", content=b"x"))
    assert "format" in line(idle.client.post("/api/v1/datasets?format=exe", content=b"x"))
    assert list((idle.service.folder.root / "uploads").iterdir()) == []


@pytest.mark.parametrize("id", ["5a" * 16, "..", "%2e%2e%2f", "A" * 32, "0" * 31, "0" * 33])
@pytest.mark.parametrize(
    "path", ["datasets/{}", "jobs/{}", "bundles/{}", "jobs/{}/files/key", "jobs/{}/events"]
)
def test_unknown_ids(idle: Served, path: str, id: str) -> None:
    answer = idle.client.get(f"/api/v1/{path.format(id)}")
    assert answer.status_code in (404, 422)
    line(answer)


def test_a_job_needs_a_dataset_that_is_there(idle: Served) -> None:
    asked = {"kind": "release", "dataset": new_id(), "suppress": ["sex"]}
    assert idle.client.post("/api/v1/jobs", json=asked).status_code == 404
    dataset = idle.upload(people(60))
    asked |= {"kind": "transform", "dataset": dataset, "bundle": new_id()}
    asked.pop("suppress")
    assert idle.client.post("/api/v1/jobs", json=asked).status_code == 404


@pytest.mark.parametrize(
    "more", [{"data": "/etc/passwd"}, {"suppress": []}, {"seed": -1}, {"keep": ["a\x00"]},
             {"suppress": ["\ud800"]}, {"config": {"codes": "\ud800"}}]
)  # fmt: skip
def test_a_wrong_job_is_refused(idle: Served, more: dict[str, object]) -> None:
    asked = {"kind": "release", "dataset": new_id(), "suppress": ["sex"], **more}
    answer = idle.client.post(
        "/api/v1/jobs", content=json.dumps(asked), headers={"Content-Type": "application/json"}
    )
    assert answer.status_code == 422
    line(answer)


def test_a_full_queue_answers_429(idle: Served) -> None:
    dataset = idle.upload(people(60))
    asked = {"kind": "inspect", "dataset": dataset}
    jobs = [idle.start(**asked) for _ in range(2)]
    answer = idle.client.post("/api/v1/jobs", json=asked)
    assert answer.status_code == 429
    assert answer.headers["retry-after"]
    assert "waiting" in line(answer)
    assert idle.client.delete(f"/api/v1/datasets/{dataset}").status_code == 409
    assert idle.client.delete(f"/api/v1/jobs/{jobs[0]}").status_code == 409
    for id in jobs:
        cancelled = idle.client.post(f"/api/v1/jobs/{id}/cancel")
        assert cancelled.json()["state"] == "cancelled"
        assert idle.client.post(f"/api/v1/jobs/{id}/cancel").status_code == 409
        assert idle.client.delete(f"/api/v1/jobs/{id}").status_code == 204
    assert idle.client.delete(f"/api/v1/datasets/{dataset}").status_code == 204
    assert idle.client.get(f"/api/v1/datasets/{dataset}").status_code == 404


def test_an_answer_that_takes_too_long_is_504_with_its_job(serve: Serve) -> None:
    served = serve(work=False, answer_seconds=0.2)
    dataset = served.upload(people(60))
    answer = served.client.post(f"/api/v1/datasets/{dataset}/inspect", json={})
    assert answer.status_code == 504
    assert served.job(answer.json()["job"])["state"] == "queued"


def test_old_uploads_are_removed_unless_a_job_needs_them(idle: Served) -> None:
    used, unused = idle.upload(people(60)), idle.upload(people(60))
    idle.start(kind="inspect", dataset=used)
    assert idle.service.datasets.remove_older(3600) == 0
    assert idle.service.datasets.remove_older(-1) == 1
    assert [one.id for one in idle.service.datasets.uploads()] == [used]
    assert not idle.service.folder.upload(unused).exists()


def test_logs_and_metrics_hold_no_data(idle: Served) -> None:
    idle.upload(people(60), "secret-name.csv")
    idle.client.get("/api/v1/datasets/secret-path?secret-query=1")
    idle.client.request("SECRET-METHOD", "/api/v1/datasets")
    text = idle.log.getvalue() + idle.client.get("/metrics").text
    assert "secret" not in text.lower()
    assert 'route="/api/v1/datasets",status="201"} 1' in text
    for entry in idle.log.getvalue().splitlines():
        json.loads(entry)


def test_answers_forbid_scripts_and_caches(idle: Served) -> None:
    for path in ("/healthz", "/api/v1/datasets", "/api/v1/nothing"):
        headers = idle.client.get(path).headers
        assert headers["content-security-policy"].startswith("default-src 'self'")
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["cache-control"] == "no-store"
        assert headers["x-content-type-options"] == "nosniff"
