"""`python -m withhold`: the command line, for environments whose scripts are not on the path."""

from __future__ import annotations

from withhold.cli.main import run

if __name__ == "__main__":
    run()
