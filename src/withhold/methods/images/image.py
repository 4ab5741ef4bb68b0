"""What the image anonymisers share: a filter of pixels, and the region where it acts."""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from typing import Self, TypeVar

from pydantic import Field, model_validator

from withhold.media.regions import FOUND, Detector, Missing, Region, Where, apply_in
from withhold.methods.media_filter import FilterConfig, FilterModifier
from withhold.records.samples import ByteArray, Clip, Picture, Sample

REGION = "the whole image, the faces or people found in it, or what moves in a clip"


class ImageConfig(FilterConfig):
    """Settings of all image filters: the region that they change."""

    region: Where = Field("whole", description=REGION)
    area: float = Field(1.0, gt=0, le=100, description="changed area relative to the box found")
    missing: Missing = Field(
        "whole",
        description="an image in which nothing is found: change it all, keep it or refuse it",
    )

    @model_validator(mode="after")
    def _area_of_something(self) -> Self:
        if self.region not in FOUND and self.area != 1:
            raise ValueError("area is relative to a box; set region: faces, or region: people")
        return self


C = TypeVar("C", bound=ImageConfig)


class ImageModifier(FilterModifier[C]):
    """A filter on an image, or on every frame of a clip; boxes are tracked through a clip."""

    kinds = ("image", "clip")

    def __init__(self, config: C, key: bytes, *, detector: Detector | None = None) -> None:
        super().__init__(config, key)
        self._detector = detector

    @abstractmethod
    def change(self, pixels: ByteArray) -> ByteArray:
        """The filter on whole images, (..., h, w, 3) to the same."""

    def _apply(self, sample: Sample) -> Sample:
        if isinstance(sample, Clip):
            return Clip(self._changed(sample.frames), sample.rate)
        assert isinstance(sample, Picture)  # the only other kind that `apply` accepts
        return Picture(self._changed(sample.pixels[None])[0])

    def _changed(self, frames: ByteArray) -> ByteArray:
        """Frames (t, h, w, 3), changed in the region."""
        if self.config.region == "whole":
            return self.change(frames)
        masks = self._region.masks(frames)
        return apply_in(frames, self.change(frames), masks)

    @cached_property
    def _region(self) -> Region:
        """Made on first use, so that describing a modifier loads no network."""
        config = self.config
        detector = self._detector or _detector(config.region)
        return Region(config.region, config.area, config.missing, detector)


def _detector(where: Where) -> Detector | None:
    if where == "faces":
        from withhold.media.face_detector import FaceDetector

        return FaceDetector()
    if where == "people":
        from withhold.media.person_detector import PersonDetector

        return PersonDetector()
    return None
