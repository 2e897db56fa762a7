"""The printed sheets of the soak folder: a few lines each, told apart by their numbers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import pymupdf
from PIL import Image

DPI = 150
WIDTH_PT, HEIGHT_PT = 300, 110
LINES = (
    "The parcels were weighed and sent on Monday.",
    "Please return the green folder to the archive.",
    "Both doors stay closed until the paint is dry.",
    "A copy of this page was kept by the office.",
    "The next train to the harbour leaves at noon.",
)


@dataclass(frozen=True)
class Sheet:
    """One page: its words, and what they look like."""

    number: int
    page: int = 1

    @property
    def lines(self) -> tuple[str, ...]:
        first = f"File {self.number}, page {self.page}"
        return first, *(LINES[(self.number + self.page + i) % len(LINES)] for i in range(3))

    def add_to(self, document: pymupdf.Document) -> pymupdf.Page:
        page = document.new_page(width=WIDTH_PT, height=HEIGHT_PT)
        page.insert_text((24, 32), self.lines, fontsize=11, lineheight=1.5)
        return page

    @cached_property
    def image(self) -> Image.Image:
        """The sheet as a grey scan at 150 dpi."""
        with pymupdf.open() as document:
            pixmap = self.add_to(document).get_pixmap(dpi=DPI, colorspace=pymupdf.csGRAY)
            return Image.frombytes("L", (pixmap.width, pixmap.height), pixmap.samples)


def sheets(number: int, count: int) -> list[Sheet]:
    return [Sheet(number, page) for page in range(1, count + 1)]


def pdf_of(pages: list[Sheet], **options: object) -> bytes:
    with pymupdf.open() as document:
        for sheet in pages:
            sheet.add_to(document)
        return document.tobytes(**options)
