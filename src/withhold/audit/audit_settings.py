"""The settings of an audit in a YAML file; options of the command line override them."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from withhold.core.errors import UserError, did_you_mean, listing
from withhold.media.attack_pixels import SIDE, STEP


class AuditSettings(BaseModel):
    """What to ask of a release. Lists may be written as text with commas."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    suppress: tuple[str, ...] = ()
    preserve: tuple[str, ...] = ()
    joint: tuple[str, ...] = Field((), description="each as A,B")
    fail_if: tuple[str, ...] = Field((), description="conditions of the gate")
    quick: bool = False
    id: str | None = None
    group: str | None = None
    average: str | None = Field(None, description="the column of the source to average over")
    certificate: str | None = Field(None, description="a certificate, or the bundle that has one")
    pixels: int = Field(
        SIDE,
        ge=0,
        le=256,
        multiple_of=STEP,
        description="side of the images that attackers read; 0: features only",
    )
    seed: int = Field(0, ge=0)

    @field_validator("suppress", "preserve", mode="before")
    @classmethod
    def _names(cls, value: Any) -> Any:
        return (
            [v.strip() for v in value.split(",") if v.strip()] if isinstance(value, str) else value
        )

    @field_validator("joint", "fail_if", mode="before")
    @classmethod
    def _texts(cls, value: Any) -> Any:
        if not isinstance(value, (list, tuple)):
            return [value] if isinstance(value, str) else () if value is None else value
        # A pair may be a list of its own: joint: [[gender, accent]]
        return [",".join(map(str, v)) if isinstance(v, list) else v for v in value]

    @classmethod
    def read(cls, values: dict[str, Any]) -> AuditSettings:
        """Settings from YAML. Raise `UserError` naming an unknown or wrong setting."""
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            first = error.errors()[0]
            name = str(first["loc"][0])
            if first["type"] == "extra_forbidden":
                known = list(cls.model_fields)
                hint = did_you_mean(name, known) or f" (settings: {listing(known, most=20)})"
                raise UserError(f"an audit has no setting '{name}'{hint}") from error
            raise UserError(f"setting '{name}' of the audit: {first['msg']}") from error

    def over(self, **given: Any) -> AuditSettings:
        """These settings, overridden by the options given on the command line."""
        values = self.model_dump()
        chosen = {k: v for k, v in given.items() if not (v is None or v is False or v == "")}
        return self.read(values | chosen)
