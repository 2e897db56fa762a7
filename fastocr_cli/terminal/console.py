"""All wording on standard error: notes, warnings, errors and the closing summary.

In sentences for people, or with `--progress json` as one JSON object a line, each an event.
Decides by terminal, NO_COLOR, FORCE_COLOR, TERM and the verbosity what is shown and how.
Progress has its own file; the product never passes through here.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Mapping
from typing import Any, TextIO

import orjson

from fastocr_cli.delivery.destination import Destination
from fastocr_cli.errors import FastocrError, OutputError
from fastocr_cli.inputs.documents import printable
from fastocr_cli.options import Options
from fastocr_cli.record.report import DocumentRecord, RunReport
from fastocr_cli.results import PageResult, PageStatus
from fastocr_cli.writers.records import plain

_CODES = {"red": "31", "yellow": "33", "green": "32", "dim": "2"}
_TROUBLES = {
    PageStatus.TRUNCATED: "cut short at the token limit; raise it with --max-tokens",
    PageStatus.LOOPED: "the model repeated itself; the repeated end is cut off",
    PageStatus.FAILED: "not read",
}


class Console:
    """Speaks to the person at the terminal, or to the log behind it.

    verbosity: -2 errors only, -1 warnings too, 0 the summary too, 1 details, 2 tracebacks.
    is_json: whether what is said is events of `--progress json`.
    """

    def __init__(
        self,
        stream: TextIO | None = None,
        *,
        verbosity: int = 0,
        color: str = "auto",
        is_json: bool = False,
    ) -> None:
        self._stream = stream
        self.verbosity = verbosity
        self.is_json = is_json
        self.has_color = wants_color(color, self.stream, os.environ)

    @property
    def stream(self) -> TextIO:
        """Looked up each time: a live display puts itself in place of `sys.stderr`."""
        return self._stream or sys.stderr

    @classmethod
    def for_options(cls, options: Options, stream: TextIO | None = None) -> Console:
        return cls(
            stream,
            verbosity=options.verbose - options.quiet,
            color=options.color,
            is_json=options.progress == "json",
        )

    def error(self, error: FastocrError | str) -> None:
        if isinstance(error, FastocrError):
            self.traceback(error)
        self._say("error", str(error), mark=self._paint("error:", "red"))

    def warn(self, text: str) -> None:
        if self.verbosity >= -1:
            self._say("warning", text, mark=self._paint("warning:", "yellow"))

    def note(self, text: str) -> None:
        if self.verbosity >= 0:
            self._say("note", text)

    def detail(self, text: str) -> None:
        if self.verbosity >= 1:
            self._say("detail", text, color="dim")

    def traceback(self, error: Exception) -> None:
        """Where an exception came from, for those who asked for it: most often its cause tells."""
        if self.verbosity >= 2:
            for line in "".join(traceback.format_exception(error)).splitlines():
                self._say("traceback", line)

    def page_trouble(self, result: PageResult) -> None:
        """A line for a page that is not complete, and its warnings where asked for."""
        where = f"{result.source}, page {result.number}"
        if not result.status.is_complete:
            self.warn(f"{where}: {result.status}: {reason_of(result)}")
            return
        for warning in result.warnings:
            self.detail(f"{where}: {warning}")

    def summary(self, report: RunReport, destination: Destination) -> None:
        """The closing line; an error line has said enough where the only input failed."""
        if not report.documents:
            self.note(f"shard {report.shard}: no input for it, nothing read")
        is_said = not self.is_json and len(report.documents) == 1 == len(report.failures)
        if self.verbosity >= 0 and report.documents and not is_said:
            text = summary_line(report, destination.words if report.has_outputs else "")
            self._say("summary", text, {k: report.as_json()[k] for k in ("exit_code", "totals")})

    def next_step(self, text: str) -> None:
        if self.verbosity >= -1:
            self._say("hint", text, color="dim")

    def _paint(self, text: str, color: str) -> str:
        return f"\x1b[{_CODES[color]}m{text}\x1b[0m" if self.has_color else text

    def _say(
        self,
        event: str,
        text: str,
        facts: Mapping[str, Any] | None = None,
        *,
        mark: str = "",
        color: str = "",
    ) -> None:
        """facts: further ones for programs. mark, color: how people are shown what this is."""
        if self.is_json:
            line = json_line({"event": event, "message": text, **(facts or {})})
        else:
            shown = self._paint(printable(text), color) if color else printable(text)
            line = f"{mark} {shown}" if mark else shown
        print(line, file=self.stream, flush=True)


def json_line(values: Mapping[str, Any]) -> str:
    """One line, whatever the texts hold: broken bytes of a name as escapes."""
    return orjson.dumps(plain(values)).decode()


def reason_of(result: PageResult) -> str:
    """Why a page is not complete."""
    return "; ".join(result.warnings) or _TROUBLES[result.status]


def wants_color(choice: str, stream: TextIO, environ: Mapping[str, str]) -> bool:
    """--color first, then NO_COLOR, FORCE_COLOR, TERM=dumb, then whether it is a terminal."""
    if choice != "auto":
        return choice == "always"
    if environ.get("NO_COLOR"):
        return False
    if environ.get("FORCE_COLOR"):
        return True
    return environ.get("TERM") != "dumb" and stream.isatty()


def summary_line(report: RunReport, destination: str) -> str:
    """Such as `report.pdf: 2 pages ok in 8.1 s (0.25 pages/s) -> report.md`."""
    documents = list(report.documents.values())
    subject = _one(documents[0]) if len(documents) == 1 else f"{len(documents):,} files:"
    parts = [subject, _pages(report), "in", duration(report.seconds)]
    if details := _details(report):
        parts.append(f"({', '.join(details)})")
    if destination:
        parts += ["->", destination]
    return printable(" ".join(parts))


def duration(seconds: float) -> str:
    """8.1 s, 4 min 5 s, 2 h 3 min."""
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


def _one(document: DocumentRecord) -> str:
    return f"{document.source}:"


def _pages(report: RunReport) -> str:
    """`2 pages ok`, or every status with its count; where the run stopped, `1 of 5 pages ok`."""
    present = [(status, report.statuses[status]) for status in PageStatus]
    present = [(status, count) for status, count in present if count]
    reach = f" of {report.wanted_pages:,}" if report.pages < report.wanted_pages else ""
    is_one = 1 == report.pages == report.wanted_pages
    total = f"{report.pages:,}{reach} page{'' if is_one else 's'}"
    if len(present) == 1:
        counted = f"{total} {present[0][0]}"
    else:
        counted = f"{total} ({', '.join(f'{n:,} {s}' for s, n in present)})" if present else total
    if len(report.documents) == 1:
        return counted
    unwritten = sum(isinstance(failure, OutputError) for failure in report.failures)
    files = {
        "unreadable": len(report.failures) - unwritten,
        "not written": unwritten,
        "not reached": report.unread_documents,
    }
    return ", ".join([counted, *(f"{count:,} {fate}" for fate, count in files.items() if count)])


def _details(report: RunReport) -> list[str]:
    details = []
    if report.pages > report.resumed:
        details.append(f"{speed(report.pages_per_second)} pages/s")
    if report.resumed:
        details.append(f"{report.resumed:,} already read")
    if report.kept is not None and report.kept < 0.9995:
        details.append(f"{report.kept:.1%} of the visual tokens attended")
    return details


def speed(value: float) -> str:
    """Two or three figures: 0.25, 1.7, 23."""
    return f"{value:.2f}" if value < 1 else f"{value:.1f}" if value < 10 else f"{value:.0f}"
