"""`fastocr bench`: what pruning costs in accuracy and saves in time, on the user's own pages.

The table goes to standard output, progress to standard error.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fastocr_cli.commands import flags

if TYPE_CHECKING:
    from fastocr_cli.bench.outcome import Outcome
    from fastocr_cli.bench.runner import Notify


def bench(
    context: typer.Context,
    inputs: Annotated[
        list[str] | None,
        typer.Argument(
            help="Files, folders or globs; without any, pages that ship with fastocr. A .md or "
            ".txt beside a document is its true text, else a PDF's own text layer.",
            metavar="[INPUTS...]",
            show_default=False,
        ),
    ] = None,
    keeps: Annotated[
        str,
        typer.Option("--keep", metavar="LIST", help="Shares to compare with dense, with commas."),
    ] = "0.05",
    methods: Annotated[
        str, typer.Option(metavar="LIST", help="Methods to compare with dense, with commas.")
    ] = "fastocr",
    rtprunes: Annotated[
        str | None,
        typer.Option(
            "--rtprune",
            metavar="LIST",
            help="RTPrune as well: shares to drop, or dynamic, with commas; 0.25:none, :mean, "
            ":published or :peaked says what becomes of the dropped.",
            show_default=False,
        ),
    ] = None,
    repeat: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="How often every page is read; as often as fits in about two minutes by default.",
            show_default=False,
        ),
    ] = None,
    aided: Annotated[
        bool,
        typer.Option(
            "--aided",
            help="Read as parse does: the embedded reader with what its vision tower reads by "
            "itself, and (dense and fastocr only) in drafts. By default its decoder chooses every "
            "character alone where the layout says one stands, so that what pruning takes away "
            "shows.",
        ),
    ] = False,
    peers: Annotated[
        bool, typer.Option("--peers", help="Tesseract and RapidOCR too, where installed.")
    ] = False,
    json: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Write all figures as JSON.")
    ] = None,
    csv: Annotated[
        Path | None, typer.Option("--csv", metavar="FILE", help="Write the rows as CSV.")
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option("--plot", metavar="FILE", help="Draw the rows: .svg, .png or .pdf."),
    ] = None,
    batch_size: Annotated[
        int, typer.Option("-b", "--batch-size", min=1, help="Pages decoded together.")
    ] = 1,
    model: flags.Model = None,
    mode: flags.Mode = None,
    fixation: flags.Fixation = None,
    max_tokens: flags.MaxTokens = None,
    device: flags.Device = None,
    dtype: flags.DType = None,
    offline: flags.Offline = None,
    trust_remote_code: flags.TrustRemoteCode = None,
    pages: flags.Pages = None,
    dpi: flags.Dpi = None,
    max_pixels: flags.MaxPixels = None,
    rotate: flags.Turn = None,
    password: flags.Password = None,
    recursive: flags.Recursive = None,
    verbose: flags.Verbose = 0,
) -> int:
    """Measure what pruning costs in accuracy and saves in time.

    \b
    fastocr bench                                  bundled pages, dense against keep 0.05
    fastocr bench scans/ --keep 0.25,0.1,0.05      your pages
    fastocr bench --methods fastocr,random         with a method that must fail
    """
    from fastocr_cli.api import load_reader
    from fastocr_cli.bench.pages import load_documents
    from fastocr_cli.bench.session import measure
    from fastocr_cli.commands.results import check_results, side_file
    from fastocr_cli.commands.settings import begin
    from fastocr_cli.delivery.side_files import BENCH, BENCH_ROWS, PICTURE
    from fastocr_cli.delivery.stdio import protected_stdout

    options = begin(context)
    shares = _shares(keeps)
    names, variants = _names("--methods", methods), _names("--rtprune", rtprunes)
    files = [
        side_file("--json", json, BENCH),
        side_file("--csv", csv, BENCH_ROWS),
        side_file("--plot", plot, PICTURE),
    ]
    check_results(files, inputs or (), recursive=options.recursive)
    with protected_stdout(), _Progress() as notify:
        outcome = measure(
            load_reader(options),
            load_documents(inputs or (), options),
            methods=names,
            keeps=shares,
            rtprune=variants,
            rounds=repeat,
            options=options,
            aided=aided,
            peers=peers,
            notify=notify,
        )
    _show(outcome)
    _write(outcome, json, csv, plot)
    return 0


def _names(flag: str, text: str | None) -> list[str]:
    """The names in a list; a list that is given has one, for an empty one is a mistake."""
    from fastocr_cli.errors import EmptyValueError

    names = [name.strip() for name in (text or "").split(",") if name.strip()]
    if text is not None and not names:
        raise EmptyValueError(flag, text)
    return names


def _shares(text: str) -> list[float]:
    from fastocr_cli.errors import UsageError

    try:
        return [float(name) for name in _names("--keep", text)]
    except ValueError as error:
        raise UsageError(f"--keep {text}: give shares such as 0.25,0.1,0.05") from error


class _Progress:
    """A line on standard error that says who reads, on a terminal only."""

    def __enter__(self) -> Notify:
        from rich.console import Console

        self._status = Console(stderr=True).status("loading")
        self._status.__enter__()
        return self._status.update

    def __exit__(self, *_: object) -> None:
        self._status.stop()


def _show(outcome: Outcome) -> None:
    from rich.console import Console

    from fastocr_cli.bench.table import print_outcome, whole_width

    console = Console()
    if not console.is_terminal:
        console = Console(width=whole_width(outcome))
    print_outcome(outcome, console)


def _write(outcome: Outcome, json: Path | None, csv: Path | None, plot: Path | None) -> None:
    import orjson

    from fastocr_cli.bench.outcome import as_csv, as_record
    from fastocr_cli.bench.picture import draw_outcome
    from fastocr_cli.writers.output import write_file

    if json is not None:
        write_file(json, orjson.dumps(as_record(outcome), option=orjson.OPT_INDENT_2) + b"\n")
    if csv is not None:
        write_file(csv, as_csv(outcome).encode())
    if plot is not None:
        draw_outcome(outcome, plot)
    for path in filter(None, (json, csv, plot)):
        typer.echo(f"written: {path}", err=True)
