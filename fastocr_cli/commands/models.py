"""`fastocr models`: which models there are, where they lie, fetching and checking them."""

from __future__ import annotations

from typing import Annotated

import typer

from fastocr_cli.commands import flags

app = typer.Typer(no_args_is_help=True, help="Models: list, find, fetch and check them.")
Name = Annotated[str, typer.Argument(help="embedded, a folder, or a hub id (owner/name@revision).")]


@app.callback()
def models() -> None:
    """Models: list, find, fetch and check them."""


@app.command("list")
def list_(json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> None:
    """List the models one may name, and which are on this machine."""
    from fastocr_cli.machine.hub import list_models

    entries = list_models()
    if json:
        import orjson

        records = [
            {"name": e.name, "family": e.family, "size_bytes": e.size_bytes,
             "folder": str(e.folder) if e.folder else None}
            for e in entries
        ]  # fmt: skip
        typer.echo(orjson.dumps(records, option=orjson.OPT_INDENT_2).decode())
        return
    width = max(len(entry.name) for entry in entries)
    for entry in entries:
        state = f"here, {entry.size_bytes / 1e6:,.0f} MB" if entry.folder else "not here"
        typer.echo(f"{entry.name:<{width}}  {entry.family:<20}  {state}")


@app.command()
def path(model: Name) -> None:
    """Print the folder a model lies in."""
    from fastocr_cli.machine.hub import find_folder

    typer.echo(find_folder(model))


@app.command()
def download(model: Name) -> None:
    """Fetch a model from the Hugging Face hub, weights as safetensors only and no code."""
    from fastocr_cli.delivery.stdio import quiet_logs
    from fastocr_cli.machine.hub import download

    quiet_logs()

    typer.echo(download(model))
    typer.echo(f"check it by: fastocr models check {model}", err=True)


@app.command()
def check(
    context: typer.Context,
    model: Name = "embedded",
    device: flags.Device = None,
    dtype: flags.DType = None,
    trust_remote_code: flags.TrustRemoteCode = None,
    verbose: flags.Verbose = 0,
) -> int:
    """Load a model, let it read a page of known text, and tell how many characters were wrong."""
    from dataclasses import replace

    from fastocr_cli.commands.settings import begin
    from fastocr_cli.machine.selftest import run_self_test

    result = run_self_test(replace(begin(context), offline=True))
    typer.echo(result.line())
    return int(result.exit_code)
