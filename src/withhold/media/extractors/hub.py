"""Networks that the transformers library knows, from a folder or from the model hub.

No code of a checkpoint is run (`trust_remote_code` is off, torch files are read with
`weights_only`), and nothing is downloaded unless the user says `download`.
"""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

import safetensors
import torch

from withhold.core.errors import UserError
from withhold.learn.nets.device import pick_device
from withhold.media.extractors.extractor import Extractor, ExtractorConfig, WeightsConfig
from withhold.media.optional import needed

_HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?")
# Parameters that a checkpoint may lack, since no feature depends on them: the head on the first
# token, and the vector that replaces hidden frames in training.
_UNUSED = ("pooler.", "masked_spec_embed")


class HubExtractor(Extractor):
    """An extractor with a network of transformers; its width is the length of a feature vector."""

    config_type: ClassVar[type[ExtractorConfig]] = WeightsConfig
    default: ClassVar[str | None] = None  # the weights, where the user names none
    model_class: ClassVar[str] = "AutoModel"

    def __init__(self, config: ExtractorConfig | None = None) -> None:
        super().__init__(config)
        # A network of any class: torch knows nothing of its config.
        network: Any
        network, self.fingerprint = load_pretrained(
            self._where(),
            default=None,
            download=self._download,
            extractor=self.name,
            model_class=self._model_class(),
        )
        self._network = network.to(pick_device())

    @property
    def dimension(self) -> int:
        """The width of the network's hidden layers."""
        return int(self._network.config.hidden_size)

    @property
    def _download(self) -> bool:
        return isinstance(self.config, WeightsConfig) and self.config.download

    def _where(self) -> str:
        """The folder of the weights, or their name on the hub."""
        assert isinstance(self.config, WeightsConfig)
        return resolve(self.config.weights, default=self.default, extractor=self.name)

    def _model_class(self) -> str:
        return self.model_class

    def _processor_settings(self) -> dict[str, Any]:
        return load_processor_settings(self._where(), download=self._download)


def load_pretrained(
    weights: str | None,
    *,
    default: str | None,
    download: bool,
    extractor: str,
    model_class: str = "AutoModel",
) -> tuple[torch.nn.Module, str]:
    """The network (evaluating, float32, on the CPU) and the fingerprint of its weights.

    `weights` is a folder that `save_pretrained` wrote or a name on the hub; None takes `default`.
    A network whose checkpoint lacks a pooler gets none: `network.pooler is None`.
    """
    where = resolve(weights, default=default, extractor=extractor)
    with reading(where, download=download, extractor=extractor) as transformers:
        network, report = getattr(transformers, model_class).from_pretrained(
            where,
            local_files_only=not download,
            trust_remote_code=False,
            dtype=torch.float32,
            output_loading_info=True,
            ignore_mismatched_sizes=True,  # reported below, in one line
        )
    if report["mismatched_keys"]:
        name, stored, wanted = min(report["mismatched_keys"])
        raise UserError(
            f"the weights '{where}' of {extractor} do not fit its config.json: '{name}' is"
            f" {tuple(stored)}, not {tuple(wanted)}"
        )
    missing = sorted(report["missing_keys"])
    lacking = [name for name in missing if not name.startswith(_UNUSED)]
    if lacking:
        # transformers would fill them at random, with other features at every start.
        raise UserError(
            f"the weights '{where}' of {extractor} lack '{lacking[0]}'"
            f" ({len(lacking)} missing in all); they are of another network"
        )
    if any(name.startswith("pooler.") for name in missing):
        network.pooler = None
    network.eval().requires_grad_(False)
    tensors = {k: v for k, v in network.state_dict().items() if k not in missing}
    return network, tensors_hash(tensors)


def load_processor_settings(weights: str, *, download: bool) -> dict[str, Any]:
    """The contents of `preprocessor_config.json` (mean, size, do_normalize, …); {} without one.

    Newer checkpoints keep the same in `processor_config.json`, one level down.
    """
    where = resolve(weights, default=None, extractor="the extractor")
    settings: Any = {}
    with reading(where, download=download, extractor="the extractor") as transformers:
        for name in ("preprocessor_config.json", "processor_config.json"):
            found = transformers.utils.cached_file(
                where,
                name,
                local_files_only=not download,
                _raise_exceptions_for_missing_entries=False,
                _raise_exceptions_for_connection_errors=False,
            )
            if found is not None:
                settings = json.loads(Path(found).read_text("utf-8"))
                break
    if not isinstance(settings, dict):
        raise UserError(f"{name} of '{weights}' holds no settings")
    for inner in ("feature_extractor", "image_processor", "video_processor"):
        if isinstance(settings.get(inner), dict):
            settings.update(settings[inner])
    return dict(settings)


def resolve(weights: str | None, *, default: str | None, extractor: str) -> str:
    """A folder that is there, or a name on the hub."""
    named = weights or default
    if named is None:
        raise UserError(
            f"{extractor} needs weights: name a folder or a model of the hub with --weights"
        )
    folder = Path(named).expanduser()
    if folder.is_dir():
        return str(folder)
    if folder.exists() or not _HUB_NAME.fullmatch(named):
        raise UserError(
            f"weights '{named}' of {extractor}: there is no such folder, and a name on the hub"
            " looks like 'owner/model'"
        )
    return named


@contextmanager
def reading(where: str, *, download: bool, extractor: str) -> Iterator[Any]:
    """The silenced module transformers; its exceptions become one line for the user."""
    transformers = needed("transformers", by=extractor)
    local = Path(where).is_dir()
    try:
        with _silent(transformers.utils.logging):
            yield transformers
    except (
        OSError,
        ValueError,
        RuntimeError,
        KeyError,
        ImportError,
        pickle.UnpicklingError,
        safetensors.SafetensorError,
    ) as error:
        if isinstance(error, OSError) and not local and not download:
            raise UserError(
                f"{extractor}: the weights '{where}' are not on this machine; let them be fetched"
                " with --download, or name a folder with --weights"
            ) from error
        if isinstance(error, pickle.UnpicklingError):
            raise UserError(
                f"{extractor}: the weights '{where}' cannot be loaded without running code;"
                " save them as safetensors"
            ) from error
        line = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise UserError(f"{extractor}: the weights '{where}' cannot be loaded: {line}") from error


def tensors_hash(tensors: dict[str, torch.Tensor]) -> str:
    """SHA-256 over names, shapes and bytes, in order of name."""
    digest = hashlib.sha256()
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name} {tuple(tensor.shape)} {tensor.dtype};".encode())
        digest.update(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


@contextmanager
def _silent(logging: Any) -> Iterator[None]:
    """Without the library's bars and reports; restores the caller's settings."""
    # Otherwise transformers asks the hub to convert a checkpoint that is not safetensors.
    os.environ.setdefault("DISABLE_SAFETENSORS_CONVERSION", "1")
    verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity(logging.CRITICAL)
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()
