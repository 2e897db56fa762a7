"""The line of the bar on screens of any width."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from rich.console import Console

from fastocr_cli.record.events import DocumentOpened, PageDone
from fastocr_cli.record.report import RunReport
from fastocr_cli.terminal.bar import Bar, progress_line
from fastocr_cli.terminal.progress import Tally
from tests.record.examples import key, make_result

NAME = "reports of the year/a rather long name of a document, second edition.pdf"


def begun(name: str = NAME) -> tuple[Tally, RunReport]:
    """A run of two files after the first page of four or so."""
    tally, report = Tally(files=2), RunReport()
    result = replace(make_result(), source=name)
    for event in (DocumentOpened(0, name, 2), PageDone(0, result, key(1))):
        report.add(event)
        tally.add(event)
    report.seconds, report.tokens, report.attended = 80.0, 10, 10.0
    return tally, report


def drawn(width: int, name: str = NAME) -> str:
    console = Console(file=io.StringIO(), width=width, color_system=None)
    with console.capture() as capture:
        console.print(progress_line(*begun(name), width))
    return capture.get()


@pytest.mark.parametrize("width", [20, 40, 60, 79, 80, 100, 120, 200])
@pytest.mark.parametrize("name", [NAME, "文" * 60, "a.pdf"], ids=["long", "wide", "short"])
def test_one_line_and_nothing_cut(width, name):
    [line] = drawn(width, name).splitlines()
    shown = {part.strip() for part in line.split("  ") if part.strip()}
    whole = {"1/~4 pages", "0/2 files", "0.01 pages/s", "4 min 0 s left", "kept 100%", "0:00:00"}
    rest = {part for part in shown - whole if part.strip("━╸╺")}
    assert len(rest) <= 1
    assert all(part.removeprefix("…") in name for part in rest)
    assert "1/~4 pages" in shown


def test_eighty_columns_have_what_matters():
    line = drawn(80)
    for part in ("edition.pdf", "━", "1/~4 pages", "4 min 0 s left", "kept", "0:00:00"):
        assert part in line, part
    assert "files" not in line


def test_a_wide_screen_has_it_all():
    line = drawn(160)
    assert "0/2 files" in line
    assert "0.01 pages/s" in line


def test_the_bar_follows_the_run():
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    stream = Terminal()
    with Bar(stream) as bar:
        bar.show(DocumentOpened(0, NAME, 2), *begun())
    assert "1/~4 pages" in stream.getvalue()
