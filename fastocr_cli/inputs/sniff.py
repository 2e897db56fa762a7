"""What kind of file this is, judged by its first bytes and never by its name.

Knows magic numbers; opens nothing.
"""

from __future__ import annotations

import re
from enum import StrEnum

HEAD_BYTES = 2048
"""How much of a file `sniff` and `describe` want to see; junk before "%PDF-" fits in it."""


class Kind(StrEnum):
    """Kinds of documents that can be turned into pages."""

    PDF = "PDF"
    PNG = "PNG"
    JPEG = "JPEG"
    TIFF = "TIFF"
    WEBP = "WebP"
    GIF = "GIF"
    BMP = "BMP"
    PNM = "PNM"
    JPEG2000 = "JPEG 2000"
    AVIF = "AVIF"
    HEIC = "HEIC"


# fmt: off
SUFFIXES = frozenset({
    ".pdf", ".png", ".apng", ".jpg", ".jpeg", ".jpe", ".jfif", ".mpo", ".tif", ".tiff", ".webp",
    ".gif", ".bmp", ".dib", ".pbm", ".pgm", ".ppm", ".pnm", ".jp2", ".j2k", ".jpx", ".jpf", ".j2c",
    ".avif", ".heic", ".heif",
})
# fmt: on
"""Endings by which a file in a folder claims to be a document. The claim is still checked."""

_MAGIC = (
    (re.compile(rb"\x89PNG\r\n\x1a\n"), Kind.PNG),
    (re.compile(rb"\xff\xd8\xff"), Kind.JPEG),
    (re.compile(rb"II\*\0|MM\0\*|II\+\0|MM\0\+"), Kind.TIFF),
    (re.compile(rb"RIFF.{4}WEBP", re.DOTALL), Kind.WEBP),
    (re.compile(rb"GIF8[79]a"), Kind.GIF),
    # "BM" alone begins plain text too; the size of the header that follows does not.
    (re.compile(rb"BM.{12}[\x0c\x10\x28\x34\x38\x40\x6c\x7c]\0\0\0", re.DOTALL), Kind.BMP),
    (re.compile(rb"P[1-6][\s#]"), Kind.PNM),
    (re.compile(rb"\0\0\0\x0cjP  \r\n\x87\n|\xff\x4f\xff\x51"), Kind.JPEG2000),
    (re.compile(rb".{4}ftypavi[fs]", re.DOTALL), Kind.AVIF),
    (re.compile(rb".{4}ftypm[is]f1.{4,40}avi[fs]", re.DOTALL), Kind.AVIF),
    (re.compile(rb".{4}ftyp(hei|hev|mif1|msf1)", re.DOTALL), Kind.HEIC),
)

# The header may follow some junk, which every PDF reader in use accepts; but a text that mentions
# it within a line is no PDF.
_PDF_HEADER = re.compile(rb"(\A|[^\x20-\x7e])%PDF-\d")

_OTHERS = (
    (re.compile(rb"PK\x03\x04"), "a ZIP archive or an office document"),
    (re.compile(rb"\xd0\xcf\x11\xe0"), "an old office document"),
    (re.compile(rb"%!PS|\xc5\xd0\xd3\xc6"), "PostScript"),
    (re.compile(rb"AT&TFORM"), "DjVu"),
    (re.compile(rb"\x97JB2"), "bare JBIG2"),
    (re.compile(rb"\x1f\x8b|BZh|\xfd7zXZ|7z\xbc\xaf|Rar!"), "a compressed archive"),
    (re.compile(rb".{4}ftyp", re.DOTALL), "a video"),
    (re.compile(rb"\s*<(\?xml|!doctype|html|svg)", re.IGNORECASE), "HTML, SVG or XML"),
)


def sniff(head: bytes) -> Kind | None:
    """The kind of a file that begins with `head`, or None if it is none we can read."""
    for pattern, kind in _MAGIC:
        if pattern.match(head):
            return kind
    return Kind.PDF if _PDF_HEADER.search(head[:1024]) else None


def describe(head: bytes) -> str:
    """A few words for a file whose kind is not among ours."""
    for pattern, words in _OTHERS:
        if pattern.match(head):
            return words
    if not head.strip(b"\0"):
        return "filled with zero bytes"
    if b"\0" in head:
        return "of an unknown binary kind"
    return "plain text" if _is_utf8(head) else "of an unknown kind"


def _is_utf8(head: bytes) -> bool:
    # The head may end inside a character, hence the three bytes that may be missing.
    for end in range(len(head), max(len(head) - 4, 0), -1):
        try:
            head[:end].decode()
        except UnicodeDecodeError:
            continue
        return True
    return False
