"""What the lesser commands check before they read: that their results can be drawn and written."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from fastocr_cli.delivery.side_files import PICTURE, Kind, SideFile, check_side_files
from fastocr_cli.errors import UsageError


def check_results(
    files: Iterable[SideFile | None], inputs: Iterable[str], *, recursive: bool = True
) -> None:
    """files: None for those that were not asked for. inputs: as the command line names them.

    Raises UsageError, OutputError, or MissingModelError for a picture without matplotlib.
    """
    from fastocr_cli.inputs.documents import STDIN
    from fastocr_cli.inputs.sources import resolve

    asked = [file for file in files if file is not None]
    for file in asked:
        if file.kind is PICTURE:
            _check_can_draw(file)
    found = resolve([name for name in inputs if name != STDIN], recursive=recursive)
    check_side_files(asked, (document.path for document in found.documents if document.path))


def _check_can_draw(file: SideFile) -> None:
    from fastocr_cli.figure import SUFFIXES, UNKNOWN_FORMAT, new_figure

    if file.path.suffix.lower() not in SUFFIXES:
        raise UsageError(f"{file}: {UNKNOWN_FORMAT}")
    new_figure(1, 1)


def side_file(flag: str, path: Path | None, kind: Kind) -> SideFile | None:
    return SideFile(flag, path, kind) if path is not None else None
