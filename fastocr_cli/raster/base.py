"""What the two rasterisers share: settings, the cap on a page's size, and how they are used.

Knows numbers and the shape of a rasteriser; opens no file.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import numpy.typing as npt

from fastocr_cli.errors import FastocrError
from fastocr_cli.results import PageImage

DEFAULT_DPI = 144.0
FINE_DPI = 216.0
"""For the embedded reader, which scales every page to its own liking and reads small type from the
raster; other models would spend twice the visual tokens on it."""
DEFAULT_MAX_PIXELS = 40_000_000
BLACK_LEVEL = 64
MAX_SIDE_PX = 60_000
"""Longest side of a raster; beyond it libraries begin to refuse."""


@dataclass(frozen=True, slots=True)
class RasterSettings:
    """How pages become pixels.

    dpi: resolution at which PDF pages are drawn; an image keeps its own pixels.
    max_pixels: pages with more pixels are scaled down, before they are drawn where that is
        possible, and say so in their warnings.
    turn: degrees clockwise that every upright page is turned by, a multiple of 90.
    password: for encrypted PDFs.
    """

    dpi: float = DEFAULT_DPI
    max_pixels: int = DEFAULT_MAX_PIXELS
    turn: int = 0
    password: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class PageFailure:
    """A page that could not be drawn; the document's other pages are not touched by it.

    source: the document's, see `Document.source`.
    number: from 1.
    """

    source: str
    number: int
    error: FastocrError


class PageSource(Protocol):
    """An opened document.

    page_count: at least 1.
    warnings: about the document as a whole, such as a repair.
    """

    page_count: int
    warnings: tuple[str, ...]

    def render(self, number: int) -> PageImage:
        """Draws page `number`, from 1. Raises InputError if this page cannot be drawn."""

    def close(self) -> None: ...


def cap_scale(width: float, height: float, max_pixels: int) -> float:
    """The factor, at most 1, that brings a page of this many pixels under the cap."""
    area = max(width, 1.0) * max(height, 1.0)
    return min(1.0, math.sqrt(max_pixels / area), MAX_SIDE_PX / max(width, height, 1.0))


def make_page(
    pixels: npt.NDArray[np.uint8],
    number: int,
    dpi: float,
    source: str,
    warnings: Iterable[str],
    turn: int = 0,
) -> PageImage:
    """The page, with a warning if it is black all over (a scanner with its lid open, or a fault).

    pixels: uint8 [height, width, 3], RGB. turn: degrees clockwise.
    """
    notes = list(warnings)
    if np.percentile(pixels[::4, ::4], 99) < BLACK_LEVEL:
        notes.append("the page is black all over")
    pixels = turned(pixels, turn)
    return PageImage(pixels, number, dpi, source, tuple(notes))


def turned(pixels: npt.NDArray[np.uint8], turn: int) -> npt.NDArray[np.uint8]:
    """[H, W, 3], turned clockwise by 0, 90, 180 or 270 degrees."""
    return np.ascontiguousarray(np.rot90(pixels, -turn // 90)) if turn else pixels
