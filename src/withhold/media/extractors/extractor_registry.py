"""Extractors by name; a module is imported when its extractor is asked for."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from pydantic import ValidationError

from withhold.core.errors import UserError, did_you_mean, listing
from withhold.media.extractors.extractor import Extractor

# name: module and class; the order is that of the documentation.
_WHERE = {
    "logmel": ("logmel", "LogMel"),
    "ge2e-speaker": ("ge2e", "Ge2eSpeaker"),
    "moonshine": ("moonshine", "Moonshine"),
    "hubert-base": ("hubert", "HubertBase"),
    "hubert-large": ("hubert", "HubertLarge"),
    "pixels": ("pixels", "Pixels"),
    "hog": ("hog", "Hog"),
    "dlib-face": ("dlib_face", "DlibFace"),
    "facenet": ("facenet", "FaceNet"),
    "image-model": ("image_model", "ImageModel"),
    "frame-stats": ("frame_stats", "FrameStats"),
    "r3d18": ("r3d18_features", "R3D18"),
    "videomae": ("videomae", "VideoMae"),
    "minilm": ("text_model", "MiniLm"),
    "text-model": ("text_model", "TextModel"),
}
EXTRACTORS = tuple(_WHERE)


def extractor_type(name: str) -> type[Extractor]:
    """The class of that name."""
    if name not in _WHERE:
        raise UserError(
            f"there is no extractor '{name}'{did_you_mean(name, EXTRACTORS)}"
            f" (extractors: {listing(EXTRACTORS, most=20)})"
        )
    module, of = _WHERE[name]
    found: type[Extractor] = getattr(import_module(f"withhold.media.extractors.{module}"), of)
    return found


def make_extractor(name: str, settings: dict[str, Any] | None = None) -> Extractor:
    """An extractor with settings from a mapping (the command line, a recipe)."""
    kind = extractor_type(name)
    try:
        return kind(kind.config_type.model_validate(settings or {}))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(p) for p in first["loc"])
        if first["type"] == "extra_forbidden":
            known = list(kind.config_type.model_fields)
            hint = did_you_mean(where, known) or f" (settings: {listing(known)})"
            raise UserError(f"extractor '{name}' has no setting '{where}'{hint}") from error
        raise UserError(f"setting '{where}' of extractor '{name}': {first['msg']}") from error


def extractor_from_state(state: dict[str, Any]) -> Extractor:
    """The extractor that a dataset was made with; other weights than then are refused."""
    try:
        made = extractor_type(state["name"]).from_state(state)
    except (KeyError, TypeError, ValidationError) as error:
        raise UserError(
            "the dataset was made by another version, which wrote other notes on its extractor;"
            " extract it again"
        ) from error
    if made.fingerprint != state.get("fingerprint", ""):
        raise UserError(
            f"the weights of '{made.name}' are not those that the dataset was made with;"
            " restore them, or extract both again"
        )
    return made
