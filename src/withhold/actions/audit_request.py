"""The options of an audit of files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import Field

from withhold.actions.engine_options import EngineOptions
from withhold.actions.request import DataOptions, Opening, Request
from withhold.audit.audit_settings import AuditSettings


class MediaFeatures(Request):
    """How an audit of media makes features."""

    extractor: str | None = None
    settings: dict[str, Any] = Field(default_factory=dict)
    opening: Opening = Opening()
    names: Path | None = None


class AuditRequest(Request):
    """An original, its release, the settings of the audit, and the folder for the evidence.

    Without a release, the original is audited. `same_order` confirms that the records are in the
    same order. `rows` lists which row became which. `again` are other draws of the same release.
    `of_engine`: where the attacks run.
    """

    original: Path
    release: Path | None = None
    output: Path
    settings: AuditSettings = AuditSettings()
    reading: DataOptions = DataOptions()
    release_features: str | None = None
    media: MediaFeatures = MediaFeatures()
    same_order: bool = False
    rows: Path | None = None
    again: tuple[Path, ...] = ()
    key: Path | None = None
    log: tuple[str, ...] = ()
    of_engine: EngineOptions = EngineOptions()
