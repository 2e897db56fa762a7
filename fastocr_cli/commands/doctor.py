"""`fastocr doctor`: what is installed, what it runs on, and whether it reads."""

from __future__ import annotations

from typing import Annotated

import typer

from fastocr_cli.commands import flags


def doctor(
    context: typer.Context,
    model: flags.Model = None,
    device: flags.Device = None,
    self_test: Annotated[bool, typer.Option(help="Let the model read a page.")] = True,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    verbose: flags.Verbose = 0,
) -> int:
    """Report versions, devices and caches, and let the model read a page of known text."""
    from fastocr_cli.commands.settings import begin
    from fastocr_cli.machine.health import examine

    options = begin(context)
    health = examine(options.model, options.device, is_tested=self_test)
    if json:
        import orjson

        typer.echo(orjson.dumps(health.as_json(), option=orjson.OPT_INDENT_2).decode())
    else:
        typer.echo("\n".join(health.lines()))
    return int(health.exit_code)
