"""The certificate: a bound on every attacker of a release of finitely many codes."""
