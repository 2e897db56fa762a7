"""The live display on a terminal, drawn by Rich: one line, however narrow the screen is."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import TextIO

from rich.cells import cell_len
from rich.console import Console
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from fastocr_cli.inputs.documents import printable
from fastocr_cli.record.events import Event
from fastocr_cli.record.report import RunReport
from fastocr_cli.terminal.progress import Tally, figures

GAP = 2
ORDER = ("file", "bar", "pages", "files", "pace", "left", "kept", "elapsed")
BY_IMPORTANCE = ("pages", "left", "bar", "elapsed", "kept", "file", "pace", "files")
ROOM = {"file": (12, 40), "bar": (10, 40)}
"""The least and the most columns of what may be of any width."""


class Bar:
    """The current file, pages, files, pages/s, time left, retention and time since the run began;
    gone when it ends."""

    def __init__(self, stream: TextIO) -> None:
        self._shown: tuple[Tally, RunReport] | None = None
        self._console = Console(file=stream)
        self._live = Live(
            console=self._console,
            get_renderable=self._line,
            transient=True,
            refresh_per_second=10,
        )

    def __enter__(self) -> Bar:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def show(self, event: Event, tally: Tally, report: RunReport) -> None:
        self._shown = tally, report

    def _line(self) -> Table | Text:
        return progress_line(*self._shown, self._console.width) if self._shown else Text()


def progress_line(tally: Tally, report: RunReport, width: int) -> Table:
    """What fits into `width` columns of the screen, the most important first."""
    seconds = int(time.monotonic() - report.started)
    texts = {
        **figures(tally, report),
        "file": printable(tally.current),
        "elapsed": str(timedelta(seconds=seconds)),
    }
    widths = fitting({name: cell_len(text) for name, text in texts.items()}, width)
    line = Table.grid(padding=(0, GAP, 0, 0))
    cells: list[Text | ProgressBar] = []
    for name in ORDER:
        if name in widths:
            line.add_column(width=widths[name], no_wrap=True)
            cells.append(
                ProgressBar(tally.pages, report.pages, width=widths[name])
                if name == "bar"
                else Text(_shortened(texts[name], widths[name]))
            )
    line.add_row(*cells)
    return line


def fitting(widths: dict[str, int], width: int) -> dict[str, int]:
    """The parts of the line that have room, by name, with their columns. widths: of their texts.

    The file's name is shortened before anything is left out; what room there is goes to it first,
    then to the bar.
    """
    wanted = {**widths, "bar": ROOM["bar"][1]}
    most = {name: min(ROOM[name][1], wanted[name]) for name in ROOM}
    least = {name: min(ROOM[name][0], wanted[name]) for name in ROOM}
    chosen: dict[str, int] = {}
    spare = width + GAP
    for name in BY_IMPORTANCE:
        columns = least.get(name, wanted.get(name, 0))
        if columns and columns + GAP <= spare:
            chosen[name] = columns
            spare -= columns + GAP
    for name in ROOM:
        if name in chosen:
            more = min(most[name] - chosen[name], spare)
            chosen[name] += more
            spare -= more
    return chosen


def _shortened(name: str, width: int) -> str:
    """Its end, which tells files apart, where the whole is wider."""
    if cell_len(name) <= width:
        return name
    while cell_len(name) > width - 1:
        name = name[1:]
    return f"…{name}"
