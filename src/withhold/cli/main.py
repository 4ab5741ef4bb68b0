"""`withhold`: the entry point, and the handling of errors.

Exit codes: 0 done, 2 the user's mistake (one line), 3 a gate failed, 1 our bug.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
import traceback
from typing import Any

import typer

from withhold import __version__
from withhold.cli.audit import audit
from withhold.cli.bench import bench
from withhold.cli.certify import certify
from withhold.cli.compare import compare
from withhold.cli.demo import demo
from withhold.cli.export import export
from withhold.cli.extract import extract
from withhold.cli.fit import fit
from withhold.cli.help import GroupedCommand
from withhold.cli.inspect import inspect
from withhold.cli.release import release
from withhold.cli.serve import serve
from withhold.cli.transform import transform
from withhold.core.errors import UserError
from withhold.core.terminal import printable, wrapped

app = typer.Typer(
    name="withhold",
    help="Suppress chosen attributes of a dataset, keep the rest, and measure what retrained"
    " attackers can still infer.",
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"withhold {__version__}")
        raise typer.Exit


@app.callback()
def _main(
    context: typer.Context,
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Print the version."
    ),
) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


_COMMANDS = (
    demo, inspect, release, compare, extract, fit, transform, certify, audit, export, serve, bench
)  # fmt: skip
for _command in _COMMANDS:
    app.command(cls=GroupedCommand)(_command)

INTERRUPTED = 130
NO_MEMORY = "not enough memory; use fewer records or features, or a smaller network"


def run() -> None:
    """Run the command line and exit with its code."""
    # On SIGTERM, clean up workers and files as on Ctrl-C.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.exit(outcome())


def outcome(arguments: list[str] | None = None) -> int:
    """Run one command; returns its exit code."""
    try:
        code: Any = app(args=arguments, prog_name="withhold", standalone_mode=False)
        sys.stdout.flush()
        if code == INTERRUPTED:  # typer has caught it
            return _interrupted()
        if code == 1:  # typer has printed why: it has no completion for this shell
            return 2
        return code if isinstance(code, int) else 0
    except UserError as error:
        return _mistake(str(error))
    except BrokenPipeError:
        return _unheard()
    except SystemExit as error:
        return _left(error)
    except OSError as error:
        return _system_error(error)
    except (KeyboardInterrupt, typer.Abort):
        return _interrupted()
    except MemoryError:
        return _mistake(NO_MEMORY)
    except Exception as error:
        if isinstance(error, RuntimeError) and "can't allocate memory" in str(error):
            return _mistake(NO_MEMORY)  # how torch reports it
        usage = getattr(error, "format_message", None)  # a typer usage error
        return _bug() if usage is None else _mistake(_with_help(str(usage()), error))


def _with_help(message: str, error: Exception) -> str:
    """A usage error, and where to find the right usage."""
    context = getattr(error, "ctx", None)
    asked = "" if context is None or context.parent is None else f" {context.info_name}"
    return f"{message.rstrip('.')}; see: withhold{asked} --help"


def _left(error: SystemExit) -> int:
    """The exit code if a library ended the process."""
    if isinstance(error.__context__, BrokenPipeError):  # rich turns a broken pipe into SystemExit
        return _unheard()
    # typer exits this way after it has shown, installed or answered a shell completion.
    return 0 if error.code in (None, 0) else _bug()


def _unheard() -> int:
    """The reader of our output is gone (`| head`). Say nothing, and let no later flush fail."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _system_error(error: OSError) -> int:
    from pathlib import Path

    from withhold.core.atomic import explain_write

    if error.filename is not None:
        return _mistake(explain_write(error, Path(os.fsdecode(error.filename))))
    if error.errno in (errno.ENOSPC, errno.EIO, errno.EDQUOT):
        # An error of a file has its name, so this was standard output (`> /dev/full`).
        _unheard()
        return _mistake(f"standard output cannot be written: {error.strerror}")
    return _bug()


def _interrupted() -> int:
    print("interrupted; run the same command again to resume", file=sys.stderr)
    return INTERRUPTED


def _mistake(message: str) -> int:
    shown = printable(" ".join(message.split())[:4000])  # a name from a file must not fill it
    print(wrapped(f"error: {shown}", sys.stderr), file=sys.stderr)
    return 2


def _bug() -> int:
    traceback.print_exc()
    print("error: this is a bug in withhold; please report the lines above", file=sys.stderr)
    return 1
