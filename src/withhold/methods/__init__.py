"""Methods: ways to learn a modifier. Importing this package registers them all."""

from withhold.learn.journal import Journal
from withhold.methods.channel import Channel
from withhold.methods.features import codebook as _codebook
from withhold.methods.features import mass as _mass
from withhold.methods.features import mass_it as _mass_it
from withhold.methods.features import pass_ as _substitutes
from withhold.methods.features.baselines import registered as _baselines
from withhold.methods.modifier import Labels, Modifier
from withhold.methods.registry import Method, get_method, method_names, read_config

__all__ = [
    "Channel",
    "Journal",
    "Labels",
    "Method",
    "Modifier",
    "get_method",
    "method_names",
    "read_config",
]

del _codebook, _mass, _mass_it, _substitutes, _baselines
