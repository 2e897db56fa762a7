"""The documents a bench reads: the user's, or the few that ship beside this module.

All pages are drawn before the first measurement. Knows nothing of models.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import as_file, files

from fastocr_cli.bench.truth import Truth, find_truth
from fastocr_cli.errors import InputError
from fastocr_cli.inputs.documents import Document
from fastocr_cli.inputs.sources import resolve
from fastocr_cli.options import Options
from fastocr_cli.pipeline import raster_settings
from fastocr_cli.raster import PageFailure, draw_pages, open_document
from fastocr_cli.results import PageImage


@dataclass(frozen=True)
class BenchDocument:
    """One document with its pages drawn, and what they say where that is known."""

    source: str
    pages: tuple[PageImage, ...]
    truth: Truth | None = None


def load_documents(inputs: Sequence[str], options: Options) -> list[BenchDocument]:
    """Every input drawn; without inputs the bundled pages. Raises the first error an input has."""
    if inputs:
        return _load(inputs, options)
    with as_file(files("fastocr_cli.bench") / "samples") as folder:
        bundled = _load([str(folder)], options)
    return [
        BenchDocument(one.source.replace("\\", "/").rpartition("/")[2], one.pages, one.truth)
        for one in bundled
    ]


def _load(inputs: Sequence[str], options: Options) -> list[BenchDocument]:
    found = resolve(inputs, recursive=options.recursive)
    if found.failures:
        raise found.failures[0].error
    if not found.documents:
        raise InputError(f"{', '.join(inputs)}: no PDF and no image in there")
    return [_draw(document, options) for document in found.documents]


def _draw(document: Document, options: Options) -> BenchDocument:
    selection = options.selection
    pages = []
    with open_document(document, raster_settings(options)) as source:
        count = source.page_count
        for page in draw_pages(source, document.source, selection):
            if isinstance(page, PageFailure):
                raise page.error
            pages.append(page)
    numbers = [page.number for page in pages]
    is_whole = numbers == list(range(1, count + 1))
    truth = find_truth(document, numbers, is_whole=is_whole, password=options.password)
    return BenchDocument(document.source, tuple(pages), truth)
