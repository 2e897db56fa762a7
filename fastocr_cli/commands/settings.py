"""From a command's parameters to its options, by the same rules as for `fastocr parse`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fastocr_cli.options import Options


def begin(params: Mapping[str, Any]) -> Options:
    """The settings that the command has a flag for; the libraries are quiet unless -v asks.

    params: by name, as Typer has them. A setting without a flag here keeps its default, whatever
    the environment and the files say. Raises UsageError.
    """
    from fastocr_cli.config import from_command_line, resolve
    from fastocr_cli.delivery.stdio import quiet_libraries
    from fastocr_cli.options import Options

    _, settings = resolve(from_command_line(params))
    options = Options(**{name: settings[name].value for name in settings.keys() & params.keys()})
    if options.verbose < 1:
        quiet_libraries()
    return options
