"""A media set with settings: the base of those that are drawn, or read from a user's folder."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from withhold.core.errors import UserError, did_you_mean, listing
from withhold.core.progress import Progress
from withhold.datasets.media_file import MediaFile


class MediaSet(BaseModel):
    """The settings of a media set. An unknown name is refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @classmethod
    def of(cls, settings: Mapping[str, Any], name: str) -> Self:
        """Settings from a recipe; a `UserError` names the wrong one."""
        try:
            return cls.model_validate(dict(settings))
        except ValidationError as error:
            first = error.errors()[0]
            where = str(first["loc"][0]) if first["loc"] else "settings"
            if first["type"] == "extra_forbidden":
                known = cls.model_fields
                hint = did_you_mean(where, known) or f" (settings: {listing(known, most=20)})"
                raise UserError(f"media set '{name}' has no setting '{where}'{hint}") from error
            what = first["msg"].removeprefix("Value error, ")
            raise UserError(f"setting '{where}' of media set '{name}': {what}") from error

    @abstractmethod
    def write(
        self, folder: Path, most: int | None, *, progress: Progress | None = None
    ) -> MediaFile:
        """Write the set into `folder`, at most `most` media."""
