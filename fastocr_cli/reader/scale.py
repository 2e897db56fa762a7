"""The page level and at the size the reader likes: it was trained on body text of 13 to 32 px an
em, mostly 20 to 26."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from PIL import Image

from fastocr_cli.reader.ink import Ink
from fastocr_cli.reader.skew import skew_of
from fastocr_cli.reader.vocabulary import CELL_PX, MAX_COLUMNS, MAX_ROWS

MOST_CELLS = 17_000
"""Visual tokens a page may have; larger pages are scaled down."""
TARGET_EM_PX = 24.0
"""At 21 px, by the ems that are measured, 2 to 4 % fewer words of real pages are read, at 26 px
about as many."""
EASY_EM_PX = (23.0, 26.5)
"""Text of these sizes is read as it is: resampling would cost more than it brings."""
_MOST_ENLARGED = 4.0

LEAST_SKEW = 0.15
"""Degrees below which turning a page would cost more than it brings."""


@dataclass(frozen=True)
class SizedPage:
    """A page as it is read.

    grey: at reading size, lines level; raster: the same before it was scaled by `factor`; degrees
    by which lines climbed on the sheet.
    """

    grey: Image.Image
    raster: Image.Image
    factor: float
    degrees: float

    @cached_property
    def ink(self) -> Ink:
        return Ink.of(np.asarray(self.grey))

    @property
    def paper(self) -> int:
        return _paper(self.grey)


def upright(image: Image.Image) -> SizedPage:
    """The page at reading size with its lines level.

    Turned about its centre; corners that come in are paper.
    """
    page = _as_it_lies(image.convert("L"))
    degrees = skew_of(page.ink.mask)
    if abs(degrees) < LEAST_SKEW:
        return page
    # The whole raster is turned, for what is resampled twice at the size of reading blurs.
    raster = page.raster.rotate(-degrees, Image.Resampling.BICUBIC, fillcolor=page.paper)
    return replace(_as_it_lies(raster), degrees=degrees)


def _as_it_lies(raster: Image.Image) -> SizedPage:
    factor = _reading_factor(raster)
    return SizedPage(_sized(raster, factor), raster, factor, degrees=0.0)


def to_reading_size(image: Image.Image) -> Image.Image:
    """The page in grey at a size the reader reads well, sides multiples of a cell.

    The page keeps to the upper left; what is added on the right and below is paper. Pages larger
    than the reader can name places of are scaled down.
    """
    return _as_it_lies(image.convert("L")).grey


def _reading_factor(grey: Image.Image) -> float:
    factor = _easy_factor(grey)
    factor = min(factor, math.sqrt(MOST_CELLS * CELL_PX**2 / (grey.width * grey.height)))
    return min(factor, MAX_COLUMNS * CELL_PX / grey.width, MAX_ROWS * CELL_PX / grey.height)


def _sized(grey: Image.Image, factor: float) -> Image.Image:
    if factor != 1.0:
        size = max(1, round(grey.width * factor)), max(1, round(grey.height * factor))
        grey = grey.resize(size, Image.Resampling.LANCZOS)
    width, height = (CELL_PX * math.ceil(side / CELL_PX) for side in grey.size)
    sheet = Image.new("L", (width, height), _paper(grey))
    sheet.paste(grey)
    return sheet


def _paper(grey: Image.Image) -> int:
    return int(np.percentile(np.asarray(grey)[::4, ::4], 90))


def tallest(image: Image.Image) -> int | None:
    """How many px of its height can be read at once at that size; None for all of them."""
    if image.height <= image.width * MAX_ROWS**2 / MOST_CELLS:
        return None  # the number of cells limits such a page before its rows do
    factor = _easy_factor(image.convert("L"))
    columns = min(MAX_COLUMNS, math.ceil(image.width * factor / CELL_PX))
    return int(min(MAX_ROWS, MOST_CELLS // columns) * CELL_PX / factor)


def _easy_factor(grey: Image.Image) -> float:
    em = Ink.of(np.asarray(grey)).em
    if em is None or EASY_EM_PX[0] <= em <= EASY_EM_PX[1]:
        return 1.0
    return min(TARGET_EM_PX / em, _MOST_ENLARGED)
