"""Every classical anonymiser keeps the contract."""

from __future__ import annotations

from typing import Any, ClassVar

from contracts.media_filter import MediaFilterContract
from withhold.methods import get_method, method_names

FILTERS = [name for name in method_names() if not get_method(name).modifier_type.learned]
KEYED = {"white-noise", "mask"}


def _contract(name: str) -> type[MediaFilterContract]:
    body = {"method": name, "keyed": name in KEYED, "__module__": __name__}
    if name == "blacken":
        body["config"] = {"region": "whole"}
    return type(f"Test{name.title().replace('-', '')}", (MediaFilterContract,), body)


# One class a method, so that a failure names it: TestBlur::test_…
globals().update({cls.__name__: cls for cls in map(_contract, FILTERS)})


class TestNoiseAtARatio(MediaFilterContract):
    method = "white-noise"
    config: ClassVar[dict[str, Any]] = {"snr": 5.0, "zone": [0.0, 1.0]}
    keyed = True


class TestMaskWithNoise(MediaFilterContract):
    method = "mask"
    config: ClassVar[dict[str, Any]] = {"preset": "mass"}
    keyed = True


class TestDrawnMcAdams(MediaFilterContract):
    method = "mcadams"
    config: ClassVar[dict[str, Any]] = {"preset": "voiceprivacy-random"}
    keyed = True


class TestBlackFaces(MediaFilterContract):
    """With the detector that ships; noise has no face, so all of it goes."""

    method = "blacken"
