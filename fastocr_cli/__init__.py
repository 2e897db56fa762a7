"""Read documents with a vision-language model: `parse` for files, `Reader` for images.

Names are resolved on first use, so that importing the package (and `fastocr --help`) loads
neither torch nor transformers.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from fastocr_cli.version import __version__

if TYPE_CHECKING:
    from fastocr_cli.api import parse
    from fastocr_cli.errors import (
        EncryptedError,
        FastocrError,
        InputError,
        MissingModelError,
        UsageError,
    )
    from fastocr_cli.options import Options
    from fastocr_cli.reading import Reader
    from fastocr_cli.results import PageReading, PageResult, PageStats, PageStatus

__all__ = [
    "EncryptedError",
    "FastocrError",
    "InputError",
    "MissingModelError",
    "Options",
    "PageReading",
    "PageResult",
    "PageStats",
    "PageStatus",
    "Reader",
    "UsageError",
    "__version__",
    "parse",
]

_HOMES = {
    "parse": "fastocr_cli.api",
    "Reader": "fastocr_cli.reading",
    "Options": "fastocr_cli.options",
    **dict.fromkeys(
        ("EncryptedError", "FastocrError", "InputError", "MissingModelError", "UsageError"),
        "fastocr_cli.errors",
    ),
    "PageReading": "fastocr_cli.results",
    "PageResult": "fastocr_cli.results",
    "PageStats": "fastocr_cli.results",
    "PageStatus": "fastocr_cli.results",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
