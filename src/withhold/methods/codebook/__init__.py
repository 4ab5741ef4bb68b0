"""`codebook`: a release of finitely many codes, with a certificate that no attacker beats."""

from withhold.methods.codebook.config import CodebookConfig
from withhold.methods.codebook.fit import CodebookMethod
from withhold.methods.codebook.modifier import CodebookModifier

__all__ = ["CodebookConfig", "CodebookMethod", "CodebookModifier"]
