"""What an extraction has done so far: raw features in separate files, in order.

    DATA.partial/plan.json                  the media and the extractor
    DATA.partial/part-START-STOP.parquet    raw features and labels of items START to STOP

A part appears complete or not at all. When the same extraction runs again, it continues after the
last part. If anything that determines the features has changed, all parts are removed.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from withhold.core.atomic import open_new, refuse_link, write_bytes, writing_to
from withhold.media.extractors.extractor import FloatArray
from withhold.media.pipeline import Block, Skipped

X, NOTE = "withhold.x", b"withhold.skipped"
_NAME = re.compile(r"part-(\d+)-(\d+)\.parquet")
_OURS = re.compile(r"part-\d+-\d+\.(parquet|writing)|\.?plan\.json(\.partial)?")


class ExtractedParts:
    """The parts in one folder, made for one plan."""

    def __init__(self, folder: Path, plan: dict[str, Any]) -> None:
        self.folder = folder
        wanted = json.dumps(plan, indent=1, sort_keys=True).encode()
        refuse_link(folder)
        with writing_to(folder):
            folder.mkdir(exist_ok=True)
            note = folder / "plan.json"
            if not note.exists() or note.read_bytes() != wanted:
                self.remove()
                folder.mkdir(exist_ok=True)
                write_bytes(note, wanted)
        self.paths = self._sound()

    @property
    def stop(self) -> int:
        """How many items are done."""
        return _range(self.paths[-1])[1] if self.paths else 0

    def write(self, some: Sequence[Block]) -> None:
        """Write consecutive blocks as one part."""
        raw = np.concatenate([block.raw for block in some])
        labels = pa.concat_tables([block.labels for block in some])
        x = pa.FixedSizeListArray.from_arrays(pa.array(raw.ravel()), raw.shape[1])
        table = labels.append_column(X, x)
        skipped = [asdict(s) for block in some for s in block.skipped]
        table = table.replace_schema_metadata({NOTE: json.dumps(skipped)})
        path = self.folder / f"part-{some[0].start:012d}-{some[-1].stop:012d}.parquet"
        partial = path.with_suffix(".writing")
        try:
            with writing_to(path):
                with open_new(partial) as file:
                    pq.write_table(table, file, compression="none", use_dictionary=False)
                    file.flush()
                    os.fsync(file.fileno())
                os.replace(partial, path)
        finally:
            with suppress(OSError):
                partial.unlink(missing_ok=True)
        self.paths.append(path)

    def read(self) -> Iterator[tuple[FloatArray, pa.Table]]:
        """Raw features and labels, part by part."""
        for path in self.paths:
            table = pq.read_table(path, memory_map=False)
            x = table.column(X).combine_chunks()
            width = x.type.list_size
            raw = x.flatten().to_numpy(zero_copy_only=False).reshape(-1, width)
            yield raw, table.drop_columns([X]).replace_schema_metadata(None)

    def labels(self) -> pa.Table:
        """The labels of every record."""
        found = []
        for path in self.paths:
            names = [n for n in pq.read_schema(path).names if n != X]
            found.append(pq.read_table(path, columns=names).replace_schema_metadata(None))
        return pa.concat_tables(found)

    @property
    def records(self) -> int:
        """How many records there are."""
        return sum(pq.read_metadata(path).num_rows for path in self.paths)

    def skipped(self) -> list[Skipped]:
        """Every item that gave no record."""
        notes = (pq.read_schema(path).metadata[NOTE] for path in self.paths)
        return [Skipped(**one) for note in notes for one in json.loads(note)]

    def remove(self) -> None:
        """Remove all parts. Other files in the folder stay."""
        self.paths = []
        for path in self.folder.iterdir():
            if _OURS.fullmatch(path.name):
                path.unlink()
        with suppress(OSError):
            self.folder.rmdir()

    def _sound(self) -> list[Path]:
        """The consecutive parts that can be read. Parts after a damaged one are removed."""
        kept: list[Path] = []
        stop = 0
        found = sorted(p for p in self.folder.iterdir() if _NAME.fullmatch(p.name))
        for path in found:
            try:
                readable = NOTE in (pq.read_schema(path).metadata or {})
            except (pa.ArrowException, OSError):
                readable = False
            start, end = _range(path)
            if readable and start == stop:
                kept.append(path)
                stop = end
            else:
                with suppress(OSError):
                    path.unlink()
        return kept


def _range(path: Path) -> tuple[int, int]:
    match = _NAME.fullmatch(path.name)
    assert match is not None
    return int(match[1]), int(match[2])
