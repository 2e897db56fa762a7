"""How far a run has come, on standard error: a bar, plain lines, JSON lines, or nothing.

One object per run and one switch (`--progress`). A bar needs a terminal on standard error,
whatever FORCE_COLOR says; without one, `auto` means plain lines.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, Protocol, TextIO

from fastocr_cli.inputs.documents import printable
from fastocr_cli.record.events import DocumentDone, DocumentFailed, DocumentOpened, Event, PageDone
from fastocr_cli.record.report import RunReport
from fastocr_cli.terminal.console import duration, json_line, reason_of, speed

SECONDS_BETWEEN_LINES = 10.0
SHARE_BETWEEN_LINES = 0.1
FEWEST_SECONDS_BETWEEN_LINES = 2.0


@dataclass
class Tally:
    """How much there is, how much is done and how fast. Pages of files not yet opened are
    estimated; the time in which the model was loaded is left out of the pace."""

    files: int
    files_opened: int = 0
    files_failed: int = 0
    files_done: int = 0
    pages_known: int = 0
    current: str = ""
    is_loading: bool = False
    seconds_loading: float = 0.0

    @contextmanager
    def loading(self) -> Iterator[None]:
        """The scope in which the model is loaded."""
        self.is_loading, began = True, time.monotonic()
        try:
            yield
        finally:
            self.is_loading = False
            self.seconds_loading += time.monotonic() - began

    def add(self, event: Event) -> None:
        match event:
            case DocumentOpened(_, source, pages):
                self.files_opened += 1
                self.pages_known += pages
                self.current = source
            case PageDone(_, result):
                self.current = result.source
            case DocumentDone():
                self.files_done += 1
            case DocumentFailed():
                self.files_failed += 1
                self.files_done += 1

    @property
    def pages(self) -> int:
        """Pages known, and for each file still closed the mean of the opened ones."""
        mean = self.pages_known / self.files_opened if self.files_opened else 1
        return self.pages_known + round(self._unopened * mean)

    @property
    def is_estimated(self) -> bool:
        """Whether `pages` is more than what is known."""
        return self._unopened > 0

    @property
    def _unopened(self) -> int:
        return max(self.files - self.files_opened - self.files_failed, 0)

    def pages_per_second(self, report: RunReport) -> float:
        """Pages read in this run over the time there was to read them."""
        seconds = report.seconds - self.seconds_loading
        return (report.pages - report.resumed) / seconds if seconds > 0 else 0.0

    def seconds_left(self, report: RunReport) -> float | None:
        rate = self.pages_per_second(report)
        return max(self.pages - report.pages, 0) / rate if rate else None


class Progress(Protocol):
    """Shown each event after the report has counted it."""

    def show(self, event: Event, tally: Tally, report: RunReport) -> None: ...


def make_progress(
    mode: str, stream: TextIO, verbosity: int
) -> tuple[Progress, AbstractContextManager[Any]]:
    """The display for `mode`, and the scope in which it is on the screen."""
    if mode == "auto":
        is_screen = stream.isatty() and os.environ.get("TERM") != "dumb"
        mode = "none" if verbosity < 0 else "bar" if is_screen else "lines"
    if mode == "bar":
        from fastocr_cli.terminal.bar import Bar

        bar = Bar(stream)
        return bar, bar
    if mode == "json":
        return JsonLines(stream), nullcontext()
    return (Lines(stream) if mode == "lines" else Silence()), nullcontext()


class Silence:
    def show(self, event: Event, tally: Tally, report: RunReport) -> None:
        pass


class Lines:
    """A plain line every ten seconds, or every tenth of the pages but at most every 2 s."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._last_time = time.monotonic()
        self._last_pages = 0

    def show(self, event: Event, tally: Tally, report: RunReport) -> None:
        if not isinstance(event, PageDone) or not self._is_due(tally, report):
            return
        self._last_time, self._last_pages = time.monotonic(), report.pages
        print(line(tally, report), file=self._stream, flush=True)

    def _is_due(self, tally: Tally, report: RunReport) -> bool:
        waited = time.monotonic() - self._last_time
        share = (report.pages - self._last_pages) / max(tally.pages, 1)
        is_far = share >= SHARE_BETWEEN_LINES and waited >= FEWEST_SECONDS_BETWEEN_LINES
        return waited >= SECONDS_BETWEEN_LINES or is_far


class JsonLines:
    """One JSON object per event, for programs; `Console` writes the rest in the same way."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def show(self, event: Event, tally: Tally, report: RunReport) -> None:
        values = {
            **_describe(event),
            "files_done": tally.files_done,
            "files": tally.files,
            "pages_done": report.pages,
            "pages": tally.pages,
            "pages_estimated": tally.is_estimated,
            "pages_per_second": tally.pages_per_second(report),
            "seconds_left": tally.seconds_left(report),
            "kept": report.kept,
        }
        print(json_line(values), file=self._stream, flush=True)


def line(tally: Tally, report: RunReport) -> str:
    """Such as `12/73 pages, 0/1 files, 0.52 pages/s, 1 min 57 s left, kept 25 %: faq.pdf`; a total
    that is an estimate reads `~73`."""
    return f"{', '.join(figures(tally, report).values())}: {printable(tally.current)}"


def figures(tally: Tally, report: RunReport) -> dict[str, str]:
    """What is done, how fast, how much is left and how much of the page was attended to."""
    found = {
        "pages": f"{report.pages:,}/{'~' if tally.is_estimated else ''}{tally.pages:,} pages",
        "files": f"{tally.files_done:,}/{tally.files:,} files",
    }
    left = tally.seconds_left(report)
    if tally.is_loading:
        found["left"] = "loading the model"
    elif left is not None:
        found["pace"] = f"{speed(tally.pages_per_second(report))} pages/s"
        found["left"] = f"{duration(left)} left"
    if report.kept is not None:
        found["kept"] = f"kept {report.kept:.0%}"
    return found


def _describe(event: Event) -> dict[str, Any]:
    match event:
        case DocumentOpened(_, source, pages):
            return {"event": "opened", "source": source, "document_pages": pages}
        case PageDone(_, result, _, resumed):
            return {
                "event": "page",
                "source": result.source,
                "page": result.number,
                "status": result.status,
                "resumed": resumed,
                "reason": None if result.status.is_complete else reason_of(result),
                "warnings": result.warnings,
            }
        case DocumentDone(_, source):
            return {"event": "done", "source": source}
        case DocumentFailed(_, source, error):
            return {"event": "failed", "source": source, "error": str(error)}
