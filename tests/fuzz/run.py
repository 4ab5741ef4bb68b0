"""Many damaged files through every reader, in a process that may crash: python tests/fuzz/run.py

    --inputs 12000   in all, shared among the readers by their weight
    --only npz,clip  some of them
    --keep DIR       where inputs that found something go (one file each)
    --atheris        coverage-guided by the package atheris, if installed; --only names one reader

A worker reads inputs one after another under a limit of address space, and writes each to the disk
first. The parent watches the clock and the resident memory, and keeps the input when it kills the
worker or finds it dead.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
import traceback
import zlib
from collections import Counter
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent), str(HERE)]

SECONDS = 20.0  # an input may take; the machine may be busy
ADDRESS_SPACE = 3 * 2**30  # beyond what is there after importing
RESIDENT = 3 * 2**29  # bytes that a worker may hold beyond what it began with


def main() -> int:
    """Run, print a table, and return 1 where anything was found."""
    asked = argparse.ArgumentParser()
    asked.add_argument("--inputs", type=int, default=12_000)
    asked.add_argument("--only", default="")
    asked.add_argument("--seed", type=int, default=0)
    asked.add_argument("--keep", type=Path, default=Path(tempfile.gettempdir()) / "withhold-fuzz")
    asked.add_argument("--worker", nargs=3, metavar=("TARGET", "FROM", "TO"))
    asked.add_argument("--place", type=Path)
    asked.add_argument("--atheris", action="store_true")
    options = asked.parse_args()
    if options.worker:
        name, start, stop = options.worker
        _work(name, int(start), int(stop), options.seed, options.place)
        return 0
    from targets import TARGETS

    chosen = [t for t in TARGETS.values() if not options.only or t.name in options.only.split(",")]
    if options.atheris:
        return _guided(chosen[0], options.inputs)
    weights = sum(t.weight for t in chosen)
    found = 0
    for target in chosen:
        inputs = max(options.inputs * target.weight // weights, 1)
        began = time.monotonic()
        outcomes, kept = _watch(target.name, inputs, options.seed, options.keep, target.suffix)
        found += len(kept)
        shown = ", ".join(f"{n} {what}" for what, n in sorted(outcomes.items()))
        print(
            f"{target.name:<14} {inputs:>6}  {shown}  ({time.monotonic() - began:.0f} s)",
            flush=True,
        )
        for what, path in kept:
            print(f"    {what[:400]}: {path}", flush=True)
    return int(found > 0)


def make_input(name: str, number: int, seed: int) -> bytes:
    """Input `number` of a reader: the same for everybody."""
    from mutations import apply, draw
    from targets import TARGETS

    rng = random.Random(zlib.crc32(f"{name} {number} {seed}".encode()))
    seeds = _seeds(TARGETS[name])
    data, wrap = seeds[rng.randrange(len(seeds))]
    return wrap(apply(data, draw(rng)))


_SEEDS: dict[str, list] = {}


def _seeds(target):  # type: ignore[no-untyped-def]
    if target.name not in _SEEDS:
        _SEEDS[target.name] = target.seeds()
    return _SEEDS[target.name]


def _work(name: str, start: int, stop: int, seed: int, place: Path) -> None:
    """Read inputs, and write a line about each."""
    from targets import TARGETS, read_input

    target = TARGETS[name]
    read_input(target, _seeds(target)[0][1](_seeds(target)[0][0]), place)  # imports what it needs
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + ADDRESS_SPACE,) * 2)
    for number in range(start, stop):
        data = make_input(name, number, seed)
        (place / "current").write_bytes(data)
        print(json.dumps({"number": number}), flush=True)
        try:
            what, line = read_input(target, data, place), ""
        except BaseException as error:
            what = "memory" if isinstance(error, MemoryError) else "error"
            line = "".join(traceback.format_exception(error)[-4:])
        print(json.dumps({"number": number, "what": what, "line": line}), flush=True)
        if line:
            return  # the input stays where the parent finds it


def _watch(
    name: str, inputs: int, seed: int, keep: Path, suffix: str
) -> tuple[Counter[str], list[tuple[str, Path]]]:
    outcomes: Counter[str] = Counter()
    kept: list[tuple[str, Path]] = []
    said: set[str] = set()
    start = 0
    while start < inputs:
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder)
            number, what, line = _one_worker(name, start, inputs, seed, place, outcomes)
            if what == "done":
                break
            outcomes[what] += 1
            # One of a kind is enough: errors are told apart by where they were raised.
            key = what + line.strip().splitlines()[0] if line.strip() else what
            if key not in said and (place / "current").exists():
                said.add(key)
                data = (place / "current").read_bytes()
                keep.mkdir(parents=True, exist_ok=True)
                path = keep / f"{name}-{what}-{zlib.crc32(data):08x}{suffix}"
                path.write_bytes(data)
                kept.append((f"{what} {' | '.join(line.strip().splitlines()[-3:])}", path))
            start = number + 1
    return outcomes, kept


def _one_worker(
    name: str, start: int, stop: int, seed: int, place: Path, outcomes: Counter[str]
) -> tuple[int, str, str]:
    """Run a worker until it is done, or something is found: which input, what, and a line."""
    arguments = [
        "--worker",
        name,
        str(start),
        str(stop),
        "--seed",
        str(seed),
        "--place",
        str(place),
    ]
    log, errors = place / "log", place / "errors"
    with log.open("wb") as out, errors.open("wb") as err:
        worker = subprocess.Popen(
            [sys.executable, "-W", "ignore", __file__, *arguments], stdout=out, stderr=err
        )
    number, at, seen = start, 0, time.monotonic()
    base: int | None = None
    try:
        while True:
            time.sleep(0.05)
            ended = worker.poll()
            with log.open("rb") as file:
                file.seek(at)
                *lines, rest = file.read().split(b"\n")
                at = file.tell() - len(rest)
            for one in map(json.loads, lines):
                number, seen = one["number"], time.monotonic()
                base = base or _resident(worker.pid)
                if "what" in one and one["what"] in ("read", "refused"):
                    outcomes[one["what"]] += 1
                elif "what" in one:
                    return number, one["what"], one["line"]
            if ended is not None:
                if ended == 0:
                    return stop, "done", ""
                tail = errors.read_text(errors="replace").strip()[-600:]
                return number, "crash", f"exit {ended} {tail}"
            if base is not None and _resident(worker.pid) > base + RESIDENT:
                return number, "memory", "resident memory"
            if time.monotonic() - seen > SECONDS * (1 if base else 6):
                return number, "hang", ""
    finally:
        if worker.poll() is None:
            worker.kill()
        worker.wait()


def _resident(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * resource.getpagesize()
    except (OSError, IndexError, ValueError):
        return 0


def _guided(target, inputs: int) -> int:  # type: ignore[no-untyped-def]
    """libFuzzer chooses the inputs by what code they reach."""
    import atheris

    with atheris.instrument_imports(include=["withhold", "zipfile", "yaml", "json", "csv"]):
        pass
    from targets import read_input

    folder = Path(tempfile.mkdtemp())
    corpus = folder / "corpus"
    corpus.mkdir()
    for i, (data, wrap) in enumerate(target.seeds()):
        (corpus / str(i)).write_bytes(wrap(data))

    def one(data: bytes) -> None:
        read_input(target, data, folder)

    limits = [f"-runs={inputs}", "-rss_limit_mb=4000", "-timeout=20", "-max_len=65536"]
    atheris.Setup([sys.argv[0], *limits, f"-artifact_prefix={folder}/", str(corpus)], one)
    atheris.Fuzz()
    return 0


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.exit(main())
