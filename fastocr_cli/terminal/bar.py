"""The live display on a terminal, drawn by Rich."""

from __future__ import annotations

from typing import TextIO

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from fastocr_cli.inputs.documents import printable
from fastocr_cli.record.events import Event
from fastocr_cli.record.report import RunReport
from fastocr_cli.terminal.progress import Tally, figures


class Bar:
    """Pages, files, pages/s, time left, retention and the current file; gone when the run ends."""

    def __init__(self, stream: TextIO) -> None:
        self._progress = Progress(
            TextColumn("{task.fields[file]}"),
            BarColumn(),
            TextColumn("{task.fields[figures]}"),
            TimeElapsedColumn(),
            console=Console(file=stream),
            transient=True,
        )
        self._task = self._progress.add_task("pages", total=None, file="", figures="")

    def __enter__(self) -> Bar:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def show(self, event: Event, tally: Tally, report: RunReport) -> None:
        self._progress.update(
            self._task,
            total=tally.pages,
            completed=report.pages,
            file=escape(_shorten(printable(tally.current), 40)),
            figures=escape("  ".join(figures(tally, report).values())),
        )


def _shorten(name: str, width: int) -> str:
    return name if len(name) <= width else f"…{name[-(width - 1) :]}"
