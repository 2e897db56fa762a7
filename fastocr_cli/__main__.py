"""Run the command: one place where exceptions become a line on stderr and an exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import typer

from fastocr_cli.errors import ExitCode, FastocrError

_ClickException = next(c for c in typer.BadParameter.__mro__ if c.__name__ == "ClickException")


def main(arguments: Sequence[str] | None = None) -> None:
    """The `fastocr` command."""
    sys.exit(run(sys.argv[1:] if arguments is None else arguments))


def run(arguments: Sequence[str]) -> int:
    """Carry out one command line; returns the exit code."""
    from fastocr_cli.cli import app, spell_out
    from fastocr_cli.commands.settings import Verbosity

    verbosity = Verbosity()
    spelt = spell_out(list(arguments))
    try:
        code = app(spelt, prog_name="fastocr", standalone_mode=False, obj=verbosity)
        return int(code or 0)
    except KeyboardInterrupt:
        _say("interrupted")
        return ExitCode.INTERRUPTED
    except BrokenPipeError:
        return _end_quietly()
    except Exception as error:
        return _explain(error, arguments, verbosity.level)


def _explain(error: Exception, arguments: Sequence[str], verbosity: int) -> int:
    """One line for a mistake of the user's; for one of ours, what to do about it."""
    if verbosity >= 2 or os.environ.get("FASTOCR_DEBUG", "") not in ("", "0"):
        import traceback

        traceback.print_exception(error)
    if isinstance(error, FastocrError):
        _say(f"error: {error}")
        return error.exit_code
    if isinstance(error, _ClickException):
        message = error.format_message()  # type: ignore[attr-defined]
        if message:  # a bare command has shown its help instead
            _say(f"error: {message}{_hint(arguments)}")
        return ExitCode.USAGE
    _say(f"error: {type(error).__name__}: {error}; a fault of fastocr's, -vv shows where")
    return ExitCode.UNEXPECTED


def _hint(arguments: Sequence[str]) -> str:
    """For somebody who left the command out and named a document at once."""
    first = next(iter(arguments), "")
    return f" Did you mean: fastocr parse {first}" if Path(first).exists() and first else ""


def _say(text: str) -> None:
    from fastocr_cli.inputs.documents import printable

    print(printable(text), file=sys.stderr)


def _end_quietly() -> int:
    """The reader of our output has gone: let nothing complain when the interpreter ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    return ExitCode.OK


if __name__ == "__main__":
    main()
