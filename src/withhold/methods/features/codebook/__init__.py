"""`codebook`: a release of finitely many codes, with a certificate that no attacker beats."""

from withhold.methods.features.codebook.config import CodebookConfig
from withhold.methods.features.codebook.fit import CodebookMethod
from withhold.methods.features.codebook.modifier import CodebookModifier

__all__ = ["CodebookConfig", "CodebookMethod", "CodebookModifier"]
