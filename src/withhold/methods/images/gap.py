"""`gap`: the filter of `replace` alone (generative adversarial privacy, Huang et al., 2018)."""

from __future__ import annotations

from withhold.core.progress import Progress
from withhold.learn.journal import FitContext, Journal
from withhold.methods.images.replace.config import PRESETS, GapConfig
from withhold.methods.images.replace.fit import LabelledImages, train
from withhold.methods.images.replace.modifier import GapModifier, ReplaceSettings
from withhold.methods.registry import method
from withhold.records.dataset import Dataset
from withhold.records.roles import Roles


@method
class Gap:
    """The fitter."""

    name = "gap"
    config_type = GapConfig
    presets = PRESETS
    modifier_type = GapModifier

    def fit(
        self,
        dataset: Dataset,
        roles: Roles,
        config: GapConfig,
        progress: Progress,
        *,
        seed: int,
        journal: Journal,
    ) -> GapModifier:
        """Train filter and reader."""
        data = LabelledImages.of(dataset, roles, config, progress)
        context = FitContext(seed, progress, journal, data.digest)
        networks = train(data, ["filter"], None, config, context)
        return GapModifier(
            networks,
            journal.key,
            ReplaceSettings.of(config, use_filter=True, classes=None),
        )
