"""The Dockerfile and compose.yaml: what a linter asks of them, without a Docker engine."""

from __future__ import annotations

import re
import shlex
from typing import Any

import yaml

from docs.page_commands import DOCS, run_commands

ROOT = DOCS.parent
SECRET = re.compile(r"password|secret|token|api_?key|BEGIN .*PRIVATE", re.IGNORECASE)


def instructions() -> list[tuple[str, str]]:
    """(instruction, arguments) of the Dockerfile, continued lines joined."""
    text = re.sub(r"^#.*\n", "", (ROOT / "Dockerfile").read_text(), flags=re.MULTILINE)
    lines = text.replace("\\\n", " ").splitlines()
    return [(i.upper(), rest) for i, _, rest in (ln.partition(" ") for ln in lines) if i]


def named(kind: str) -> list[str]:
    return [rest for instruction, rest in instructions() if instruction == kind]


def final_stage() -> list[tuple[str, str]]:
    found = instructions()
    last = max(i for i, (instruction, _) in enumerate(found) if instruction == "FROM")
    return found[last:]


def test_only_known_instructions_are_used() -> None:
    known = {
        "ARG", "FROM", "ENV", "WORKDIR", "COPY", "RUN", "LABEL", "USER", "ENTRYPOINT", "CMD"
    }  # fmt: skip
    assert {instruction for instruction, _ in instructions()} <= known  # and no ADD


def test_the_base_has_a_fixed_version() -> None:
    assert instructions()[0][0] == "ARG"
    assert re.fullmatch(r"PYTHON=3\.11\.\d+-slim-\w+", instructions()[0][1])
    assert {rest.split()[0] for rest in named("FROM")} == {"python:${PYTHON}"}


def test_it_ends_as_a_user_without_rights() -> None:
    stage = final_stage()
    users = [i for i, (instruction, _) in enumerate(stage) if instruction == "USER"]
    assert stage[users[-1]][1] == "10001:10001"
    assert not any(instruction in ("RUN", "COPY") for instruction, _ in stage[users[-1] :])
    assert "--uid 10001" in next(rest for i, rest in stage if i == "RUN")


def test_nothing_secret_and_nothing_of_this_machine_is_copied() -> None:
    for file in ("Dockerfile", "compose.yaml", ".dockerignore"):
        assert not SECRET.search((ROOT / file).read_text()), file
    kept = [ln[1:] for ln in (ROOT / ".dockerignore").read_text().splitlines() if ln[:1] == "!"]
    assert (ROOT / ".dockerignore").read_text().splitlines()[1] == "*"
    for rest in named("COPY"):
        if rest.startswith("--from="):
            continue
        *sources, _ = shlex.split(rest)
        assert set(sources) <= set(kept)
        assert all((ROOT / source).exists() for source in sources)
    assert all((ROOT / source).exists() for source in kept)


def test_packages_are_installed_with_constraints_and_no_cache() -> None:
    installs = [rest for rest in named("RUN") if "pip install" in rest]
    assert installs
    assert all("-c constraints.txt" in rest for rest in installs)
    assert any("PIP_NO_CACHE_DIR=1" in rest for rest in named("ENV"))
    assert not any("sudo" in rest or "apt-get" in rest for rest in named("RUN"))


def test_entry_point_and_command_are_lists() -> None:
    """The shell form would not pass signals on, so that a stop would kill a fit."""
    assert named("ENTRYPOINT") == ['["withhold"]']
    assert named("CMD") == ['["--help"]']


def test_compose_gives_the_container_little() -> None:
    found: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text())
    service = found["services"]["withhold"]
    assert service["network_mode"] == "none"
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["mem_limit"]
    assert "environment" not in service
    assert "privileged" not in service
    assert [v.rpartition(":")[2] for v in service["volumes"]] == ["/data"]
    version = re.search(r'^version = "(.+)"$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert version is not None
    assert service["image"] == f"withhold:{version[1]}"


def test_the_extras_that_are_installed_exist() -> None:
    project = (ROOT / "pyproject.toml").read_text()
    (install,) = [rest for rest in named("RUN") if "pip install" in rest]
    extras = re.search(r"\[([\w,]+)\]", install)
    assert extras is not None
    for extra in extras[1].split(","):
        assert re.search(rf"^{extra} = \[", project, re.MULTILINE), extra


def test_the_page_runs(capfd: Any) -> None:
    assert run_commands("docker.md") == [0, 0]
