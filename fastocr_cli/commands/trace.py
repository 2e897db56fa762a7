"""`fastocr trace`: replay how a page was read, step by step."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fastocr_cli.commands import flags

if TYPE_CHECKING:
    from PIL.Image import Image

    from fastocr_cli.bench.trace.trace import Trace
    from fastocr_cli.options import Options
    from fastocr_cli.results import PageImage


def trace(
    context: typer.Context,
    document: Annotated[
        str, typer.Argument(metavar="INPUT", help="An image or a PDF.", show_default=False)
    ],
    output: Annotated[
        Path,
        typer.Option(
            "-o", "--output", help="A .html page that replays it, or a picture: .png, .svg, .pdf."
        ),
    ] = Path("trace.html"),
    number: Annotated[int, typer.Option("--page", min=1, help="Which page of it, from 1.")] = 1,
    keep: Annotated[
        float, typer.Option(metavar="SHARE", help="Share of the visual tokens attended.")
    ] = 0.05,
    model: flags.Model = None,
    mode: flags.Mode = None,
    fixation: flags.Fixation = None,
    max_tokens: flags.MaxTokens = None,
    device: flags.Device = None,
    dtype: flags.DType = None,
    offline: flags.Offline = None,
    trust_remote_code: flags.TrustRemoteCode = None,
    dpi: flags.Dpi = None,
    max_pixels: flags.MaxPixels = None,
    rotate: flags.Turn = None,
    password: flags.Password = None,
    verbose: flags.Verbose = 0,
) -> int:
    """Read a page and show where on it every token was read.

    \b
    fastocr trace page.png -o trace.html     a page that replays the reading
    fastocr trace report.pdf --page 2 -o trace.png
    """
    from dataclasses import replace

    import PIL.Image

    from fastocr_cli.api import load_reader
    from fastocr_cli.bench.trace.record import LOOKS, record
    from fastocr_cli.commands.results import check_results, side_file
    from fastocr_cli.commands.settings import begin
    from fastocr_cli.delivery.side_files import PICTURE, TRACE

    options = begin(context)
    kind = TRACE if _is_page(output) else PICTURE
    check_results([side_file("-o", output, kind)], [document])
    traced = {"trace": LOOKS, **options.fixation}
    options = replace(options, pages=str(number), fixation=traced)
    drawn = _draw(document, options)
    image = PIL.Image.fromarray(drawn.pixels)
    title = f"{Path(document).name}, page {number}" if number > 1 else Path(document).name
    _write(record(load_reader(options), image, title, options.max_tokens), image, output)
    typer.echo(output)
    return 0


def _is_page(output: Path) -> bool:
    return output.suffix.lower() in (".html", ".htm")


def _draw(name: str, options: Options) -> PageImage:
    """The one page asked for. Raises the error of an input that cannot be read."""
    from fastocr_cli.bench.pages import load_documents
    from fastocr_cli.errors import UsageError

    documents = load_documents([name], options)
    if len(documents) > 1:
        raise UsageError(f"{name}: {len(documents)} documents; give one")
    return documents[0].pages[0]


def _write(recorded: Trace, image: Image, output: Path) -> None:
    from fastocr_cli.bench.trace.html import trace_page
    from fastocr_cli.bench.trace.picture import draw_trace
    from fastocr_cli.writers.output import write_file

    if _is_page(output):
        write_file(output, trace_page(recorded, image).encode())
    else:
        draw_trace(recorded, image, output)
