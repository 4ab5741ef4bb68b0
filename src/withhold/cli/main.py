"""`withhold`: the entry point, and what becomes of errors.

Exit codes: 0 done, 2 the user's mistake (one line), 3 a gate failed, 1 our bug.
"""

from __future__ import annotations

import os
import sys
import traceback
from typing import Any

import typer

from withhold import __version__
from withhold.cli import audit, bench, demo, extract, fit, inspect, transform
from withhold.errors import UserError

app = typer.Typer(
    name="withhold",
    help="Suppress chosen attributes of a dataset, keep the rest, and measure with retrained"
    " attackers what can still be inferred.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"withhold {__version__}")
        raise typer.Exit


@app.callback()
def _main(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Print the version."
    ),
) -> None:
    pass


app.command("demo")(demo.demo)
app.command("inspect")(inspect.inspect)
app.command("extract")(extract.extract)
app.command("fit")(fit.fit)
app.command("transform")(transform.transform)
app.command("audit")(audit.audit)
app.command("bench")(bench.bench)


def run() -> None:
    """Run the command line and exit with its code."""
    sys.exit(outcome())


def outcome(arguments: list[str] | None = None) -> int:
    """Run one command; returns its exit code."""
    try:
        code: Any = app(args=arguments, standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except UserError as error:
        return _mistake(str(error))
    except BrokenPipeError:
        # Whoever read our output has gone (`| head`); say nothing, and let no later flush fail.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        from withhold.atomic import explain_write

        if error.filename is None:
            return _bug()
        from pathlib import Path

        return _mistake(explain_write(error, Path(os.fsdecode(error.filename))))
    except (KeyboardInterrupt, typer.Abort):
        print("interrupted; run the same command again to go on", file=sys.stderr)
        return 130
    except MemoryError:
        return _mistake("not enough memory for this data; use fewer records or features")
    except Exception as error:
        usage = getattr(error, "format_message", None)  # a typer usage error
        return _mistake(str(usage())) if usage is not None else _bug()


def _mistake(message: str) -> int:
    print("error: " + " ".join(message.split()), file=sys.stderr)
    return 2


def _bug() -> int:
    traceback.print_exc()
    print("error: this is a bug in withhold; please report the lines above", file=sys.stderr)
    return 1
