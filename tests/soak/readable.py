"""Soak inputs that can be read, and should be: many kinds of file around the same sheets."""

from __future__ import annotations

import io
import struct
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pymupdf
from PIL import Image

from tests.soak.sheets import DPI, Sheet, pdf_of, sheets

Make = Callable[[list[Sheet]], bytes]


@dataclass(frozen=True)
class Kind:
    """A kind of input. `pages` is how many sheets it carries; 0 means that it is a blank page."""

    name: str
    suffix: str
    make: Make
    pages: int = 1


def encode(image: Image.Image, format_: str, **options: object) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, format_, **options)
    return buffer.getvalue()


def image_kind(name: str, suffix: str, format_: str, mode: str = "RGB", **options: object) -> Kind:
    def make(pages: list[Sheet]) -> bytes:
        return encode(pages[0].image.convert(mode), format_, **options)

    return Kind(name, suffix, make)


def rotated_pdf(pages: list[Sheet]) -> bytes:
    """Drawn lying on its side, with a note that it is to be shown upright."""
    with pymupdf.open("pdf", pdf_of(pages)) as drawn, pymupdf.open() as document:
        size = drawn[0].rect
        page = document.new_page(width=size.height, height=size.width)
        page.show_pdf_page(page.rect, drawn, 0, rotate=90)
        page.set_rotation(90)
        return document.tobytes(garbage=3)


def image_pdf(pages: list[Sheet]) -> bytes:
    """As scanners make them: a JPEG on a page."""
    with pymupdf.open() as document:
        for sheet in pages:
            width, height = (side * 72 / DPI for side in sheet.image.size)
            page = document.new_page(width=width, height=height)
            page.insert_image(page.rect, stream=encode(sheet.image, "JPEG", quality=90))
        return document.tobytes()


def jbig2_pdf(pages: list[Sheet]) -> bytes:
    """A bilevel scan in JBIG2, whose MMR coding is that of a Group 4 fax."""
    with pymupdf.open("pdf", image_pdf(pages)) as document:
        xref = document[0].get_images()[0][0]
        black_on_white = pages[0].image.point(lambda grey: 255 * (grey > 140), "1")
        width, height = black_on_white.size
        document.update_object(
            xref,
            f"<</Type/XObject/Subtype/Image/Width {width}/Height {height}"
            "/BitsPerComponent 1/ColorSpace/DeviceGray>>",
        )
        document.update_stream(xref, jbig2(black_on_white), compress=False)
        document.xref_set_key(xref, "Filter", "/JBIG2Decode")
        return document.tobytes()


def jbig2(image: Image.Image) -> bytes:
    """The two segments that make a page of one region."""
    width, height = image.size
    # Pillow writes a set bit as white; the fax coder, and JBIG2, take it for ink.
    inverted = image.point(lambda level: 255 - level)
    with Image.open(
        io.BytesIO(encode(inverted, "TIFF", compression="group4", tiffinfo={278: height}))
    ) as tiff:
        (start,), (count,) = tiff.tag_v2[273], tiff.tag_v2[279]
        tiff.fp.seek(start)
        coded = tiff.fp.read(count)
    page = struct.pack(">IIIIBH", width, height, 0, 0, 0, 0)
    region = struct.pack(">IIIIBB", width, height, 0, 0, 0, 1) + coded
    return b"".join(
        struct.pack(">IBBBI", number, kind, 0, 1, len(data)) + data
        for number, (kind, data) in enumerate([(48, page), (38, region)])
    )


def repaired_pdf(pages: list[Sheet]) -> bytes:
    return pdf_of(pages).replace(b"startxref", b"startxxxx")


def owner_locked_pdf(pages: list[Sheet]) -> bytes:
    return pdf_of(pages, encryption=pymupdf.PDF_ENCRYPT_AES_256, owner_pw="owner", permissions=0)


def sideways_jpeg(pages: list[Sheet]) -> bytes:
    exif = Image.Exif()
    exif[0x0112] = 6
    turned = pages[0].image.transpose(Image.Transpose.ROTATE_90)
    return encode(turned, "JPEG", exif=exif, quality=90)


def transparent_png(pages: list[Sheet]) -> bytes:
    """Black ink on nothing."""
    ink = Image.new("LA", pages[0].image.size)
    ink.putalpha(pages[0].image.point(lambda grey: 255 - grey))
    return encode(ink, "PNG")


def deep(pages: list[Sheet]) -> Image.Image:
    return Image.fromarray(np.asarray(pages[0].image).astype(np.uint16) * 257)


def fax(pages: list[Sheet]) -> bytes:
    frames = [sheet.image.point(lambda grey: 255 * (grey > 140), "1") for sheet in pages]
    options = {"compression": "group4", "dpi": (DPI, DPI), "append_images": frames[1:]}
    return encode(frames[0], "TIFF", save_all=True, **options)


def paper(level: int, grain: float) -> Make:
    def make(pages: list[Sheet]) -> bytes:
        grey = np.random.default_rng(pages[0].number).normal(level, grain, (400, 600))
        return encode(Image.fromarray(np.clip(grey, 0, 255).astype(np.uint8)), "PNG")

    return make


def giant_pdf(pages: list[Sheet]) -> bytes:
    """30,000 px wide at 150 dpi, as large as PDF allows."""
    with pymupdf.open() as document:
        page = document.new_page(width=14400, height=14400)
        page.insert_text((1000, 7000), "Giant", fontsize=4000)
        return document.tobytes()


KINDS = (
    Kind("PDF", ".pdf", pdf_of),
    Kind("three pages", ".pdf", pdf_of, pages=3),
    Kind("rotated PDF", ".pdf", rotated_pdf),
    Kind("scan in a PDF", ".pdf", image_pdf, pages=2),
    Kind("JBIG2 in a PDF", ".pdf", jbig2_pdf),
    Kind("PDF with a broken xref", ".pdf", repaired_pdf),
    Kind("PDF locked by its owner", ".PDF", owner_locked_pdf),
    image_kind("grey PNG", ".png", "PNG", "L"),
    image_kind("PNG with a palette", ".png", "PNG", "P"),
    Kind("PNG with alpha", ".png", transparent_png),
    Kind("16-bit PNG", ".png", lambda pages: encode(deep(pages), "PNG")),
    image_kind("PNG with a wrong suffix", ".pdf", "PNG"),
    image_kind("JPEG", ".jpg", "JPEG", quality=90),
    image_kind("CMYK JPEG", ".jpeg", "JPEG", "CMYK", quality=90),
    Kind("JPEG on its side", ".JPG", sideways_jpeg),
    Kind("fax", ".tif", fax),
    Kind("fax of three pages", ".tiff", fax, pages=3),
    Kind("16-bit TIFF", ".tif", lambda pages: encode(deep(pages), "TIFF")),
    image_kind("WebP", ".webp", "WEBP", quality=90),
    image_kind("GIF", ".gif", "GIF", "L"),
    image_kind("BMP", ".bmp", "BMP"),
    image_kind("PPM", ".ppm", "PPM"),
    image_kind("JPEG 2000", ".jp2", "JPEG2000"),
    image_kind("AVIF", ".avif", "AVIF", quality=90),
    Kind("white paper", ".png", paper(245, 4), pages=0),
    Kind("black paper", ".png", paper(6, 3), pages=0),
    Kind("one pixel", ".png", lambda _: encode(Image.new("L", (1, 1)), "PNG"), pages=0),
)
GIANT = Kind("giant page", ".pdf", giant_pdf)

__all__ = ["GIANT", "KINDS", "Kind", "sheets"]
