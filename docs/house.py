"""Print the layout of the source tree as a markdown table: python docs/house.py [CHECKOUT].

The last row counts the files whose functions run, in this process, while one small job goes
from a folder of sounds through extract, fit, transform and audit to the report.
"""

import ast
import contextlib
import inspect
import os
import pkgutil
import sys
import tempfile
import threading
import tomllib
from collections import Counter
from importlib import import_module
from pathlib import Path
from types import FrameType

import numpy as np
import soundfile

ROOT = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parents[1]).resolve()
SOURCE = ROOT / "src" / "withhold"
SMALL = "{codes: 8, rounds: 1, exact_rounds: 1, epochs: 1, folds: 1, hidden: [16], dropout: [0, 0]}"
JOB = """extract voices --pattern {speaker}_{digit}_{take}.wav --extractor logmel -o voices.parquet
fit voices.parquet --suppress speaker --method codebook --config small.yaml -o bundle
transform bundle voices.parquet -o release.parquet
audit voices.parquet release.parquet --suppress speaker --quick -o audit"""


def files_of_a_job() -> set[str]:
    """Run the job in an empty folder, and trace every function that is called."""
    sys.path.insert(0, str(SOURCE.parent))
    for module in pkgutil.walk_packages([str(SOURCE)], "withhold."):
        import_module(module.name)  # now, so that what runs on import is not counted
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:1])  # on one core, no worker is forked
    seen: set[str] = set()

    def trace(frame: FrameType, event: str, argument: object) -> None:
        if frame.f_code.co_flags & inspect.CO_OPTIMIZED:  # neither a module nor a class body
            seen.add(frame.f_code.co_filename)

    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        Path("voices").mkdir()
        Path("small.yaml").write_text(SMALL)
        for speaker, digit, take in np.ndindex(4, 2, 40):
            phase = np.outer([0.05 + 0.02 * speaker + 0.001 * take, 0.3 + 0.2 * digit], range(1600))
            sound = 0.2 * np.sin(phase).sum(axis=0)
            soundfile.write(f"voices/{speaker}_{digit}_{take}.wav", sound, 8000)
        threading.settrace(trace)
        sys.settrace(trace)
        for command in JOB.splitlines():
            if import_module("withhold.cli.main").outcome([*command.split(), "--quiet"]) != 0:
                sys.exit(f"failed: withhold {command}")
        sys.settrace(None)
    return {path for path in seen if path.startswith(f"{SOURCE}{os.sep}")}


def repeated(names: list[str]) -> str:
    """How many of the names occur more than once, and which."""
    twice = sorted(name for name, times in Counter(names).items() if times > 1)
    return f"{len(twice)}: {', '.join(twice)}" if twice else "0"


texts = {path: path.read_text() for path in SOURCE.rglob("*.py")}
nodes = (node for text in texts.values() for node in ast.walk(ast.parse(text)))
classes = [node.name for node in nodes if isinstance(node, ast.ClassDef)]
lines = {str(path.relative_to(SOURCE)): len(text.splitlines()) for path, text in texts.items()}
linter = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
print(f"""| measure | value |
|---|---|
| root modules | {sum("/" not in name for name in lines) - 1} |
| layers of the import contract | {len(linter["contracts"][0]["layers"])} |
| source files, lines | {len(lines)}, {sum(lines.values())} |
| median file, largest file | {np.median([*lines.values()]):.0f}, {max(lines.values())} |
| repeated class names | {repeated(classes)} |
| repeated module names | {repeated([p.stem for p in texts if p.stem != "__init__"])} |
| files on the way of one record | {len(files_of_a_job())} |""")
