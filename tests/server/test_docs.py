"""The commands of docs/server.md, run against a server; and nothing private leaves with them."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pyarrow as pa
import pytest

from server.process import ServerProcess
from withhold.core.errors import UserError

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("curl") is None, reason="no curl on this machine")
def test_the_commands_of_the_docs(tmp_path: Path) -> None:
    (commands,) = re.findall(r"```sh\n(.*?)```", (DOCS / "server.md").read_text(), re.DOTALL)
    server = ServerProcess(tmp_path / "served", "--answer-seconds", "300")
    try:
        commands = commands.replace("http://127.0.0.1:8765/", server.address)
        here = str(Path(sys.executable).parent)
        path = os.pathsep.join([here, os.environ["PATH"]])
        env = {**os.environ, "TOKEN": server.token, "PATH": path}
        subprocess.run(
            ["bash", "-euo", "pipefail", "-c", commands], cwd=tmp_path, env=env, check=True
        )
        job = json.loads((tmp_path / "job.json").read_text())
        assert job["state"] == "done", job["error"]
        assert job["result"]["columns"] == ["income", "hours_per_week"]
        found = json.loads((tmp_path / "inspection.json").read_text())
        assert found["tells"]["sex"][0]["right"] > found["tells"]["sex"][0]["guessing"]
        events = (tmp_path / "events.txt").read_text()
        assert events.rstrip().splitlines()[-2] == "event: end"
        assert '"left":' in events
        archive = zipfile.ZipFile(io.BytesIO((tmp_path / "release.zip").read_bytes()))
        assert archive.testzip() is None
        names = [name.rpartition("/")[2] for name in archive.namelist()]
        assert names == ["README.md", "audit.json", "certificate.json", "data.csv", "report.html"]
        assert "sex" in (tmp_path / "report.html").read_text()
        made = pa.ipc.open_stream((tmp_path / "later.arrow").read_bytes()).read_all()
        assert (made.num_rows, made.column_names) == (200, ["income", "hours_per_week"])
        # What the transform was sent is gone, and no file of the bundle can be had.
        end = time.monotonic() + 30  # they are removed after the answer has been sent
        while len(server.call("datasets")) > 1:
            assert time.monotonic() < end
            time.sleep(0.1)
        assert [one["id"] for one in server.call("bundles")] == [job["id"]]
        assert len(server.call("jobs")) == 2
        for name in ("key", "bundle", "worker.log", "..%2fprivate%2fbundle%2fkey"):
            with pytest.raises(UserError, match=r"no such file|not found"):
                server.call(f"jobs/{job['id']}/files/{name}")
        key = next((tmp_path / "served").rglob("bundle/key"))
        assert key.stat().st_mode & 0o777 == 0o600
        assert key.read_bytes().strip() not in archive.fp.getvalue()  # type: ignore[union-attr]
    finally:
        server.stop()  # with its workers
