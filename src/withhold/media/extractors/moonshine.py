"""`moonshine`: sound to a 288-d vector of what is said.

    x = n(mean over t of h_t),  h: (t, 288) the last hidden state of the encoder of Moonshine tiny

The encoder of a small English speech recogniser (Jeffries et al. 2024), eight bits a weight. It
scales its eight-bit activations by the largest value of all it is given, so a second clip in the
batch, or padding behind a clip, changes the features by far more than rounding (0.6 of a hidden
value of 6): every clip runs alone, unpadded, one clip a core.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from withhold.core.errors import UserError
from withhold.learn.nets.device import core_count
from withhold.media.decode.sounds import resampled
from withhold.media.extractors.extractor import Extractor, FloatArray, Prepared, unit
from withhold.media.weights import PackageFile, file_hash
from withhold.records.samples import Sample, Sound

_RATE = 16_000
# The convolutions (127 wide every 64, 7 every 3, 3 every 2) give their first step at this length.
_LEAST = 127 + 64 * (7 + 3 * (3 - 1) - 1)
# Attention costs the square of the length; longer sound goes in equal pieces no longer than this.
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
    takes = "sound at 16 kHz, all of it; shorter than 56 ms is zero-padded to that"
    source = "Moonshine tiny, English, from moonshine-voice 0.0.65 of the package index"
    licence = _WEIGHTS.licence

    @property
    def dimension(self) -> int:
        """288."""
        return 288

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the file of weights."""
        return file_hash(self._file)

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

    @cached_property
    def _file(self) -> Path:
        return _WEIGHTS.locate()

    @cached_property
    def _session(self) -> Any:
        try:
            import onnxruntime
        except ImportError as error:
            raise UserError(
                'moonshine needs the package onnxruntime: pip install "withhold[media]"'
                " -c constraints.txt"
            ) from error
        options = onnxruntime.SessionOptions()
        # One thread a clip and a clip a core: a session's own threads gain less, and spin.
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        return onnxruntime.InferenceSession(
            str(self._file), options, providers=["CPUExecutionProvider"]
        )
