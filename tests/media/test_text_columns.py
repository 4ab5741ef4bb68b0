"""Free text of a table: where its embedding goes, and what leaves of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from zlib import crc32

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import withhold as wh
from withhold.core.errors import UserError
from withhold.media import text_columns
from withhold.media.extractors.extractor import Extractor, FloatArray, Prepared, unit
from withhold.media.text_columns import open_with_texts, with_texts
from withhold.records.readers import open_source
from withhold.records.samples import BadMedia, Sample

TOPICS = (
    ("football", "goal", "match", "team", "player", "stadium"),
    ("soup", "recipe", "oven", "bread", "butter", "salt"),
)
FILLERS = ("really", "often", "today", "friends", "talked", "again", "slowly")


class Words(Extractor):
    """A stand-in for MiniLM: which words a text has, by their checksums."""

    name, kind, takes, source, licence = "words", "text", "text", "none", "none"
    calls = 0

    @property
    def dimension(self) -> int:
        return 32

    def prepare(self, sample: Sample) -> Prepared:
        assert isinstance(sample, str)
        if sample.startswith("#"):
            raise BadMedia("no words")
        made = np.zeros(32, np.float32)
        for word in sample.split():
            made[crc32(word.encode()) % 32] += 1
        return made

    def forward(self, prepared: Sequence[Prepared]) -> FloatArray:
        Words.calls += len(prepared)
        return unit(np.stack(prepared))


@pytest.fixture(autouse=True)
def _words(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(text_columns, "make_extractor", lambda name: Words())
    text_columns._LAST.clear()
    Words.calls = 0
    yield
    text_columns._LAST.clear()


def _table(n: int = 500) -> tuple[pa.Table, np.ndarray]:
    """Notes tell a topic, and the sex in half of the texts of men."""
    rng = np.random.default_rng(0)
    sex, topic = rng.integers(0, 2, n), rng.integers(0, 2, n)
    notes = []
    for s, t in zip(sex, topic, strict=True):
        words = [*rng.choice(TOPICS[t], 4), *rng.choice(FILLERS, 5)]
        notes.append(" ".join([*words, *(["wife"] if s and rng.random() < 0.5 else ["people"])]))
    notes[3], notes[5], notes[7] = None, "  ", "# a text of which the model knows no single word #"
    table = pa.table(
        {
            "sex": np.array(["f", "m"])[sex],
            "age": rng.integers(18, 80, n),
            "notes": notes,
        }
    )
    return table, topic


def test_a_source_gets_a_vector_for_every_text() -> None:
    table, _ = _table()
    source = with_texts(open_source(table), "minilm")
    assert source.schema.names == ["sex", "age", "notes", "notes_embedding"]
    assert source.schema.field("notes_embedding").type == pa.list_(pa.float32(), 32)
    batches = list(source.batches(rows=90, columns=["notes_embedding", "age"]))
    assert [b.num_rows for b in batches[:2]] == [90, 90]
    column = pa.Table.from_batches(batches)["notes_embedding"]
    assert [i for i, v in enumerate(column) if not v.is_valid] == [3, 5, 7]
    one = Words().forward([Words().prepare(table["notes"][0].as_py())])
    np.testing.assert_array_equal(column[0].as_py(), one[0])
    assert len(set(table["notes"].to_pylist())) == Words.calls - 1 + 3  # each text once


def test_one_pass_over_a_file_embeds_and_later_ones_do_not(tmp_path: Path) -> None:
    pq.write_table(_table()[0], tmp_path / "t.parquet")
    first = open_with_texts(tmp_path / "t.parquet", "minilm")
    calls = Words.calls
    assert open_with_texts(tmp_path / "t.parquet", "minilm") is first
    assert Words.calls == calls


def test_refusals(tmp_path: Path) -> None:
    table, _ = _table()
    with pytest.raises(UserError, match="has no column of free text"):
        with_texts(open_source(table.drop_columns(["notes"])), "minilm")
    taken = table.append_column("notes_embedding", table["age"])
    with pytest.raises(UserError, match="already has a column 'notes_embedding'"):
        with_texts(open_source(taken), "minilm")
    with pytest.raises(UserError, match=r"\.csv holds no lists: save people\.csv as \.parquet"):
        open_with_texts(tmp_path / "people.csv", "minilm")


@pytest.fixture(scope="module")
def config() -> dict[str, object]:
    return {"codes": 16, "scores": "metric"}


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_the_release_has_the_topic_and_not_the_words(config: dict[str, object], seed: int) -> None:
    table, topic = _table()
    made = wh.release(
        table, suppress="sex", text="minilm", config=config, same_order=True, seed=seed
    )
    assert made.table.column_names == ["age", "notes_embedding"]
    vectors = made.table["notes_embedding"].to_pylist()
    there = np.array([v is not None for v in vectors])
    assert 0.98 < there.mean() <= 1
    x = np.array([v for v in vectors if v is not None])
    # A vector is that of its code, so there are no more of them than codes.
    assert len(np.unique(x, axis=0)) <= 16
    towards = x @ (x[topic[there] == 1].mean(axis=0) - x[topic[there] == 0].mean(axis=0))
    right = ((towards > np.median(towards)) == topic[there]).mean()
    assert right > 0.8
    claim = made.certificate.attributes["sex"].release
    assert claim is not None
    assert claim.stated <= claim.floor + 0.005


@pytest.mark.slow
def test_no_vector_is_near_the_vector_of_one_person_with_a_rare_word(
    config: dict[str, object],
) -> None:
    table, _ = _table()
    place = crc32(b"xylophone") % 32
    notes = table["notes"].to_pylist()
    usual = np.stack([Words().prepare(t)[place] for t in notes[10:]])
    notes[20] = " ".join(["xylophone"] * 9)
    odd = table.set_column(2, "notes", pa.array(notes))
    made = wh.release(odd, suppress="sex", text="minilm", config=config)
    x = np.array([v for v in made.table["notes_embedding"].to_pylist() if v is not None])
    assert x[:, place].max() <= max(usual.max(), 0.5)


@pytest.mark.slow
def test_vectors_are_written_and_read_again(config: dict[str, object], tmp_path: Path) -> None:
    pq.write_table(_table()[0], tmp_path / "t.parquet")
    made = wh.release(tmp_path / "t.parquet", suppress="sex", text="minilm", config=config)
    made.write(tmp_path / "out.parquet")
    again = pq.read_table(tmp_path / "out.parquet")
    assert again.schema.field("notes_embedding").type == pa.list_(pa.float32(), 32)
    made.write(tmp_path / "out.jsonl")
    assert wh.Dataset.read(tmp_path / "out.jsonl", kind="table").table.num_rows == 500
