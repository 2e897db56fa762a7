"""Where each setting comes from: flag > FASTOCR_* > project file > user file > default.

The project file is `fastocr.toml`, or the `[tool.fastocr]` table of `pyproject.toml`, in the
working directory or the nearest parent that has one. Knows names, types and origins; the meaning
of the values belongs to `options.py`.
"""

from __future__ import annotations

import difflib
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

from fastocr_cli.errors import EmptyValueError, SettingError, UsageError
from fastocr_cli.options import Options

PREFIX = "FASTOCR_"
NOT_IN_FILES = frozenset({"password", "trust_remote_code"})
"""A file found in some folder must not be able to make us run foreign code, and is no place for
a password."""
COUNTED = frozenset({"quiet", "verbose"})
AUTO = frozenset({"batch_size", "workers", "max_tokens", "dpi"})
"""Numbers that may be left to the program; it knows them as None."""
FLAG, ENVIRONMENT, DEFAULT = "flag", "environment", "default"
"""Origins; the others are the paths of files."""
_NEXT_PAIR = re.compile(r",(?=[^,=]*=)")


@dataclass(frozen=True)
class Setting:
    """A value and the place that decided it, in words."""

    value: Any
    origin: str


@dataclass(frozen=True)
class Layer:
    """The settings one place gives; `values` are typed already, but for those inside a table."""

    origin: str
    values: Mapping[str, Any]


def resolve(
    flags: Mapping[str, Any],
    *,
    config_file: Path | None = None,
    use_files: bool = True,
    environ: Mapping[str, str] | None = None,
    cwd: Path | None = None,
) -> tuple[Options, dict[str, Setting]]:
    """The options of a run, and for every name the value with its origin.

    flags: what the command line gave, by name; see `from_command_line`.
    config_file: a file to use in place of the project file.
    Raises UsageError for unknown names, values of the wrong type, or impossible ones.
    """
    environ = os.environ if environ is None else environ
    layers = [Layer(FLAG, flags)]
    layers.append(from_environment(environ))
    if use_files:
        layers.extend(from_files(config_file, cwd or Path.cwd()))
    settings = {name: _first(name, layers) for name in _types()}
    try:
        options = Options(**{name: setting.value for name, setting in settings.items()})
    except SettingError as error:
        place = _spelt(error.name, settings[error.name].origin)
        raise UsageError(error.told_of(place)) from error
    return options, settings


def from_command_line(params: Mapping[str, Any]) -> dict[str, Any]:
    """The settings among a command's parameters, typed; None and a count of 0 mean not given."""
    flags: dict[str, Any] = {}
    for name in _types().keys() & params.keys():
        value, spelt = params[name], _spelt(name, FLAG)
        if value is None or value == [] or value == () or (name in COUNTED and not value):
            continue
        if isinstance(value, (list, tuple)):
            is_table = _types()[name] is dict
            flags[name] = parse_pairs(list(value), spelt) if is_table else tuple(value)
        else:
            flags[name] = parse_text(name, value, spelt) if isinstance(value, str) else value
    return flags


def from_environment(environ: Mapping[str, str]) -> Layer:
    """FASTOCR_KEEP=0.25 and the like. A misspelt name is an error, a foreign one is not."""
    values: dict[str, Any] = {}
    for variable, text in environ.items():
        if not variable.startswith(PREFIX):
            continue
        name = variable.removeprefix(PREFIX).lower()
        if name in _types():
            values[name] = parse_text(name, text, variable)
        elif near := _near_miss(name):
            raise UsageError(f"{variable}: no such setting; did you mean {PREFIX}{near.upper()}?")
    return Layer(ENVIRONMENT, values)


def from_files(config_file: Path | None, cwd: Path) -> Iterator[Layer]:
    """The project's file and the user's, nearest first."""
    project = config_file or find_project_file(cwd)
    if project is not None:
        yield read_file(project)
    user = user_file()
    if user.is_file():
        yield read_file(user)


def user_file() -> Path:
    """Where a user's own defaults live, whether or not the file exists."""
    import platformdirs

    return platformdirs.user_config_path("fastocr") / "config.toml"


def find_project_file(cwd: Path) -> Path | None:
    """`fastocr.toml`, or a `pyproject.toml` with our table, here or in the nearest parent."""
    for folder in (cwd, *cwd.parents):
        candidate = folder / "fastocr.toml"
        if candidate.is_file():
            return candidate
        candidate = folder / "pyproject.toml"
        if candidate.is_file() and _is_ours(candidate):
            return candidate
    return None


def _is_ours(pyproject: Path) -> bool:
    """Whether it has our table. Another tool's broken file, in whatever parent, is not our affair;
    one that means to set us up is."""
    try:
        text = pyproject.read_bytes()
        return _our_table(tomllib.loads(text.decode())) is not None
    except OSError:
        return False
    except ValueError:  # no TOML, or no text
        return b"[tool.fastocr" in text


def _our_table(pyproject: Mapping[str, Any]) -> Any:
    tools = pyproject.get("tool")
    return tools.get("fastocr") if isinstance(tools, dict) else None


def read_file(path: Path) -> Layer:
    """The settings of one TOML file, checked name by name."""
    table = _load_toml(path)
    if path.name == "pyproject.toml":
        table = _our_table(table) or {}
        if not isinstance(table, dict):
            raise UsageError(f"{path}: tool.fastocr: give a table, not {table!r}")
    values = {}
    for key, value in table.items():
        name = key.replace("-", "_")
        _check_file_key(name, key, path)
        values[name] = convert(name, value, f"{path}: {key}")
    return Layer(str(path), values)


def parse_text(name: str, text: str, where: str) -> Any:
    """The typed value of a setting written as text, such as in an environment variable."""
    kind = _types()[name]
    _check_not_empty(name, text, where)
    if name in AUTO and text == "auto":
        return None
    if kind is bool:
        return _parse_bool(text, where)
    if kind in (int, float):
        return _parse_number(kind, text, where)
    if kind is tuple:
        return tuple(part.strip() for part in text.split(",") if part.strip())
    if kind is dict:
        # A comma parts two pairs only where another key follows it: "focal_layers=1,2,refresh=8".
        parts = (part.strip(" ,") for part in _NEXT_PAIR.split(text))
        return parse_pairs([part for part in parts if part], where)
    return text


def parse_pairs(pairs: list[str], where: str) -> dict[str, str]:
    """`["refresh=8", "dilate=true"]` as a dictionary; whose settings they are knows their types."""
    result: dict[str, str] = {}
    for pair in pairs:
        key, equals, text = pair.partition("=")
        if not equals or not key.strip():
            raise UsageError(f"{where} {pair}: write key=value, such as refresh=8")
        _add(result, key.strip(), text.strip(), f"{where} {pair}")
    return result


def _add(table: dict[str, Any], key: str, value: Any, where: str) -> None:
    """A nested setting under its own name, as the outer ones are; spelt with - or with _."""
    name = key.replace("-", "_")
    if name in table:
        raise UsageError(f"{where}: {name} is set already, to {table[name]}")
    table[name] = value


def convert(name: str, value: Any, where: str) -> Any:
    """A TOML value as the type of its setting; text is accepted for lists, ints for floats, and
    numbers for text, as in `rotate = 90`."""
    kind = _types()[name]
    if isinstance(value, str):
        _check_not_empty(name, value, where)
    if name in AUTO and value == "auto":
        return None
    if kind is tuple:
        parts = value.split(",") if isinstance(value, str) else value
        if not isinstance(parts, list) or not all(isinstance(part, str) for part in parts):
            raise UsageError(f"{where}: give text or a list of texts, not {value!r}")
        return tuple(part.strip() for part in parts)
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if kind is str and isinstance(value, (int, float)) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise UsageError(f"{where}: give {_words(kind)}, not {value!r}")
    if isinstance(value, dict):
        table: dict[str, Any] = {}
        for key, inner in value.items():
            _add(table, key, inner, f"{where}.{key}")
        return table
    return value


def _check_not_empty(name: str, text: str, where: str) -> None:
    """Text without anything in it must not mean whatever applies without it. Empty switches are
    off, and a password may be empty."""
    if _types()[name] is not bool and name != "password" and not text.strip(" ,"):
        raise EmptyValueError(where, text)


def _spelt(name: str, origin: str) -> str:
    """The setting as it was written in the place that decided it."""
    dashed = name.replace("_", "-")
    if origin == ENVIRONMENT:
        return f"{PREFIX}{name.upper()}"
    return f"--{dashed}" if origin in (FLAG, DEFAULT) else f"{origin}: {dashed}"


def _types() -> dict[str, type]:
    """Every setting's plain type, None taken off: `int | None` is int, `Mapping` is dict."""
    hints = get_type_hints(Options)
    return {f.name: _plain(hints[f.name]) for f in fields(Options)}


def _plain(hint: Any) -> type:
    if isinstance(hint, UnionType):
        hint = next(part for part in get_args(hint) if part is not NoneType)
    origin = get_origin(hint) or hint
    return dict if origin is Mapping else origin


def _first(name: str, layers: list[Layer]) -> Setting:
    for layer in layers:
        if name in layer.values:
            return Setting(layer.values[name], layer.origin)
    return Setting(_default(name), DEFAULT)


def _default(name: str) -> Any:
    declared = next(f for f in fields(Options) if f.name == name)
    if declared.default is not MISSING:
        return declared.default
    assert declared.default_factory is not MISSING
    return declared.default_factory()


def _check_file_key(name: str, key: str, path: Path) -> None:
    if name in NOT_IN_FILES:
        raise UsageError(
            f"{path}: {key} is not read from files; use --{name.replace('_', '-')} or "
            f"{PREFIX}{name.upper()}"
        )
    if name not in _types():
        near = _near_miss(name)
        hint = f"did you mean {near.replace('_', '-')}?" if near else "see: fastocr config show"
        raise UsageError(f"{path}: unknown setting {key!r}; {hint}")


def _near_miss(name: str) -> str | None:
    matches = difflib.get_close_matches(name, _types(), n=1, cutoff=0.75)
    return matches[0] if matches else None


def _load_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: not valid TOML: {error}") from error
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from error


def _parse_bool(text: str, where: str) -> bool:
    lowered = text.strip().lower()
    if lowered in ("1", "true", "yes", "on"):
        return True
    if lowered in ("", "0", "false", "no", "off"):
        return False
    raise UsageError(f"{where} {text}: give true or false")


def _parse_number(kind: type, text: str, where: str) -> Any:
    try:
        return kind(text)
    except ValueError as error:
        raise UsageError(f"{where} {text}: give {_words(kind)}") from error


def _words(kind: type) -> str:
    names = {
        bool: "true or false",
        int: "a whole number",
        float: "a share from 0 to 1, such as 0.05",  # no setting is another number
        dict: "a table",
    }
    return names.get(kind, "text")
