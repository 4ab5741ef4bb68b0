"""text-model and minilm: sentences that mean the same are near, and padding changes nothing."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import numpy as np
import pytest
import torch
import transformers

from contracts.extractor import ExtractorContract
from withhold.core.errors import UserError
from withhold.media.extractors.extractor import WeightsConfig
from withhold.media.extractors.text_model import MiniLm, TextModel
from withhold.records.samples import BadMedia, Sample

WORDS = ["the", "cat", "sat", "on", "a", "mat", "looked", "at", "rain", "over", "grey", "town"]


def sentences(n: int, seed: int) -> list[Sample]:
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(WORDS, 2 + 9 * (i % 3))) + f" {seed}{i}." for i in range(n)]


@cache
def shared() -> str:
    """A random BERT with places for 40 tokens and a word for every word above, and a tokenizer."""
    folder = Path(mkdtemp())
    torch.manual_seed(0)
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS, *"0123456789."]
    vocabulary += [f"##{c}" for c in "0123456789"]
    (folder / "vocab.txt").write_text("\n".join(vocabulary))
    transformers.utils.logging.disable_progress_bar()
    names = {word: i for i, word in enumerate(vocabulary)}
    transformers.BertTokenizer(vocab=names).save_pretrained(folder)
    config = transformers.BertConfig(
        vocab_size=len(vocabulary), hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=32, max_position_embeddings=40,
    )  # fmt: skip
    transformers.BertModel(config, add_pooling_layer=False).save_pretrained(folder)
    return str(folder)


class TestTextModel(ExtractorContract):
    @classmethod
    def make(cls) -> TextModel:
        return TextModel(WeightsConfig(weights=shared()))

    @classmethod
    def samples(cls, n: int, seed: int) -> list[Sample]:
        return sentences(n, seed)


class TestMiniLm(ExtractorContract):
    @classmethod
    def make(cls) -> MiniLm:
        return MiniLm()

    @classmethod
    def samples(cls, n: int, seed: int) -> list[Sample]:
        return sentences(n, seed)

    def test_paraphrases_are_near(self) -> None:
        x = self.features(
            [
                "A man is playing a guitar on the street.",
                "Somebody plays guitar outside, on the road.",
                "The central bank raised interest rates last week.",
            ]
        )
        assert self.extractor().dimension == 384
        near, far = x[0] @ x[1], max(x[0] @ x[2], x[1] @ x[2])
        assert near > 0.6
        assert far < 0.2

    def test_features_are_the_mean_over_the_tokens(self) -> None:
        text, extractor = "a cat on a mat", self.extractor()
        assert isinstance(extractor, MiniLm)
        network = transformers.AutoModel.from_pretrained(extractor._where()).eval()
        tokens = extractor.prepare(text)
        # all-MiniLM's own numbers: [CLS] a cat on a mat [SEP]
        assert tokens.tolist() == [101, 1037, 4937, 2006, 1037, 13523, 102]
        with torch.inference_mode():
            hidden = network(torch.from_numpy(tokens)[None]).last_hidden_state[0].numpy()
        mean = hidden.mean(axis=0)
        # Beside a long text, so that it is padded.
        x = self.features([text, "rain " * 100])[0]
        np.testing.assert_allclose(x, mean / np.linalg.norm(mean), atol=1e-5)

    def test_text_is_cut_at_256_tokens(self) -> None:
        long = "rain and sun " * 200
        assert len(self.extractor().prepare(long)) == 256
        one, other = self.features([long, long + "and a word that nobody reads"])
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("text", ["", "  \n\t "])
def test_empty_text_is_bad_media(text: str) -> None:
    with pytest.raises(BadMedia, match="empty"):
        MiniLm().prepare(text)


def test_a_network_with_few_places_gets_no_more_tokens() -> None:
    extractor = TextModel(WeightsConfig(weights=shared()))
    prepared = extractor.prepare("rain " * 100)
    assert len(prepared) == 40
    assert np.isfinite(extractor.forward([prepared])).all()


def test_a_checkpoint_without_pooler_keeps_its_fingerprint() -> None:
    # transformers fills what a checkpoint lacks at random, at every start.
    first, second = (TextModel(WeightsConfig(weights=shared())) for _ in range(2))
    assert first.fingerprint == second.fingerprint
    assert first._network.pooler is None


def test_weights_must_be_named() -> None:
    with pytest.raises(UserError, match="--weights"):
        _ = TextModel().dimension


def test_a_network_with_a_decoder_is_refused(tmp_path: Path) -> None:
    config = transformers.T5Config(
        d_model=8, d_kv=4, d_ff=8, num_layers=1, num_heads=2, vocab_size=9
    )
    transformers.utils.logging.disable_progress_bar()
    transformers.T5Model(config).save_pretrained(tmp_path)
    with pytest.raises(UserError, match="encoder"):
        _ = TextModel(WeightsConfig(weights=str(tmp_path))).dimension
