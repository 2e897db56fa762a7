"""Image files to pages, one frame at a time, with Pillow.

Knows image files only. Every frame of a TIFF, GIF or other sequence is a page; of the several
pictures in an MPO (a stereo or phone photograph) the first one is.

An image keeps its own pixels. Its resolution is the one it states, unless that would make the
paper absurdly large (72 and 96 dpi are what programs write when they do not know); then, or where
it states none, the longer side is taken for that of an A4 sheet.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from PIL import Image

from fastocr_cli.colour import to_rgb
from fastocr_cli.documents import Document, printable
from fastocr_cli.errors import FastocrError, InputError, MissingModelError
from fastocr_cli.raster_base import RasterSettings, cap_scale, make_page
from fastocr_cli.results import PageImage
from fastocr_cli.sniff import Kind

A4_LONG_IN = 11.69
GUESSED_DPI = (72.0, 600.0)
STATED_DPI = (30.0, 2400.0)
LONGEST_PAPER_IN = 60.0
DEFAULT_DPI_VALUES = (72, 96)
LONGEST_PAPER_AT_DEFAULT_DPI_IN = 17.0

Size = tuple[int, int]

_ORIENTATION_TAG = 0x0112
_UPRIGHT = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
_RESIZABLE_MODES = ("L", "LA", "RGB", "RGBA", "CMYK")


class ImagePages:
    """The frames of one image file; see `PageSource`."""

    warnings: tuple[str, ...] = ()

    def __init__(self, document: Document, settings: RasterSettings) -> None:
        self._source = document.source
        self._settings = settings
        self._format = _pillow_format(document)
        # Our own cap deals with large images; Pillow still refuses gigantic ones with an error.
        warnings.simplefilter("ignore", Image.DecompressionBombWarning)
        self._file = document.open()
        try:
            with _reported_as(printable(self._source)):
                self._image = self._open()
                self.page_count = _count_frames(self._image)
        except BaseException:
            self._file.close()
            raise

    def close(self) -> None:
        self._image.close()
        self._file.close()

    def render(self, number: int) -> PageImage:
        with _reported_as(f"{printable(self._source)}, page {number}"):
            image = self._frame(number)
            size, dpi, notes = _plan(image, self._settings.max_pixels)
            upright = _load_upright(image, size)
            pixels = np.array(upright)
        return make_page(pixels, number, dpi, self._source, notes)

    def _open(self) -> Image.Image:
        self._file.seek(0)
        return Image.open(self._file, formats=(self._format,))

    def _frame(self, number: int) -> Image.Image:
        if self.page_count == 1:  # opened again, since a JPEG decoded at a smaller scale stays so
            self._image = self._open()
        else:
            self._image.seek(number - 1)
        return self._image


def _pillow_format(document: Document) -> str:
    """Pillow's name for the kind. Raises MissingModelError if it cannot read it here."""
    if document.kind is Kind.HEIC:
        try:
            import pillow_heif
        except ImportError as error:
            raise MissingModelError(
                f"{printable(document.source)}: HEIC needs a further package; "
                "pip install 'fastocr-cli[heif]', or convert it to JPEG"
            ) from error
        pillow_heif.register_heif_opener()
    names = {Kind.PNM: "PPM", Kind.JPEG2000: "JPEG2000", Kind.HEIC: "HEIF"}
    name = names.get(document.kind, document.kind.upper())
    Image.init()
    if name not in Image.OPEN:
        raise MissingModelError(
            f"{printable(document.source)}: this Pillow is built without {document.kind}; "
            "pip install --upgrade pillow, or convert it to PNG"
        )
    return name


def _count_frames(image: Image.Image) -> int:
    # An animated PNG states its number of frames unchecked, up to four thousand millions.
    if image.format in ("MPO", "PNG"):
        return 1
    try:
        return int(getattr(image, "n_frames", 1))
    except Exception:  # a damaged frame: count up to it, and let it fail as a page
        return _count_by_seeking(image)


def _count_by_seeking(image: Image.Image) -> int:
    count = 1
    try:
        while True:
            image.seek(count)
            count += 1
    except EOFError:
        return count
    except Exception:
        return count + 1
    finally:
        image.seek(0)


def _plan(image: Image.Image, max_pixels: int) -> tuple[Size, float, tuple[str, ...]]:
    """Size the frame will have (not yet turned upright), its pixels per inch, and warnings.

    Where the frame has other resolutions across and down, as faxes do, the lower one is raised.
    """
    stated = _stated_dpi(image)
    plausible = stated is not None and _is_plausible(image.size, stated)
    notes = []
    if stated is not None and plausible:
        dpi = max(stated)
        width, height = image.width * dpi / stated[0], image.height * dpi / stated[1]
    else:
        dpi = min(max(max(image.size) / A4_LONG_IN, GUESSED_DPI[0]), GUESSED_DPI[1])
        width, height = image.width, image.height
    scale = cap_scale(width, height, max_pixels)
    if scale < 1:
        notes.append(
            f"{image.width} x {image.height} pixels: scaled down to {scale:.0%} to stay under "
            f"{max_pixels / 1e6:.0f} megapixels"
        )
    size = (max(1, round(width * scale)), max(1, round(height * scale)))
    return size, dpi * scale, tuple(notes)


def _stated_dpi(image: Image.Image) -> tuple[float, float] | None:
    """Resolution across and down as the file has it."""
    try:
        across, down = (float(value) for value in image.info["dpi"])
    except (KeyError, TypeError, ValueError, ZeroDivisionError):
        return None
    return across, down


def _is_plausible(size: Size, dpi: tuple[float, float]) -> bool:
    if not all(STATED_DPI[0] <= value <= STATED_DPI[1] for value in dpi):
        return False
    is_default = all(round(value) in DEFAULT_DPI_VALUES for value in dpi)
    longest = LONGEST_PAPER_AT_DEFAULT_DPI_IN if is_default else LONGEST_PAPER_IN
    return max(size[0] / dpi[0], size[1] / dpi[1]) <= longest


def _load_upright(image: Image.Image, size: Size) -> Image.Image:
    """Decodes a frame to RGB at `size`, then turned as its EXIF data says."""
    turned = _orientation(image) >= 5
    image.draft("", size)  # JPEG can be decoded at a half, a quarter or an eighth at once
    image.load()
    # Pillow turns TIFF upright by itself while loading, so the tag is read again.
    orientation = _orientation(image)
    upright = image.transpose(_UPRIGHT[orientation]) if orientation in _UPRIGHT else image
    size = size[::-1] if turned else size
    if upright.mode in _RESIZABLE_MODES and "transparency" not in upright.info:
        upright = _resize(upright, size)
    return _resize(to_rgb(upright), size)


def _resize(image: Image.Image, size: Size) -> Image.Image:
    if image.size == size:
        return image
    return image.resize(size, Image.Resampling.LANCZOS, reducing_gap=2.0)


def _orientation(image: Image.Image) -> int:
    """EXIF orientation, 1 to 8; 1 where it is missing or senseless."""
    try:
        value = image.getexif().get(_ORIENTATION_TAG, 1)
    except Exception:  # damaged EXIF data raise nearly anything, and must not cost the page
        return 1
    return value if value in _UPRIGHT else 1


@contextmanager
def _reported_as(where: str) -> Iterator[None]:
    """Turns what Pillow raises into an InputError: on damaged bytes that is nearly anything."""
    try:
        yield
    except FastocrError:
        raise
    except Image.DecompressionBombError as error:
        limit = 2 * (Image.MAX_IMAGE_PIXELS or 0) / 1e6
        raise InputError(
            f"{where}: more than {limit:.0f} megapixels; scale it down or cut it up first"
        ) from error
    except MemoryError as error:
        raise InputError(f"{where}: too large for this machine's memory; scale it down") from error
    except Exception as error:
        reason = " ".join(str(error).split()) if isinstance(error, OSError) else ""
        detail = f" ({reason})" if reason and "identify" not in reason else ""
        raise InputError(f"{where}: damaged or cut short{detail}; copy or scan it again") from error
