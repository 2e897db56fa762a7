"""`fastocr doctor`: what is installed, what it runs on, and whether it reads."""

from __future__ import annotations

from typing import Annotated

import typer


def doctor(
    model: Annotated[str, typer.Option(help="The model to test.")] = "embedded",
    device: Annotated[str, typer.Option(help="Where the model runs.")] = "auto",
    self_test: Annotated[bool, typer.Option(help="Let the model read a page.")] = True,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> int:
    """Report versions, devices and caches, and let the model read a page of known text."""
    from fastocr_cli.delivery.stdio import quiet_libraries
    from fastocr_cli.machine.health import examine

    quiet_libraries()
    health = examine(model, device, is_tested=self_test)
    if json:
        import orjson

        typer.echo(orjson.dumps(health.as_json(), option=orjson.OPT_INDENT_2).decode())
    else:
        typer.echo("\n".join(health.lines()))
    return int(health.exit_code)
