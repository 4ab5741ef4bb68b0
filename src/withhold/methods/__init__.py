"""Methods: ways to learn a modifier. Importing this package registers them all."""

from importlib import import_module
from pkgutil import iter_modules

from withhold.learn.journal import Journal
from withhold.methods import clips, features, images, sounds
from withhold.methods.channel import Channel
from withhold.methods.modifier import FeatureModifier, Labels, Modifier
from withhold.methods.registry import Method, get_method, method_names, read_config, require_kind

__all__ = [
    "Channel",
    "FeatureModifier",
    "Journal",
    "Labels",
    "Method",
    "Modifier",
    "get_method",
    "method_names",
    "read_config",
    "require_kind",
]

# All modules of these packages are imported, and register their methods. So a new method is one
# new file. Baselines come last, as in the lists that users read.
for _kind in (features, images, clips, sounds):
    _names = [module.name for module in iter_modules(_kind.__path__)]
    for _name in sorted(_names, key=lambda name: (name == "baselines", name)):
        import_module(f"{_kind.__name__}.{_name}")
