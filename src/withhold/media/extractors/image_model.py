"""Any network for pictures in transformers: ViT, DINOv2, the picture half of CLIP, ResNet, …

x is one vector per picture: the class token, the mean over the patches, or the network's own
pooled vector (`pool`), after its last or an earlier block (`layer`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import torch
from pydantic import Field
from torch import Tensor

from withhold.core.errors import UserError
from withhold.media.extractors.extractor import (
    ExtractorConfig,
    FloatArray,
    Prepared,
    WeightsConfig,
)
from withhold.media.extractors.hub import HubExtractor, reading
from withhold.media.extractors.image_input import ImageInput, image_side
from withhold.records.samples import Picture, Sample

# Of networks for pictures and text, the half for pictures.
_HALVES = {"clip": "CLIPVisionModel", "siglip": "SiglipVisionModel"}
_CLASS_TOKENS = ("cls_token", "class_embedding", "distillation_token")


class ImageModelConfig(WeightsConfig):
    """Which network, and which of its outputs."""

    layer: int | None = Field(
        None,
        description="block whose output is taken (0 the embeddings, -1 the last); None: the end",
    )
    pool: Literal["auto", "cls", "mean"] = Field(
        "auto", description="the network's own way, its class token, or the mean over the picture"
    )


class ImageModel(HubExtractor):
    """Features of a network by folder or by name on the hub."""

    name = "image-model"
    kind = "image"
    takes = "a picture of any size, made as the network's preprocessor_config.json says"
    source = "a folder that save_pretrained wrote, or a name on the model hub"
    licence = "that of the weights you name"
    config_type = ImageModelConfig
    config: ImageModelConfig
    batch = 16

    def __init__(self, config: ExtractorConfig | None = None) -> None:
        super().__init__(config)
        self._input = ImageInput.from_settings(
            self._processor_settings(), side=image_side(self._network.config)
        )
        names = {name.rpartition(".")[2] for name, _ in self._network.named_parameters()}
        self._class_tokens = sum(token in names for token in _CLASS_TOKENS)
        self._dimension = self._try()

    @property
    def dimension(self) -> int:
        """Length of a feature vector."""
        return self._dimension

    def _model_class(self) -> str:
        where = self._where()
        with reading(where, download=self._download, extractor=self.name) as transformers:
            settings = transformers.AutoConfig.from_pretrained(
                where, local_files_only=not self._download, trust_remote_code=False
            )
        return _HALVES.get(settings.model_type, "AutoModel")

    def prepare(self, sample: Sample) -> Prepared:
        """The network's input, (3, h, w)."""
        assert isinstance(sample, Picture)
        return self._input(sample.pixels)

    @torch.inference_mode()
    def forward(self, prepared: Sequence[Prepared]) -> FloatArray:
        """Raw features of a batch, (b, dimension)."""
        pixels = torch.from_numpy(np.stack(prepared)).to(self._network.device)
        wanted = {} if self.config.layer is None else {"output_hidden_states": True}
        x: FloatArray = self._pooled(self._network(pixel_values=pixels, **wanted)).cpu().numpy()
        return x

    def _try(self) -> int:
        """The length of the features of a grey picture; an error says why there are none."""
        try:
            x = self.forward([self._input(np.full((64, 64, 3), 128, np.uint8))])
        except UserError:
            raise
        except (TypeError, ValueError, AttributeError, RuntimeError) as error:
            line = str(error).strip().splitlines()[0]
            raise UserError(f"'{self._where()}' is no network for pictures: {line}") from error
        return int(x.shape[1])

    def _pooled(self, out: Any) -> Tensor:
        """One vector a picture, (b, d), from the network's output."""
        layer, pool = self.config.layer, self.config.pool
        if pool == "auto" and layer is None and self._pools_well(out):
            pooled: Tensor = out.pooler_output
            return pooled.flatten(1)
        hidden = out.last_hidden_state if layer is None else _at(out.hidden_states, layer)
        if pool == "cls" and (hidden.ndim != 3 or self._class_tokens == 0):
            raise UserError("this network has no class token; use pool=mean")
        if hidden.ndim == 4:  # a map (b, d, h, w)
            return hidden.mean(dim=(2, 3))
        if pool != "mean" and self._class_tokens:
            return hidden[:, 0]
        # The first tokens are not parts of the picture.
        extra = self._class_tokens + int(getattr(self._network.config, "num_register_tokens", 0))
        return hidden[:, extra:].mean(dim=1)

    def _pools_well(self, out: Any) -> bool:
        """Whether the network's own vector was trained with it.

        A dense layer on the class token (ViT) served the last step of training, or no step.
        """
        dense = getattr(getattr(self._network, "pooler", None), "dense", None)
        return getattr(out, "pooler_output", None) is not None and dense is None


def _at(hidden: tuple[Tensor, ...], layer: int) -> Tensor:
    if not -len(hidden) <= layer < len(hidden):
        raise UserError(f"layer {layer}: the network has layers 0 to {len(hidden) - 1}")
    return hidden[layer]
