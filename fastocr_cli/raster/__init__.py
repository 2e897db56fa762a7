"""Documents to pages of pixels, lazily: one page is in memory at a time.

Knows which rasteriser reads which kind, and that a bad page fails alone. MuPDF is not thread-safe:
in each process, one thread at a time may use this module.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from fastocr_cli.errors import FastocrError
from fastocr_cli.inputs.documents import Document
from fastocr_cli.inputs.pages import PageSelection
from fastocr_cli.inputs.sniff import Kind
from fastocr_cli.raster.base import PageFailure, PageSource, RasterSettings
from fastocr_cli.results import PageImage

__all__ = [
    "PageFailure",
    "PageSource",
    "RasterSettings",
    "draw_pages",
    "iter_pages",
    "open_document",
]


@contextmanager
def open_document(
    document: Document, settings: RasterSettings | None = None
) -> Iterator[PageSource]:
    """The opened document, with its number of pages, for the length of a `with` block.

    Raises InputError if it cannot be read, EncryptedError if its password is not given, and
    MissingModelError if it needs a package that is not there.
    """
    pages = _open(document, settings or RasterSettings())
    try:
        yield pages
    finally:
        pages.close()


def iter_pages(
    document: Document,
    settings: RasterSettings | None = None,
    selection: PageSelection | None = None,
) -> Iterator[PageImage | PageFailure]:
    """Pages in order, all or those selected, each drawn when it is asked for.

    Raises what `open_document` raises, and UsageError if a selected page is not there.
    Warnings about the document as a whole are the first page's.
    """
    with open_document(document, settings) as pages:
        yield from draw_pages(pages, document.source, selection)


def draw_pages(
    pages: PageSource, source: str, selection: PageSelection | None = None
) -> Iterator[PageImage | PageFailure]:
    """As `iter_pages`, of a document that is open. source: its name."""
    warnings = pages.warnings
    for number in _numbers(pages.page_count, selection, source):
        page = _draw(pages, number, source)
        if warnings and isinstance(page, PageImage):
            page, warnings = replace(page, warnings=(*warnings, *page.warnings)), ()
        yield page


def _draw(pages: PageSource, number: int, source: str) -> PageImage | PageFailure:
    """One page, or the reason why there is none."""
    try:
        return pages.render(number)
    except FastocrError as error:
        return PageFailure(source, number, error)


def _numbers(count: int, selection: PageSelection | None, source: str) -> Iterable[int]:
    return selection.numbers(count, source) if selection else range(1, count + 1)


def _open(document: Document, settings: RasterSettings) -> PageSource:
    # Each library is loaded when the first document of its kind comes.
    if document.kind is Kind.PDF:
        from fastocr_cli.raster.pdf import PdfPages

        return PdfPages(document, settings)
    from fastocr_cli.raster.image import ImagePages

    return ImagePages(document, settings)
