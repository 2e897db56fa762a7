"""Pictures and documents that the tests of the input layer make for themselves."""

from __future__ import annotations

import io
from collections.abc import Sequence

import numpy as np
import pymupdf
from PIL import Image

from fastocr_cli.inputs.documents import document_from_bytes
from fastocr_cli.raster import RasterSettings, iter_pages
from fastocr_cli.results import PageImage

WIDTH, HEIGHT = 120, 80
RED, BLACK, WHITE = (255, 0, 0), (0, 0, 0), (255, 255, 255)


def flag() -> Image.Image:
    """White, a red block at the top left and a black one at the bottom right: no symmetry."""
    image = Image.new("RGB", (WIDTH, HEIGHT), WHITE)
    image.paste(RED, (0, 0, 40, 20))
    image.paste(BLACK, (100, 50, WIDTH, HEIGHT))
    return image


def encode(image: Image.Image, format_: str, **options: object) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, format_, **options)
    return buffer.getvalue()


def pdf(texts: Sequence[str] = ("text",), **options: object) -> bytes:
    """A page of 200 x 100 points for each text."""
    document = pymupdf.open()
    for text in texts:
        document.new_page(width=200, height=100).insert_text((20, 50), text, fontsize=20)
    return document.tobytes(**options)


def flag_pdf(rotation: int = 0) -> bytes:
    """The flag as a page of 120 x 80 points, displayed turned by `rotation` degrees clockwise."""
    document = pymupdf.open()
    page = document.new_page(width=WIDTH, height=HEIGHT)
    page.draw_rect((0, 0, 40, 20), color=None, fill=(1, 0, 0))
    page.draw_rect((100, 50, WIDTH, HEIGHT), color=None, fill=(0, 0, 0))
    page.set_rotation(rotation)
    return document.tobytes()


def read_all(data: bytes, **settings: object) -> list:
    return list(iter_pages(document_from_bytes(data, "x"), RasterSettings(**settings)))


def read(data: bytes, **settings: object) -> PageImage:
    (page,) = read_all(data, **settings)
    assert isinstance(page, PageImage), page
    assert page.pixels.dtype == np.uint8
    assert page.pixels.flags["C_CONTIGUOUS"]
    return page


def corners(page: PageImage) -> list[str]:
    """The colours a little inside the corners: top left, top right, bottom left, bottom right."""
    y, x = page.height_px // 12, page.width_px // 12
    return [name_of(page.pixels[at]) for at in ((y, x), (y, -x), (-y, x), (-y, -x))]


def name_of(colour: np.ndarray) -> str:
    near = {"red": RED, "black": BLACK, "white": WHITE}
    distance = {
        name: np.abs(np.subtract(value, colour.astype(int))).max() for name, value in near.items()
    }
    best = min(distance, key=distance.__getitem__)
    return best if distance[best] < 24 else str(colour)


FLAG_CORNERS = ["red", "white", "white", "black"]
