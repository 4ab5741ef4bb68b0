"""Free text in a mixed table: its embedding joins the columns, as vectors."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from withhold.core.errors import UserError
from withhold.core.progress import Progress, Silent
from withhold.media.extractors.extractor import Extractor
from withhold.media.extractors.extractor_registry import make_extractor
from withhold.records.arrow_kinds import is_text
from withhold.records.readers import Source, open_source
from withhold.records.samples import BadMedia
from withhold.records.tabular import is_free_text

ENDING = "_embedding"
_NO_LISTS = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".xlsx")
FloatArray = npt.NDArray[np.float32]
_LAST: dict[tuple[str, int, int, str, str | None], Source] = {}


class EmbeddedTexts(Source):
    """A source with a column NAME_embedding for every column NAME of free text.

    Each different text is embedded once, in an order that depends on the texts alone, so that the
    same file gives the same numbers in every run. A missing or empty text has no vector.
    """

    def __init__(self, source: Source, extractor: Extractor, progress: Progress) -> None:
        self.source, self.name, self.num_rows = source, source.name, source.num_rows
        self.by_column = source.by_column
        self.delimiter = getattr(source, "delimiter", None)
        self.kind = pa.list_(pa.float32(), extractor.dimension)
        self._vectors: dict[str, tuple[dict[str, int], FloatArray]] = {}
        schema = source.schema
        for name in _text_columns(source):
            if name + ENDING in schema.names:
                raise UserError(
                    f"{source.name} already has a column '{name}{ENDING}', and --text would add"
                    " one; rename it"
                )
            self._vectors[name] = _embedded(source, name, extractor, progress)
            schema = schema.append(pa.field(name + ENDING, self.kind))
        if not self._vectors:
            raise UserError(
                f"{source.name} has no column of free text (long values that seldom repeat); leave"
                " out --text"
            )
        self.schema = schema

    def _read(self, rows: int, columns: list[str]) -> Iterable[pa.RecordBatch]:
        texts = {f"{name}{ENDING}": name for name in self._vectors}
        plain = [c for c in columns if c not in texts]
        needed = [*plain, *(texts[c] for c in columns if c in texts and texts[c] not in plain)]
        for batch in self.source.batches(rows=rows, columns=needed):
            arrays = [
                self._column(texts[c], batch.column(texts[c])) if c in texts else batch.column(c)
                for c in columns
            ]
            yield pa.RecordBatch.from_arrays(
                arrays, schema=pa.schema([self.schema.field(c) for c in columns])
            )

    def _column(self, name: str, texts: pa.Array) -> pa.Array:
        place, known = self._vectors[name]
        rows = np.array([place.get(t, -1) if t else -1 for t in texts.to_pylist()], np.int64)
        gone = rows < 0
        flat = known[np.where(gone, len(known) - 1, rows)].reshape(-1)
        return pa.FixedSizeListArray.from_arrays(
            pa.array(flat), type=self.kind, mask=pa.array(gone)
        )


def open_with_texts(
    path: Path, model: str, *, delimiter: str | None = None, progress: Progress | None = None
) -> Source:
    """The file with embeddings of its free text; one file is remembered, since each pass reads it.

    A release of vectors needs a format that holds lists.
    """
    if path.name.lower().endswith(_NO_LISTS):
        raise UserError(
            f"--text releases a vector for every row, and {path.suffix} holds no lists: save"
            f" {path.name} as .parquet or .jsonl (pandas: df.to_parquet)"
        )
    facts = os.stat(path)
    which = (os.path.realpath(path), facts.st_size, facts.st_mtime_ns, model, delimiter)
    if which not in _LAST:
        found = with_texts(open_source(path, delimiter=delimiter), model, progress)
        _LAST.clear()
        _LAST[which] = found
    return _LAST[which]


def with_texts(source: Source, model: str, progress: Progress | None = None) -> Source:
    """A source in memory with embeddings of its free text."""
    return EmbeddedTexts(source, make_extractor(model), progress or Silent())


def _text_columns(source: Source) -> list[str]:
    found = []
    for field in source.schema:
        kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        if is_text(kind):
            batches = list(source.batches(columns=[field.name]))
            if is_free_text(pa.Table.from_batches(batches)[field.name]):
                found.append(field.name)
    return found


def _embedded(
    source: Source, name: str, extractor: Extractor, progress: Progress
) -> tuple[dict[str, int], FloatArray]:
    """The place of every different text, and the vectors (m + 1, d); the last is zero."""
    texts: set[str] = set()
    for batch in source.batches(columns=[name]):
        texts.update(t for t in batch.column(0).unique().to_pylist() if t and t.strip())
    order = sorted(texts, key=lambda text: (len(text), text))  # little padding in a batch
    place: dict[str, int] = {}
    pieces: list[FloatArray] = []
    with progress.stage(f"embedding '{name}'", len(order)) as bar:
        for start in range(0, len(order), extractor.batch):
            some = order[start : start + extractor.batch]
            pieces += _vectors(some, extractor, place)
            bar.advance(len(some))
    pieces.append(np.zeros((1, extractor.dimension), np.float32))
    return place, np.concatenate(pieces)


def _vectors(texts: Sequence[str], extractor: Extractor, place: dict[str, int]) -> list[FloatArray]:
    usable, prepared = [], []
    for text in texts:
        try:
            prepared.append(extractor.prepare(text))
        except BadMedia:
            continue
        usable.append(text)
    if not usable:
        return []
    for text in usable:
        place[text] = len(place)
    return [extractor.finish(extractor.forward(prepared))]
