"""`latent-adapter`: an adapter on frozen features, as in SPLAVU."""

from withhold.methods.features.latent_adapter.config import LatentAdapterConfig
from withhold.methods.features.latent_adapter.fit import LatentAdapter, train_adapter
from withhold.methods.features.latent_adapter.modifier import LatentAdapterModifier

__all__ = ["LatentAdapter", "LatentAdapterConfig", "LatentAdapterModifier", "train_adapter"]
