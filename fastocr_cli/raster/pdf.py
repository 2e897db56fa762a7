"""PDF pages to pixels, one at a time, with PyMuPDF.

Knows PDF only. MuPDF draws what it can of a damaged page and complains on stderr; here it is kept
quiet, its complaints become the page's warnings, and a page of which nothing could be drawn is an
error, not a blank page. MuPDF is not thread-safe: one thread of a process may use it at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pymupdf

from fastocr_cli.errors import EncryptedError, InputError
from fastocr_cli.inputs.documents import Document, printable
from fastocr_cli.raster.base import RasterSettings, cap_scale, make_page
from fastocr_cli.results import PageImage

MAX_COMPLAINTS = 3
REPAIRED = "the PDF is damaged and was repaired; text may be missing"

# PyMuPDF raises both its own and plain errors on damaged files, the latter also from deep inside.
_MUPDF_ERRORS = (pymupdf.mupdf.FzErrorBase, RuntimeError, ValueError, TypeError, LookupError)


class PdfPages:
    """The pages of one PDF; see `PageSource`."""

    def __init__(self, document: Document, settings: RasterSettings) -> None:
        self._source = document.source
        self._settings = settings
        _quieten()
        self._pdf = _open(document)
        try:
            self._unlock()
            self.page_count = self._count_pages()
        except BaseException:
            self.close()
            raise
        self.warnings: tuple[str, ...] = (REPAIRED,) if self._pdf.is_repaired else ()

    def close(self) -> None:
        self._pdf.close()

    def render(self, number: int) -> PageImage:
        _take_complaints()
        where = f"{printable(self._source)}, page {number}"
        with _reported_as(where, "cannot be drawn; open the PDF in a viewer and print it anew"):
            page = self._pdf.load_page(number - 1)
            dpi, warnings = self._resolution(page)
            pixmap = page.get_pixmap(dpi=None, matrix=pymupdf.Matrix(dpi / 72, dpi / 72))
            pixels = _pixels(pixmap)
        complaints = _take_complaints()
        if complaints and pixels.min() == 255:
            raise InputError(f"{where}: damaged, nothing could be drawn ({complaints[0]})")
        notes = (*warnings, *complaints)
        return make_page(pixels, number, dpi, self._source, notes, self._settings.turn)

    def _unlock(self) -> None:
        if not self._pdf.needs_pass:
            return
        name, password = printable(self._source), self._settings.password
        if password is None:
            raise EncryptedError(
                f"{name}: encrypted; give its password with --password or FASTOCR_PASSWORD"
            )
        if not self._pdf.authenticate(password):
            raise EncryptedError(f"{name}: the password does not open it; check --password")

    def _count_pages(self) -> int:
        name = printable(self._source)
        with _reported_as(name, "its list of pages cannot be read; copy it again"):
            count = int(self._pdf.page_count)
            if self._pdf.is_repaired and not any(map(self._has_page, range(count))):
                count = 0
        if count < 1:
            raise InputError(
                f"{name}: there is not one page in it; it may be cut short, copy it again"
            )
        return count

    def _has_page(self, index: int) -> bool:
        """Whether the list of pages leads to a page here, and not to something that was lost."""
        try:
            return bool(self._pdf.xref_get_keys(self._pdf.page_xref(index)))
        except _MUPDF_ERRORS:
            return False

    def _resolution(self, page: pymupdf.Page) -> tuple[float, tuple[str, ...]]:
        """Pixels per inch for this page, and a warning where they are fewer than asked for."""
        wanted = self._settings.dpi
        width, height = page.rect.width * wanted / 72, page.rect.height * wanted / 72
        scale = cap_scale(width, height, self._settings.max_pixels)
        if scale == 1:
            return wanted, ()
        warning = (
            f"a page of {page.rect.width / 72:.0f} x {page.rect.height / 72:.0f} inches: drawn at "
            f"{wanted * scale:.0f} instead of {wanted:.0f} dpi to stay under "
            f"{self._settings.max_pixels / 1e6:.3g} megapixels"
        )
        return wanted * scale, (warning,)


def _open(document: Document) -> pymupdf.Document:
    document.open().close()  # for the file system's own words if it cannot be read
    with _reported_as(printable(document.source), "damaged beyond repair; copy it again"):
        if document.path is None or not _is_utf8(str(document.path)):
            with document.open() as file:
                return pymupdf.open(stream=file.read(), filetype="pdf")
        return pymupdf.open(document.path, filetype="pdf")


def _is_utf8(path: str) -> bool:
    """MuPDF takes no other names; the file is then read here."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def _pixels(pixmap: pymupdf.Pixmap) -> np.ndarray:
    """A copy [height, width, 3] that does not hang on MuPDF's memory."""
    if pixmap.width < 1 or pixmap.height < 1:
        raise ValueError("the page has no area")
    rows = np.frombuffer(pixmap.samples_mv, np.uint8).reshape(pixmap.height, pixmap.stride)
    return rows[:, : pixmap.width * 3].reshape(pixmap.height, pixmap.width, 3).copy()


@contextmanager
def _reported_as(what: str, otherwise: str) -> Iterator[None]:
    try:
        yield
    except _MUPDF_ERRORS as error:
        complaints = (*_take_complaints(), " ".join(str(error).split()))
        raise InputError(f"{what}: {otherwise} ({complaints[0]})") from error


def _quieten() -> None:
    pymupdf.TOOLS.mupdf_display_errors(False)
    pymupdf.TOOLS.mupdf_display_warnings(False)


def _take_complaints() -> tuple[str, ...]:
    """What MuPDF said since the last call, a few lines at most."""
    lines = [line for line in pymupdf.TOOLS.mupdf_warnings().splitlines() if line.strip()]
    lines = list(dict.fromkeys(line for line in lines if not line.startswith("... repeated")))
    more = [f"and {len(lines) - MAX_COMPLAINTS} more"] if len(lines) > MAX_COMPLAINTS else []
    return tuple(lines[:MAX_COMPLAINTS] + more)
