"""Read a certificate from its own file or from a bundle."""

from __future__ import annotations

from pathlib import Path

from withhold.bundle.bundle import load_bundle
from withhold.certificate.claims import Certificate
from withhold.core.errors import UserError
from withhold.core.key_file import as_key


def read_certificate(path: str | Path, *, key: bytes | str | Path | None = None) -> Certificate:
    """From a file that `withhold certify` wrote, or from the folder of a bundle.

    `key` is the owner's key (32 bytes, or a file): a certificate that was not signed with it is
    refused. Without a key the signature cannot be checked, and the file counts as unsigned.
    """
    path, secret = Path(path), as_key(key)
    if not path.exists():
        raise UserError(
            f"no certificate at {path}; make one with: withhold certify BUNDLE DATA -o {path}"
        )
    if not path.is_dir():
        certificate = Certificate.from_json(path)
        if secret is not None and not certificate.is_signed_with(secret):
            raise UserError(
                f"{path} was not signed with this key, so it was edited or is somebody else's;"
                " certify again"
            )
        return certificate
    found = load_bundle(path, key=secret).certificate
    if found is None:
        raise UserError(
            f"bundle {path} has no certificate; make one with: withhold certify {path} DATA -o"
            " certificate.json, where its method has one"
        )
    return Certificate.from_dict(found)
