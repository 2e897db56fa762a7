"""`fastocr config show`: every setting in force here, and the place that decided it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from fastocr_cli.config import AUTO, DEFAULT, NOT_IN_FILES, Setting, resolve
from fastocr_cli.options import UNSET

app = typer.Typer(no_args_is_help=True, help="Settings, and where they come from.")


@app.callback()
def config() -> None:
    """Settings, and where they come from: flag > FASTOCR_* > project file > user file > default."""


@app.command()
def show(
    config: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Settings file in place of fastocr.toml.")
    ] = None,
    no_config: Annotated[bool, typer.Option("--no-config", help="Read no settings files.")] = False,
    toml: Annotated[
        bool, typer.Option("--toml", help="Print a fastocr.toml, with defaults as comments.")
    ] = False,
) -> None:
    """Show each setting with its value and its origin."""
    _, settings = resolve({}, config_file=config, use_files=not no_config)
    lines = as_toml(settings) if toml else as_table(settings)
    typer.echo("\n".join(lines))


def as_table(settings: Mapping[str, Setting]) -> list[str]:
    """Three columns: name, value, origin. A password is never shown."""
    rows = [(_spelt(name), _shown(name, s.value), s.origin) for name, s in settings.items()]
    names, values = (max(len(row[i]) for row in rows) for i in (0, 1))
    return [f"{name:<{names}}  {value:<{values}}  {origin}" for name, value, origin in rows]


def as_toml(settings: Mapping[str, Setting]) -> list[str]:
    """A `fastocr.toml` of what is set, and of every default behind a comment sign."""
    return [
        _toml_line(name, setting) for name, setting in settings.items() if name not in NOT_IN_FILES
    ]


def _toml_line(name: str, setting: Setting) -> str:
    """Where nothing is set, what applies then is said behind it."""
    value = "auto" if setting.value is None and name in AUTO else setting.value
    line = f"{_spelt(name)} =" if value is None else f"{_spelt(name)} = {_toml_value(value)}"
    if setting.value in (None, (), {}):
        line += f"  # {UNSET[name]}"
    return f"# {line}" if setting.origin == DEFAULT or value is None else line


def _spelt(name: str) -> str:
    return name.replace("_", "-")


def _shown(name: str, value: Any) -> str:
    if name == "password" and value is not None:
        return "(hidden)"
    if value is None or value in ((), {}):
        return UNSET[name]
    if isinstance(value, tuple):
        return ",".join(value)
    if isinstance(value, Mapping):
        return ",".join(f"{key}={item}" for key, item in value.items())
    return str(value).lower() if isinstance(value, bool) else str(value)


def _toml_value(value: Any) -> str:
    """Values of our settings: texts, numbers, lists of texts, flat tables."""
    import json

    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{k} = {_toml_value(v)}" for k, v in value.items()) + "}"
    # JSON's spelling of texts, numbers, booleans and lists of them is TOML's too.
    return json.dumps(list(value) if isinstance(value, tuple) else value, ensure_ascii=False)
