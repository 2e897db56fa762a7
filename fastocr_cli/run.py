"""One run of `fastocr parse`: from the request to written outputs, a summary and an exit code.

The story is `run_parse`; each step it calls has its own file. Knows the command's rules (what goes
to which stream, what an interruption means); nothing of models or formats.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import orjson

from fastocr_cli.api import make_reader
from fastocr_cli.delivery.destination import Destination, plan
from fastocr_cli.delivery.outputs import Outputs
from fastocr_cli.delivery.ownership import make_folder
from fastocr_cli.delivery.side_files import SideFile, check_side_files, report_kind
from fastocr_cli.delivery.stdio import forget_lost_terminal, protected_stdout, quiet_libraries
from fastocr_cli.errors import EmptyValueError, ExitCode, UsageError
from fastocr_cli.inputs.documents import Document
from fastocr_cli.inputs.sources import BadInput, resolve
from fastocr_cli.options import Options
from fastocr_cli.patience import PatientReader
from fastocr_cli.pipeline import Pipeline, text_settings
from fastocr_cli.record.events import DocumentFailed, Event, PageDone
from fastocr_cli.record.journal import Journal, journal_paths
from fastocr_cli.record.report import DocumentRecord, RunReport
from fastocr_cli.terminal.console import Console
from fastocr_cli.terminal.progress import Tally, make_progress
from fastocr_cli.writers.output import write_file

_ENDING_SIGNALS = [
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
]
"""Windows has no SIGHUP."""


@dataclass(frozen=True)
class Request:
    """What the command line names: inputs, a list of further ones, and where things go."""

    inputs: tuple[str, ...]
    files_from: str | None = None
    output: str | None = None
    report: str | None = None


def run_parse(request: Request, options: Options) -> ExitCode:
    """Read what is asked for, write it, say how it went."""
    if options.verbose < 1:
        quiet_libraries()
    console = Console.for_options(options)
    check_names(request)
    items = find_inputs(request, options)
    destination = plan(request.output, options.format, items, options.shard_of[1])
    check_report(request, destination, items, options)
    mine = share(items, options)
    tally = Tally(len(mine))
    reader = make_reader(
        options,
        notify=console.warn,
        on_fault=console.traceback,
        while_loading=tally.loading,
    )
    with protected_stdout() as product, open_journal(destination, options) as journal:
        report = RunReport(
            documents={index: DocumentRecord(item.source) for index, item in mine},
            settings=text_settings(options),
            shard=options.shard,
        )
        with Outputs(destination, options, reader, product, mine) as outputs:
            pipeline = Pipeline(reader, options, journal, has_thumbnails=outputs.needs_thumbnails)
            follow(pipeline.run(outputs.checked()), tally, outputs, report, console, options)
            report.note_outputs(outputs.written)
        finish(request, destination, journal, reader, report, console)
    return exit_code(report, options)


def check_names(request: Request) -> None:
    """Raises EmptyValueError for an empty name: to the file system it would be this folder."""
    names = {"-o": request.output, "--report": request.report, "--files-from": request.files_from}
    for flag, name in names.items():
        if name == "":
            raise EmptyValueError(flag)


def find_inputs(request: Request, options: Options) -> tuple[Document | BadInput, ...]:
    """Every input, good or bad. Raises UsageError if none was named."""
    if not request.inputs and request.files_from is None:
        raise UsageError("name a document, as in: fastocr parse report.pdf -o report.md")
    return resolve(request.inputs, files_from=request.files_from, recursive=options.recursive).items


def check_report(
    request: Request,
    destination: Destination,
    items: tuple[Document | BadInput, ...],
    options: Options,
) -> None:
    """Raises UsageError or OutputError for a --report that would cost a file or fail at the end."""
    if request.report is None:
        return
    check_side_files(
        [SideFile("--report", Path(request.report), report_kind(options.shard))],
        (item.path for item in items if isinstance(item, Document) and item.path),
        destination.files(len(items)),
        overwrite=options.overwrite,
    )


def share(
    items: tuple[Document | BadInput, ...], options: Options
) -> list[tuple[int, Document | BadInput]]:
    """This shard's inputs, each with its place among all of them."""
    shard, count = options.shard_of
    return [(index, item) for index, item in enumerate(items) if index % count == shard]


@contextmanager
def open_journal(destination: Destination, options: Options) -> Iterator[Journal | None]:
    """The record beside the outputs; none where the output is a stream."""
    if destination.home is None:
        yield None
        return
    folder = make_folder(destination.home)
    own, others = journal_paths(folder, destination.file, options.shard_of)
    with Journal(own, others) as journal:
        yield journal


def follow(
    events: Iterable[Event],
    tally: Tally,
    outputs: Outputs,
    report: RunReport,
    console: Console,
    options: Options,
) -> None:
    """Pass each event to those who wait for it, until the end, a failure or an interruption."""
    progress, scope = make_progress(options.progress, console.stream, console.verbosity)
    with scope, ending_well(report, outputs):
        for event in events:
            report.add(event)
            tally.add(event)
            outputs.add(event)
            progress.show(event, tally, report)
            tell(event, console)
            if options.fail_fast and report.has_failed:
                return
        outputs.finish()


def tell(event: Event, console: Console) -> None:
    """What a person should hear of at once; for programs the event itself says it."""
    if console.is_json:
        return
    if isinstance(event, (DocumentFailed, PageDone)) and event.error is not None:
        console.error(event.error)
    elif isinstance(event, PageDone):
        console.page_trouble(event.result)


@contextmanager
def ending_well(report: RunReport, outputs: Outputs) -> Iterator[None]:
    """Ctrl-C, a signal to end and a closed pipe end the run in order; a second signal of the same
    kind ends it at once."""
    interruption = ExitCode.INTERRUPTED

    def first(signum: int, frame: FrameType | None) -> None:
        nonlocal interruption
        interruption = ExitCode(128 + signum)  # as shells count
        signal.signal(signum, signal.SIG_DFL)
        raise KeyboardInterrupt

    before = _set_handlers(first)
    try:
        yield
    except KeyboardInterrupt:
        report.interruption = interruption
        forget_lost_terminal()
    except BrokenPipeError:
        report.is_cut_off = True
        outputs.abandon()
    finally:
        for signum, handler in before.items():
            signal.signal(signum, handler)


def finish(
    request: Request,
    destination: Destination,
    journal: Journal | None,
    reader: PatientReader,
    report: RunReport,
    console: Console,
) -> None:
    """Say how it went and what to do next, and write the report: last, as it may fail."""
    if report.pages:
        model = reader.identity
        report.model = {"name": model.name, "revision": model.revision}
    if not report.is_cut_off:
        console.summary(report, destination)
        for step in next_steps(report, journal):
            console.next_step(step)
    if journal is not None and destination.file is not None and report.is_complete:
        journal.delete()
    if request.report is not None:
        record = orjson.dumps(report.as_json(), option=orjson.OPT_INDENT_2)
        write_file(Path(request.report), record + b"\n")


def next_steps(report: RunReport, journal: Journal | None) -> Iterator[str]:
    """What a person may want to do now, if not all went well."""
    if report.is_interrupted and journal is not None:
        yield (
            f"interrupted: {report.pages:,} page(s) are on record; "
            "run the same command again to go on"
        )
    elif report.is_interrupted:
        yield "interrupted: with -o FILE the same command could go on later"
    elif report.partial_pages:
        yield f"{report.partial_pages:,} page(s) incomplete: read them again with --retry-failed"


def exit_code(report: RunReport, options: Options) -> ExitCode:
    is_forgiven = options.exit_zero and not report.is_interrupted
    return ExitCode.OK if is_forgiven else report.exit_code


def _set_handlers(handler: Callable[[int, FrameType | None], None]) -> dict[int, Any]:
    """The handlers there were before; none outside the main thread, which alone may set them."""
    if threading.current_thread() is not threading.main_thread():
        return {}
    # nohup has SIGHUP ignored, and that is to stay.
    signals = [
        signum
        for signum in _ENDING_SIGNALS
        if signum == signal.SIGINT or signal.getsignal(signum) is not signal.SIG_IGN
    ]
    return {signum: signal.signal(signum, handler) for signum in signals}
