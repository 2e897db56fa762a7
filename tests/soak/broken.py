"""Soak inputs that cannot be read, wholly or in part: each way of being broken is a function."""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pymupdf
from PIL import Image

from tests.soak.readable import encode, fax
from tests.soak.sheets import pdf_of, sheets

FLATE_TIFF = {"compression": "tiff_deflate"}


@dataclass(frozen=True)
class Way:
    """A way of being broken. `good_pages` are the numbers of the pages that can be read still."""

    name: str
    suffix: str
    make: Callable[[Path, int], None]
    good_pages: tuple[int, ...] = ()
    exit_code: int = 4


def content(make: Callable[[int], bytes]) -> Callable[[Path, int], None]:
    return lambda path, number: path.write_bytes(make(number))  # type: ignore[return-value]


def cut(make: Callable[[int], bytes], share: float) -> Callable[[Path, int], None]:
    return content(lambda number: make(number)[: int(len(make(number)) * share)])


def one_page_pdf(number: int) -> bytes:
    return pdf_of(sheets(number, 1))


def encrypted(number: int) -> bytes:
    return pdf_of(sheets(number, 1), encryption=pymupdf.PDF_ENCRYPT_AES_256, user_pw="secret")


def no_pages(_: int) -> bytes:
    return (
        b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n"
        b"2 0 obj<</Type/Pages/Kids[]/Count 0>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF"
    )


def lost_page(number: int) -> bytes:
    with pymupdf.open("pdf", pdf_of(sheets(number, 3))) as document:
        document.update_object(document.page_xref(1), "null")
        return document.tobytes()


def damaged_frame(number: int) -> bytes:
    frames = [sheet.image for sheet in sheets(number, 3)]
    data = bytearray(
        encode(frames[0], "TIFF", save_all=True, append_images=frames[1:], **FLATE_TIFF)
    )
    with Image.open(io.BytesIO(data)) as image:
        image.seek(1)
        start = image.tag_v2[273][0]
    data[start : start + 100] = bytes(100)
    return bytes(data)


@cache
def too_large(_: int = 0) -> bytes:
    return encode(Image.new("1", (30_000, 30_000), 1), "PNG")


def archive(_: int) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        file.writestr("word/document.xml", "<document/>")
    return buffer.getvalue()


def picture(format_: str, **options: object) -> Callable[[int], bytes]:
    return lambda number: encode(sheets(number, 1)[0].image, format_, **options)


def forbidden(path: Path, _: int) -> None:
    path.touch()  # empty as well, since to root nothing is forbidden
    path.chmod(0)


WAYS = (
    Way("PDF cut short", ".pdf", cut(one_page_pdf, 0.3)),
    Way("PNG of zero bytes", ".png", content(lambda _: b"")),
    Way("PDF of zero bytes", ".pdf", content(lambda _: b"")),
    Way("text called PDF", ".pdf", content(lambda n: b"Just a few words, %d of them.\n" % n)),
    Way("archive called PDF", ".pdf", content(archive)),
    Way("HTML called PNG", ".png", content(lambda _: b"<!DOCTYPE html><title>Not found</title>")),
    Way("encrypted PDF", ".pdf", content(encrypted), exit_code=5),
    Way("PDF without objects", ".pdf", content(lambda n: one_page_pdf(n).replace(b"obj", b"xxx"))),
    Way("PDF without pages", ".pdf", content(no_pages)),
    Way("PDF with a lost page", ".pdf", content(lost_page), good_pages=(1, 3)),
    Way("TIFF with a damaged frame", ".tif", content(damaged_frame), good_pages=(1, 3)),
    Way("picture of 30,000 px", ".png", content(too_large)),
    Way("JPEG cut short", ".jpg", cut(picture("JPEG"), 0.6)),
    Way("PNG cut short", ".png", cut(picture("PNG"), 0.6)),
    Way("TIFF cut short", ".tif", cut(lambda n: fax(sheets(n, 1)), 0.2)),
    Way("WebP cut short", ".webp", cut(picture("WEBP"), 0.6)),
    Way("PNG of garbage", ".png", content(lambda _: b"\x89PNG\r\n\x1a\n" + b"garbage" * 20)),
    Way("a file filled with zeros", ".pdf", content(lambda _: bytes(4096))),
    Way("no permission", ".pdf", forbidden),
    Way("link to itself", ".pdf", lambda path, _: path.symlink_to(path.name)),
    Way("link to nothing", ".png", lambda path, _: path.symlink_to("gone.png")),
    Way("named pipe", ".pdf", lambda path, _: os.mkfifo(path)),
    Way("folder called PDF", ".pdf", lambda path, _: path.mkdir()),
)
