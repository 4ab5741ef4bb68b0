"""What the server keeps: limits of all uploads together, what is needed, what a kill left."""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from server.conftest import Serve, Served, people
from withhold.core.errors import UserError
from withhold.server.private_folder import PrivateFolder, new_id, without_paths
from withhold.server.problems import Problem


def test_uploads_at_the_same_time_share_the_limit(serve: Serve) -> None:
    """Each has room alone; together they are too large."""
    served = serve(work=False)

    async def body() -> AsyncIterator[bytes]:
        for _ in range(4):
            yield bytes(100)
            await asyncio.sleep(0)

    async def both() -> list[object]:
        store = served.service.datasets
        sent = (
            store.receive(body(), name="a", format="csv", most=500, stored=700) for _ in range(2)
        )
        return list(await asyncio.gather(*sent, return_exceptions=True))

    found = asyncio.run(both())
    refused = [one for one in found if isinstance(one, Problem)]
    assert [one.status for one in refused] == [413]
    assert [one.bytes for one in served.service.datasets.uploads()] == [400]
    again = asyncio.run(both())  # the room of the refused one is free again: 300 bytes
    assert all(isinstance(one, Problem) for one in again)
    served.service.datasets.remove(served.service.datasets.uploads()[0].id)
    assert sum(isinstance(one, Problem) for one in asyncio.run(both())) == 1


def test_a_full_disk_is_said_without_its_path(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    served = serve(work=False)

    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(tmp_path))

    monkeypatch.setattr(os, "fsync", full)
    answer = served.client.post("/api/v1/datasets?format=csv", content=b"a,b\n1,2\n")
    assert answer.status_code == 507
    assert "disk" in answer.json()["error"]
    assert str(tmp_path) not in answer.text
    assert list((served.service.folder.root / "uploads").iterdir()) == []


def bundle(served: Served, dataset: str) -> str:
    """A fit that is done, as far as the database knows."""
    id = served.start(kind="fit", dataset=dataset, suppress=["sex"], method="constant")
    assert served.service.jobs.claim() is not None
    served.service.folder.make_job(id)
    served.service.folder.bundle(id).mkdir()
    assert served.service.jobs.finish(id, {})
    return id


def test_a_bundle_that_a_job_needs_is_not_removed(serve: Serve) -> None:
    served = serve(work=False)
    dataset = served.upload(people(60))
    made = bundle(served, dataset)
    job = served.start(kind="transform", dataset=dataset, bundle=made)
    answer = served.client.delete(f"/api/v1/jobs/{made}")
    assert answer.status_code == 409
    assert "needs this bundle" in answer.json()["error"]
    assert served.service.folder.bundle(made).is_dir()
    assert served.client.post(f"/api/v1/jobs/{job}/cancel").status_code == 200
    assert served.client.delete(f"/api/v1/jobs/{made}").status_code == 204
    assert not served.service.folder.job(made).exists()


def test_a_start_removes_what_a_kill_left(serve: Serve) -> None:
    """A kill between the database and the disk: keys and records must not stay for ever."""
    served = serve(work=False)
    dataset = served.upload(people(60))
    made = bundle(served, dataset)
    folder = served.service.folder
    lost = new_id()
    for place in (folder.upload(lost), folder.private(lost)):
        place.mkdir(parents=True)
        (place / "key").write_text("secret")
    (folder.root / "uploads" / "a file of somebody").touch()
    serve(work=False)
    assert not folder.upload(lost).exists()
    assert not folder.job(lost).exists()
    assert folder.bundle(made).is_dir()
    assert folder.upload(dataset).is_dir()


@pytest.mark.parametrize(
    ("inside", "shown"),
    [
        ("jobs/{}/private/tmp/{}/data.parquet", "{}/data.parquet"),
        ("jobs/{}/private/bundle.partial", "bundle.partial"),
        ("uploads/{}/data.csv", "data.csv"),
        ("jobs.sqlite", "jobs.sqlite"),
    ],
)
def test_messages_name_files_and_not_our_folders(tmp_path: Path, inside: str, shown: str) -> None:
    id = new_id()
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    folder = PrivateFolder(tmp_path / "link")
    for root in ("real", "link"):
        line = f"resuming from '{tmp_path / root / inside.format(id, id)}'\nand on"
        assert without_paths(line, folder) == f"resuming from '{shown.format(id)}' and on"


def test_a_mistake_in_the_server_is_said_without_paths(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    served = serve(work=False)
    root = served.service.folder.root

    def fail(id: str) -> None:
        raise UserError(f"{root}/jobs/{id}/private/budgets.json cannot be read")

    monkeypatch.setattr(served.service, "job", fail)
    answer = served.client.get(f"/api/v1/jobs/{new_id()}")
    assert answer.json()["error"] == "budgets.json cannot be read"


def test_a_bug_is_logged_by_its_place_and_not_by_its_text(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    served = serve(work=False)

    def fail(id: str) -> None:
        raise KeyError("secret value of a record")

    monkeypatch.setattr(served.service, "job", fail)
    answer = served.client.get(f"/api/v1/jobs/{new_id()}")
    assert answer.status_code == 500
    said = answer.text + served.log.getvalue()
    assert "secret" not in said
    assert "Traceback" not in said
    assert '"error": "KeyError", "where": "test_stored.py:' in served.log.getvalue()
