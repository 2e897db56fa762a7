"""Image files to pages, one frame at a time, with Pillow.

Knows image files only. Every frame of a TIFF, GIF or other sequence is a page; of the several
pictures in an MPO (a stereo or phone photograph) or an animated PNG the first one is.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from PIL import Image

from fastocr_cli.errors import FastocrError, InputError, MissingModelError
from fastocr_cli.inputs.documents import Document, printable
from fastocr_cli.inputs.sniff import Kind
from fastocr_cli.raster.base import RasterSettings, cap_scale, make_page
from fastocr_cli.raster.colour import to_rgb
from fastocr_cli.raster.plan import Dpi, Size, plan_page
from fastocr_cli.results import PageImage

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
        # Pillow warns of large images, which our own cap deals with, and of damage that it copes
        # with; gigantic images and worse damage are still errors.
        warnings.filterwarnings("ignore", module=r"PIL\b")
        self._file = document.open()
        try:
            with _reported_as(printable(self._source)), _quiet_libtiff(self._format):
                self._image = self._open()
                self.page_count = _count_frames(self._image)
        except BaseException:
            self._file.close()
            raise

    def close(self) -> None:
        self._image.close()
        self._file.close()

    def render(self, number: int) -> PageImage:
        where = f"{printable(self._source)}, page {number}"
        with _reported_as(where), _quiet_libtiff(self._format):
            image, size, stated = _load(self._frame(number), self._settings.max_pixels)
            plan = plan_page(size, stated, self._settings.max_pixels)
            pixels = np.array(_convert(image, plan.size))
        turn = self._settings.turn
        return make_page(pixels, number, plan.dpi, self._source, plan.warnings, turn)

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


def _load(image: Image.Image, max_pixels: int) -> tuple[Image.Image, Size, Dpi | None]:
    """Decodes a frame and turns it upright.

    Returns it with the size it has in the file and the resolution across and down, both upright.
    """
    size, stated, orientation = image.size, _stated_dpi(image), _orientation(image)
    scale = cap_scale(*size, max_pixels)
    # JPEG can be decoded at a half, a quarter or an eighth at once; other formats ignore this.
    image.draft("", (round(size[0] * scale), round(size[1] * scale)))
    is_reduced = image.size != size
    image.load()
    # Pillow turns TIFF upright by itself while loading, so the tag is read again.
    turn = _UPRIGHT.get(_orientation(image))
    upright = image if turn is None else image.transpose(turn)
    if orientation >= 5:
        size, stated = size[::-1], stated and stated[::-1]
    return upright, size if is_reduced else upright.size, stated


def _convert(image: Image.Image, size: Size) -> Image.Image:
    """To RGB at `size`; made smaller first where that is possible, since it saves memory."""
    if image.mode in _RESIZABLE_MODES and "transparency" not in image.info:
        image = _resize(image, size)
    return _resize(to_rgb(image), size)


def _resize(image: Image.Image, size: Size) -> Image.Image:
    if image.size == size:
        return image
    return image.resize(size, Image.Resampling.LANCZOS, reducing_gap=2.0)


def _stated_dpi(image: Image.Image) -> Dpi | None:
    try:
        across, down = (float(value) for value in image.info["dpi"])
    except (KeyError, TypeError, ValueError, ZeroDivisionError):
        return None
    return across, down


def _orientation(image: Image.Image) -> int:
    """EXIF orientation, 1 to 8; 1 where it is missing or senseless."""
    try:
        value = image.getexif().get(_ORIENTATION_TAG, 1)
    except Exception:  # damaged EXIF data raise nearly anything, and must not cost the page
        return 1
    return value if value in _UPRIGHT else 1


@contextmanager
def _quiet_libtiff(format_: str) -> Iterator[None]:
    """Keeps from stderr what libtiff writes there, from C, about a damaged file."""
    if format_ != "TIFF":
        yield
        return
    try:
        saved = os.dup(2)
    except OSError:  # there is no stderr
        yield
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)
        os.close(nowhere)


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
        text = f"{where}: damaged or cut short{detail}; copy or scan it again"
        raise InputError(text) from error
