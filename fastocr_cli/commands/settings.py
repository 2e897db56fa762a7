"""From a command's parameters to its options, by the same rules for every command.

What the handler of errors must know of them, how much to tell, goes into the command's context.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from fastocr_cli.options import Options


@dataclass
class Verbosity:
    """How much a command tells, as far as its settings are known: its flag alone while they are
    still looked up, 0 before. is_json: whether to a program, as `--progress json` asks."""

    level: int = 0
    is_json: bool = False


def begin(context: typer.Context) -> Options:
    """The settings that the command has a flag for; the libraries are quiet unless -v asks.

    A setting without a flag here keeps its default, whatever the environment and the files say.
    Raises UsageError.
    """
    from fastocr_cli.delivery.stdio import quiet_libraries
    from fastocr_cli.options import Options

    _, settings = resolved(context)
    shared = settings.keys() & context.params.keys()
    options = Options(**{name: settings[name].value for name in shared})
    if options.verbose < 1:
        quiet_libraries()
    return options


def resolved(context: typer.Context, **places: Any) -> tuple[Options, dict[str, Any]]:
    """Every setting with its origin, of which the command may have no flag; the verbosity is noted.

    places: see `config.resolve`. Raises UsageError.
    """
    from fastocr_cli.config import from_command_line, resolve

    verbosity = context.ensure_object(Verbosity)
    verbosity.level = context.params.get("verbose", 0)
    options, settings = resolve(from_command_line(context.params), **places)
    verbosity.level = options.verbose
    verbosity.is_json = options.progress == "json" and "progress" in context.params
    return options, settings
