"""Run the command: one place where exceptions become a line on stderr and an exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from itertools import pairwise
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
    from fastocr_cli.delivery.stdio import told_stdout

    spelt = spell_out(list(arguments))
    verbosity = Verbosity(is_json=_asks_for_json(spelt))
    try:
        with told_stdout():
            code = app(spelt, prog_name="fastocr", standalone_mode=False, obj=verbosity)
        return int(code or 0)
    except KeyboardInterrupt:
        _say("interrupted", "interrupted", verbosity.is_json)
        return ExitCode.INTERRUPTED
    except BrokenPipeError:
        return _end_quietly()
    except Exception as error:
        if verbosity.level >= 2 or os.environ.get("FASTOCR_DEBUG", "") not in ("", "0"):
            _show_traceback(error, verbosity.is_json)
        message, code = _explain(error, arguments)
        if message:  # a bare command has shown its help instead
            _say("error", message, verbosity.is_json)
        return code


def _asks_for_json(arguments: Sequence[str]) -> bool:
    """As far as can be told before the command line is read, which may be what fails."""
    is_default = os.environ.get("FASTOCR_PROGRESS") == "json" and arguments[:1] == ["parse"]
    is_asked = ("--progress", "json") in pairwise(arguments) or "--progress=json" in arguments
    return is_default or is_asked


def _explain(error: Exception, arguments: Sequence[str]) -> tuple[str, ExitCode]:
    """A line for a mistake of the user's; for one of ours, what to do about it; the exit code."""
    if isinstance(error, FastocrError):
        return str(error), error.exit_code
    if isinstance(error, _ClickException):
        message = error.format_message()  # type: ignore[attr-defined]
        return message and f"{message}{_hint(arguments)}", ExitCode.USAGE
    what = f"{type(error).__name__}: {error}; a fault of fastocr's, -vv shows where"
    return what, ExitCode.UNEXPECTED


def _show_traceback(error: Exception, is_json: bool) -> None:
    import traceback

    for line in "".join(traceback.format_exception(error)).splitlines():
        _say("traceback", line, is_json)


def _hint(arguments: Sequence[str]) -> str:
    """For somebody who left the command out and named a document at once."""
    first = next(iter(arguments), "")
    return f" Did you mean: fastocr parse {first}" if Path(first).exists() and first else ""


def _say(event: str, text: str, is_json: bool) -> None:
    from fastocr_cli.inputs.documents import printable, storable

    if is_json:
        import json

        line = json.dumps({"event": event, "message": storable(text)})
    else:
        line = printable(f"error: {text}" if event == "error" else text)
    print(line, file=sys.stderr)


def _end_quietly() -> int:
    """The reader of our output has gone: let nothing complain when the interpreter ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    return ExitCode.OK


if __name__ == "__main__":
    main()
