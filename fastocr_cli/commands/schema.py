"""`fastocr schema`: the JSON Schema of what `-f json` or `-f jsonl` writes."""

from __future__ import annotations

from typing import Annotated

import typer


def schema(
    name: Annotated[
        str,
        typer.Argument(
            help="document (-f json), page (a line of -f jsonl), report (--report) or bench."
        ),
    ] = "document",
) -> None:
    """Print the JSON Schema of the JSON outputs."""
    import orjson

    from fastocr_cli.schemas import load_schema

    typer.echo(orjson.dumps(load_schema(name), option=orjson.OPT_INDENT_2).decode())
