"""`moonshine`: sound to a 288-d vector of what is said.

    x = n(mean over t of h_t),  h: (t, 288) the last hidden state of the encoder of Moonshine tiny

The encoder of a small English speech recogniser (Jeffries et al. 2024), eight bits a weight. It
scales its eight-bit activations by the largest value of its whole input, so a second clip in the
batch, or padding after a clip, changes the features by far more than rounding (0.6 of a hidden
value of 6). Every clip therefore runs alone and unpadded, one clip per core.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from withhold.learn.nets.device import core_count
from withhold.media.decode.sounds import resampled
from withhold.media.extractors.extractor import (
    Extractor,
    ExtractorConfig,
    FloatArray,
    Prepared,
    unit,
)
from withhold.media.optional import needed
from withhold.media.weights import PackageFile
from withhold.records.samples import Sample, Sound

_RATE = 16_000
# The convolutions (127 wide every 64, 7 every 3, 3 every 2) give their first step at this length.
_LEAST = 127 + 64 * (7 + 3 * (3 - 1) - 1)
# Attention costs the square of the length; longer sound is cut into equal pieces of at most this.
_MOST = 30 * _RATE

_WEIGHTS = PackageFile(
    module="moonshine_voice",
    path="assets/tiny-en/encoder_model.ort",
    sha256="94e90a4654fc45cdfedb77c4c08e1739f48862998e58fada384b25118134f221",
    install="moonshine-voice==0.0.65",
    licence="MIT",
)


class Moonshine(Extractor):
    """The extractor; prepared: (t,) samples at 16 kHz."""

    name = "moonshine"
    kind = "sound"
    takes = "sound at 16 kHz, all of it; less than 56 ms is zero-padded"
    source = "Moonshine tiny, English, from moonshine-voice 0.0.65 of the package index"
    licence = _WEIGHTS.licence
    dimension = 288

    def __init__(self, config: ExtractorConfig | None = None) -> None:
        super().__init__(config)
        onnxruntime = needed("onnxruntime", by=self.name)
        options = onnxruntime.SessionOptions()
        # One thread per clip and one clip per core: a session's own threads gain less, and spin.
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        self._session = onnxruntime.InferenceSession(
            str(_WEIGHTS.locate()), options, providers=["CPUExecutionProvider"]
        )
        self.fingerprint = _WEIGHTS.sha256

    def prepare(self, sample: Sample) -> Prepared:
        """Samples at 16 kHz, enough of them for one step."""
        assert isinstance(sample, Sound)
        wave = resampled(sample, _RATE).samples
        return np.pad(wave, (0, max(_LEAST - len(wave), 0)))

    def forward(self, prepared: Sequence[Prepared]) -> FloatArray:
        """The mean over time of each sound, of unit length."""
        with ThreadPoolExecutor(core_count()) as pool:
            return unit(np.stack(list(pool.map(self._mean, prepared))))

    def _mean(self, wave: Prepared) -> FloatArray:
        pieces = np.array_split(wave, -(-len(wave) // _MOST))
        steps = np.concatenate([self._hidden(piece) for piece in pieces])
        mean: FloatArray = steps.mean(axis=0)
        return mean

    def _hidden(self, wave: Prepared) -> FloatArray:
        whole = np.ones((1, len(wave)), np.int64)
        given = {"input_values": wave[None].astype(np.float32), "attention_mask": whole}
        hidden: FloatArray = self._session.run(["last_hidden_state"], given)[0][0]
        return hidden
