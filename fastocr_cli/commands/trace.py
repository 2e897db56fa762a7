"""`fastocr trace`: replay how a page was read, step by step."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from PIL.Image import Image

    from fastocr_cli.bench.trace.trace import Trace
    from fastocr_cli.options import Options
    from fastocr_cli.results import PageImage


def trace(
    document: Annotated[
        str, typer.Argument(metavar="INPUT", help="An image or a PDF.", show_default=False)
    ],
    output: Annotated[
        Path,
        typer.Option(
            "-o", "--output", help="A .html page that replays it, or a picture: .png, .svg, .pdf."
        ),
    ] = Path("trace.html"),
    page: Annotated[int, typer.Option(min=1, help="Which page of it, from 1.")] = 1,
    keep: Annotated[
        float, typer.Option(metavar="SHARE", help="Share of the visual tokens attended.")
    ] = 0.05,
    model: Annotated[str, typer.Option(help="The model that reads.")] = "embedded",
    fixation: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=VALUE", help="A further setting of the method fastocr."),
    ] = None,
    dpi: Annotated[
        int | None, typer.Option(metavar="N", help="Resolution at which PDF pages are drawn.")
    ] = None,
    max_tokens: Annotated[
        int | None, typer.Option(metavar="N", help="Most tokens to read.")
    ] = None,
    password: Annotated[
        str | None, typer.Option(metavar="TEXT", help="For encrypted PDFs.")
    ] = None,
    device: Annotated[str, typer.Option(help="Where the model runs.")] = "auto",
    dtype: Annotated[str, typer.Option(help="Precision of the model.")] = "auto",
    offline: Annotated[bool, typer.Option(help="Never use the network.")] = False,
    trust_remote_code: Annotated[
        bool, typer.Option(help="Let a model from the hub run its own Python code.")
    ] = False,
) -> int:
    """Read a page and show where on it every token was read.

    \b
    fastocr trace page.png -o trace.html     a page that replays the reading
    fastocr trace report.pdf --page 2 -o trace.png
    """
    import PIL.Image

    from fastocr_cli.api import load_reader
    from fastocr_cli.bench.trace.record import LOOKS, record
    from fastocr_cli.delivery.stdio import quiet_libraries
    from fastocr_cli.fixation.settings import split_pairs
    from fastocr_cli.options import Options

    quiet_libraries()
    options = Options(
        model=model, device=device, dtype=dtype, keep=keep, dpi=dpi, pages=str(page),
        fixation={"trace": LOOKS, **split_pairs(fixation or ())}, max_tokens=max_tokens,
        offline=offline, trust_remote_code=trust_remote_code, password=password,
    )  # fmt: skip
    drawn = _draw(document, options)
    image = PIL.Image.fromarray(drawn.pixels)
    title = f"{Path(document).name}, page {page}" if page > 1 else Path(document).name
    _write(record(load_reader(options), image, title, max_tokens), image, output)
    typer.echo(output)
    return 0


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
    from fastocr_cli.errors import OutputError

    if output.suffix.lower() not in (".html", ".htm"):
        draw_trace(recorded, image, output)
        return
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_text(trace_page(recorded, image), encoding="utf-8")
    except OSError as error:
        raise OutputError(f"{output}: cannot be written: {error.strerror}") from error
