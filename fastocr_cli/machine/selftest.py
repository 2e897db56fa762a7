"""A page of known text for a model to read: does it read at all, and how well?

Catches what no version number shows: weights that do not fit the code, a broken runtime, a model
that writes something else than what is on the page.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import pymupdf

from fastocr_cli.api import load_reader
from fastocr_cli.bench.scoring import character_error_rate
from fastocr_cli.errors import ExitCode
from fastocr_cli.inputs.documents import document_from_bytes
from fastocr_cli.options import Options
from fastocr_cli.raster import open_document
from fastocr_cli.results import PageImage, PageStatus

WORST_CER = 0.2
HEADING = "A page to be read"
TEXT = (
    "This short page was made to see whether the reader works. It holds plain sentences, a few "
    "numbers such as 1,250 and 37.5 %, and nothing else.",
    "If you see this text with few mistakes, the model, its weights and this machine fit together.",
)
_CSS = "body { font-family: sans-serif; font-size: 12pt } h1 { font-size: 18pt }"


@dataclass(frozen=True)
class SelfTest:
    """How the page was read. cer: share of characters wrong against the page's text."""

    model: str
    status: PageStatus
    cer: float
    load_seconds: float
    read_seconds: float

    @property
    def is_good(self) -> bool:
        return self.status.is_complete and self.cer <= WORST_CER

    @property
    def exit_code(self) -> ExitCode:
        return ExitCode.OK if self.is_good else ExitCode.PARTIAL

    def line(self) -> str:
        verdict = "ok" if self.is_good else f"poor (at most {WORST_CER:.0%} is expected)"
        return (
            f"{self.model}: page {self.status}, {self.cer:.1%} of the characters wrong: {verdict}; "
            f"loaded in {self.load_seconds:.1f} s, read in {self.read_seconds:.1f} s"
        )


def run_self_test(options: Options) -> SelfTest:
    """Load the model and read the page. Raises MissingModelError if it cannot be loaded."""
    page = draw_page()
    began = time.perf_counter()
    reader = load_reader(options)
    loaded = time.perf_counter()
    (reading,) = reader.read([page])
    markdown = reader.to_markdown(reading.text)
    cer = character_error_rate(markdown, "\n\n".join([HEADING, *TEXT]))
    return SelfTest(
        options.model, reading.status, cer, loaded - began, time.perf_counter() - loaded
    )


def draw_page() -> PageImage:
    """The page as pixels, at the resolution at which any PDF is drawn."""
    document = document_from_bytes(_make_pdf(), "self-test.pdf")
    with open_document(document) as pages:
        return pages.render(1)


def _make_pdf() -> bytes:
    document = pymupdf.open()
    page = document.new_page(width=420, height=300)
    body = "".join(f"<p>{text}</p>" for text in TEXT)
    page.insert_htmlbox(pymupdf.Rect(36, 36, 384, 264), f"<h1>{HEADING}</h1>{body}", css=_CSS)
    data: bytes = document.tobytes()
    return data
