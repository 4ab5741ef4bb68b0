"""The certificate that a path names: a file of its own, or the one of a bundle."""

from __future__ import annotations

from pathlib import Path

from withhold.bundle import load_bundle
from withhold.certificate.claims import Certificate
from withhold.errors import UserError


def read_certificate(path: str | Path) -> Certificate:
    """From a file that `withhold certify` wrote, or from the folder of a bundle."""
    path = Path(path)
    if not path.exists():
        raise UserError(
            f"no certificate at {path}; make one with: withhold certify BUNDLE DATA -o {path}"
        )
    if not path.is_dir():
        return Certificate.from_json(path)
    found = load_bundle(path).certificate
    if found is None:
        raise UserError(
            f"bundle {path} has no certificate; make one with: withhold certify {path} DATA -o"
            " certificate.json, where its method has one"
        )
    return Certificate.from_dict(found)
