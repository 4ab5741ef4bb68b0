"""Attackers: models that infer an attribute from a release, one per file, weakest first.

Importing the package registers them on the ladder.
"""

from withhold.audit.attackers.attacker import (
    Attacker,
    Prediction,
    attacker,
    attacker_names,
    get_attackers,
)

from withhold.audit.attackers.prior import Prior  # isort: skip
from withhold.audit.attackers.logistic import Logistic  # isort: skip
from withhold.audit.attackers.nearest import Nearest  # isort: skip
from withhold.audit.attackers.kernel import Kernel  # isort: skip
from withhold.audit.attackers.trees import Trees  # isort: skip
from withhold.audit.attackers.bits import Bits  # isort: skip
from withhold.audit.attackers.waves import Waves  # isort: skip
from withhold.audit.attackers.parity import Parity  # isort: skip
from withhold.audit.attackers.mlp_attacker import Mlp, MlpLarge, MlpSmall  # isort: skip
from withhold.audit.attackers.pixel_cnn import PixelCnn, PixelCnnDeep, PixelDetail  # isort: skip
from withhold.audit.attackers.clip_cnn import ClipR3D, ClipStack, FrameCnn, FrameDetail  # isort: skip

__all__ = [
    "Attacker",
    "Bits",
    "ClipR3D",
    "ClipStack",
    "FrameCnn",
    "FrameDetail",
    "Kernel",
    "Logistic",
    "Mlp",
    "MlpLarge",
    "MlpSmall",
    "Nearest",
    "Parity",
    "PixelCnn",
    "PixelCnnDeep",
    "PixelDetail",
    "Prediction",
    "Prior",
    "Trees",
    "Waves",
    "attacker",
    "attacker_names",
    "get_attackers",
]
