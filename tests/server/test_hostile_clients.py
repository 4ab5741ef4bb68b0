"""Clients that stall, leave, or send what is not HTTP, against a server on a socket."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from server.process import ServerProcess
from withhold.server.request_checks import MOST_STRANGERS

CODE = """
import sys
from contextlib import suppress
from withhold.server.serve import serve
from withhold.server.server_settings import ServerSettings
settings = ServerSettings(folder=sys.argv[1], port=0, header_seconds=1, idle_seconds=1.5)
with suppress(KeyboardInterrupt):
    serve(settings, new_token="new" in sys.argv, tell=lambda *said: print(*said, flush=True))
"""


class Impatient(ServerProcess):
    """A server that waits for no more than a second or two."""

    def start(self) -> None:
        self.log = (self.folder.parent / "server.log").open("ab")
        self.process = subprocess.Popen(
            [sys.executable, "-c", CODE, str(self.folder), *self.options],
            stdout=subprocess.PIPE,
            stderr=self.log,
            text=True,
        )
        assert self.process.stdout is not None
        self.address, self.token = self.process.stdout.readline().split()

    def send(self, *parts: bytes) -> socket.socket:
        made = socket.create_connection(("127.0.0.1", int(self.address[:-1].rpartition(":")[2])))
        made.settimeout(20)
        made.sendall(b"".join(parts))
        return made

    def answer(self, *parts: bytes) -> bytes:
        """The first bytes of the answer."""
        with self.send(*parts) as made:
            return made.recv(2**16)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Impatient]:
    folder = tmp_path_factory.mktemp("hostile")
    made = Impatient(folder / "served")
    yield made
    made.stop()
    logged = (folder / "server.log").read_text()
    assert "Traceback" not in logged
    assert made.token not in logged
    for line in logged.splitlines():
        if line.startswith("{"):
            assert json.loads(line)["event"] != "server_error"


HOST = b"Host: 127.0.0.1\r\n"


def test_a_head_that_does_not_come_is_not_waited_for(server: Impatient) -> None:
    started = time.monotonic()
    with server.send(b"GET /heal") as made:
        assert made.recv(100) == b""  # closed
    assert 0.5 < time.monotonic() - started < 15


@pytest.mark.parametrize(
    "sent",
    [
        b"GET /healthz HTTP/1.1\r\n" + HOST + b"X: " + b"a" * 200_000 + b"\r\n\r\n",
        b"GET /" + b"a" * 200_000 + b" HTTP/1.1\r\n" + HOST + b"\r\n",
        b"GET /healthz HTTP/1.1\r\n" + HOST + b"Host: evil.example\r\n\r\n",
        b"POST /api/v1/jobs HTTP/1.1\r\n" + HOST + b"Content-Length: -1\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    ],
)
def test_what_is_not_http_is_refused(server: Impatient, sent: bytes) -> None:
    try:
        got = server.answer(sent)
    except ConnectionResetError:
        return
    assert got.startswith(b"HTTP/1.1 400") or got == b""


def test_a_token_in_the_address_is_no_token(server: Impatient) -> None:
    path = f"/api/v1/jobs?token={server.token}&access_token={server.token}".encode()
    got = server.answer(b"GET " + path + b" HTTP/1.1\r\n" + HOST + b"\r\n")
    assert got.startswith(b"HTTP/1.1 401")


def test_strangers_cannot_take_the_places_of_others(server: Impatient) -> None:
    """Bodies of a login that never end; before, 64 of them shut everybody out."""
    head = b"POST /login HTTP/1.1\r\n" + HOST + b"Origin: http://127.0.0.1\r\n"
    form = b"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 900\r\n\r\na"
    held = [server.send(head, form) for _ in range(MOST_STRANGERS)]
    try:
        time.sleep(0.3)
        assert server.answer(head, form).startswith(b"HTTP/1.1 429")
        assert server.call("jobs") == []
        # The body of another page is not read without a session.
        other = head.replace(b"/login", b"/data/" + b"0" * 32 + b"/release")
        got = server.answer(other, form)
        assert got.startswith(b"HTTP/1.1 303")
        assert b"location: /login" in got
        assert held[0].recv(2**16).startswith(b"HTTP/1.1 408")
    finally:
        for one in held:
            one.close()


def test_a_trickle_is_not_an_upload(server: Impatient) -> None:
    head = f"POST /api/v1/datasets?format=csv HTTP/1.1\r\nAuthorization: Bearer {server.token}\r\n"
    with server.send(head.encode(), HOST, b"Content-Length: 9000\r\n\r\n") as made:
        made.settimeout(0.4)
        got = b""
        for _ in range(40):  # never a pause that is too long, but 20 bytes in all
            made.sendall(b"x")
            try:
                got = made.recv(2**16)
                break
            except TimeoutError:
                continue
        assert got.startswith(b"HTTP/1.1 408")
    assert server.call("datasets") == []


def test_who_leaves_in_the_middle_is_no_error(server: Impatient) -> None:
    """The log of the server, which the fixture reads at its end, has no error."""
    head = f"POST /api/v1/datasets?format=csv HTTP/1.1\r\nAuthorization: Bearer {server.token}\r\n"
    server.send(head.encode(), HOST, b"Content-Length: 9000\r\n\r\nabc").close()
    end = time.monotonic() + 10
    while '"status": 499' not in (server.folder.parent / "server.log").read_text():
        assert time.monotonic() < end
        time.sleep(0.05)
    assert list((server.folder / "uploads").iterdir()) == []


@pytest.mark.slow
def test_a_new_token_ends_the_logins_of_the_old_one(tmp_path: Path) -> None:
    """The process is stopped at once: only its start matters."""
    from withhold.server.database import Database

    folder = tmp_path / "served"
    first = Impatient(folder)
    first.stop()
    database = Database(folder / "jobs.sqlite")
    database.change("INSERT INTO sessions VALUES ('x', ?)", time.time() + 1000)
    again = Impatient(folder)
    again.stop()
    assert again.token == "None"  # the same one, which is not shown again
    assert len(database.rows("SELECT * FROM sessions")) == 1
    new = Impatient(folder, "new")
    new.stop()
    assert new.token not in ("None", first.token)
    assert database.rows("SELECT * FROM sessions") == []
    database.close()
