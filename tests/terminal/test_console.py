"""The lines on standard error: colour, verbosity, quantities, summary, estimates."""

from __future__ import annotations

import io

import pytest

from fastocr_cli.errors import InputError
from fastocr_cli.record.events import DocumentDone, DocumentFailed, DocumentOpened, PageDone
from fastocr_cli.record.report import RunReport
from fastocr_cli.results import PageStatus
from fastocr_cli.terminal.console import Console, duration, speed, summary_line, wants_color
from fastocr_cli.terminal.progress import Lines, Tally, figures
from tests.record.examples import key, make_result


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("choice", "environment", "is_terminal", "expected"),
    [
        ("auto", {}, True, True),
        ("auto", {}, False, False),
        ("auto", {"NO_COLOR": "1"}, True, False),
        ("auto", {"NO_COLOR": "1", "FORCE_COLOR": "1"}, True, False),
        ("auto", {"NO_COLOR": ""}, True, True),
        ("auto", {"FORCE_COLOR": "1"}, False, True),
        ("auto", {"TERM": "dumb"}, True, False),
        ("always", {"NO_COLOR": "1"}, False, True),
        ("never", {"FORCE_COLOR": "1"}, True, False),
    ],
)
def test_colour(choice, environment, is_terminal, expected):
    stream = Terminal() if is_terminal else io.StringIO()
    assert wants_color(choice, stream, environment) is expected


@pytest.mark.parametrize(
    ("verbosity", "expected"),
    [(-2, "error"), (-1, "error warning"), (0, "error warning"), (1, "error warning detail")],
)
def test_verbosity(verbosity, expected):
    stream = io.StringIO()
    console = Console(stream, verbosity=verbosity, color="never")
    console.detail("detail")
    console.warn("warning")
    console.error("error")
    said = {line.removeprefix("warning: ").removeprefix("error: ") for line in
            stream.getvalue().splitlines()}  # fmt: skip
    assert said == set(expected.split())


def test_quantities_are_short():
    assert [duration(s) for s in (0.04, 8.13, 59.97, 245, 7380)] == [
        "0.0 s", "8.1 s", "1 min 0 s", "4 min 5 s", "2 h 3 min",
    ]  # fmt: skip
    assert [speed(v) for v in (0.254, 1.66, 23.4)] == ["0.25", "1.7", "23"]


def fill(report: RunReport, tally: Tally, statuses: list[PageStatus], index: int = 0) -> None:
    events = [
        DocumentOpened(index, "a.pdf", len(statuses)),
        *(PageDone(index, make_result(n, s), key(n)) for n, s in enumerate(statuses, 1)),
        DocumentDone(index, "a.pdf"),
    ]
    for event in events:
        report.add(event)
        tally.add(event)


def test_summary_counts_every_status():
    report = RunReport()
    fill(report, Tally(1), [PageStatus.OK, PageStatus.OK, PageStatus.LOOPED, PageStatus.BLANK])
    report.seconds = 8.0
    assert summary_line(report, "a.md") == (
        "a.pdf: 4 pages (2 ok, 1 blank, 1 looped) in 8.0 s (0.50 pages/s) -> a.md"
    )


def test_estimate_counts_files_not_yet_opened():
    tally, report = Tally(files=3), RunReport()
    fill(report, tally, [PageStatus.OK] * 4)
    assert tally.pages == 12
    assert figures(tally, report)["pages"] == "4/~12 pages"
    report.seconds = 2.0
    assert tally.seconds_left(report) == pytest.approx(4.0)


def test_what_failed_is_no_longer_estimated():
    tally, report = Tally(files=2), RunReport()
    tally.add(DocumentFailed(0, "no.pdf", InputError("no.pdf: no such file")))
    opened = DocumentOpened(1, "a.pdf", 4)
    report.add(opened)
    tally.add(opened)
    assert figures(tally, report)["pages"] == "0/4 pages"


def test_the_pace_leaves_out_how_long_the_model_took_to_load(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("fastocr_cli.terminal.progress.time.monotonic", lambda: now[0])
    tally, report = Tally(files=1), RunReport(started=0.0)
    opened = DocumentOpened(0, "a.pdf", 11)
    report.add(opened)
    tally.add(opened)
    assert figures(tally, report).keys() == {"pages", "files"}
    with tally.loading():
        assert figures(tally, report)["left"] == "loading the model"
        now[0] = 9.0
    now[0] = 10.0
    report.add(PageDone(0, make_result(1), key(1)))
    assert figures(tally, report)["pace"] == "1.0 pages/s"
    assert figures(tally, report)["left"] == "10.0 s left"


def test_plain_lines_are_rare(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("fastocr_cli.terminal.progress.time.monotonic", lambda: now[0])
    stream, report, tally = io.StringIO(), RunReport(started=0.0), Tally(1)
    lines = Lines(stream)
    opened = DocumentOpened(0, "a.pdf", 1000)
    report.add(opened)
    tally.add(opened)
    for number in range(1, 1001):
        now[0] += 0.5
        event = PageDone(0, make_result(number), key(number))
        report.add(event)
        tally.add(event)
        lines.show(event, tally, report)
    written = stream.getvalue().splitlines()
    assert len(written) == 50
    assert written[0].startswith("20/1,000 pages, 0/1 files, 2.0 pages/s, 8 min 10 s left")
