"""Figures for people to look at: made without a screen, saved by the suffix of their path.

Knows matplotlib, which is an extra; knows nothing of what is drawn.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fastocr_cli.errors import MissingModelError, OutputError
from fastocr_cli.version import __version__

SUFFIXES = (".svg", ".png", ".pdf")
UNKNOWN_FORMAT = "no such picture format; use .svg, .png or .pdf"


def new_figure(width: float, height: float) -> Any:
    """An empty figure that no screen knows of. Raises MissingModelError without matplotlib."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingModelError(
            "a picture needs matplotlib; install it with: pip install 'fastocr-cli[plot]'"
        ) from error
    return Figure(figsize=(width, height), layout="constrained", facecolor="white")


def save(figure: Any, path: Path) -> Path:
    """In the format of the suffix, bearing our name, by which a later run knows that it may replace
    it. Raises OutputError for a format there is not, or a full disk."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=160, metadata={"Creator": f"fastocr {__version__}"})
    except ValueError as error:
        raise OutputError(f"{path}: {UNKNOWN_FORMAT}") from error
    except OSError as error:
        raise OutputError(f"{path}: cannot be written: {error.strerror}") from error
    return path
