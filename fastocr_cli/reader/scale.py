"""The page level and at the size the reader likes: it was trained on body text of 13 to 32 px an
em, mostly 20 to 26."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
from PIL import Image

from fastocr_cli.reader.contrast import evened
from fastocr_cli.reader.ink import Ink, paper_level
from fastocr_cli.reader.polarity import dark_on_light
from fastocr_cli.reader.sideways import Moved, set_below
from fastocr_cli.reader.skew import skew_of
from fastocr_cli.reader.vocabulary import CELL_PX, MAX_COLUMNS, MAX_ROWS
from fastocr_cli.results import Box

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


_MARGIN, _LEAST_SIDE = 1.5, 20.0
"""Ems of paper left about what is inked, and that the part of the page that is read has at least:
what is large on a page is judged by its sides."""


@dataclass(frozen=True)
class SizedPage:
    """What of a page is read: all but its blank margins.

    grey: at reading size, lines level; raster: the level page before it was scaled by `factor`.
    corner: where grey begins on the page, px from the left and from the top at reading size; it may
    reach beyond the page on the right and below. size: of the page in px of the raster, which is
    larger where lines that ran up or down were moved below the page. degrees by which lines
    climbed.
    """

    grey: Image.Image
    raster: Image.Image
    factor: float
    corner: tuple[int, int]
    size: tuple[int, int]
    moved: tuple[Moved, ...] = ()
    degrees: float = 0.0

    @cached_property
    def ink(self) -> Ink:
        return Ink.of(np.asarray(self.grey))

    @property
    def paper(self) -> int:
        return _paper(self.grey)

    @property
    def box(self) -> Box:
        """Where grey lies on the level page, in shares of its sides."""
        (x, y), (width, height) = self.corner, self.grey.size
        across, down = (side * self.factor for side in self.size)
        return x / across, y / down, (x + width) / across, (y + height) / down


def upright(image: Image.Image) -> SizedPage:
    """The page in grey, without its blank margins, at reading size and with its lines level.

    Turned about its centre; corners that come in are paper. Sides are multiples of a cell; what is
    added on the right and below is paper. Pages larger than the reader can name places of are
    scaled down.
    """
    grey = _as_grey(image)
    page = _as_it_lies(grey)
    degrees = skew_of(page.ink.mask)
    if abs(degrees) < LEAST_SKEW:
        return page
    # The raster is turned, for what is resampled twice at the size of reading blurs.
    level = grey.rotate(-degrees, Image.Resampling.BICUBIC, fillcolor=page.paper)
    return replace(_as_it_lies(level), degrees=degrees)


def _as_it_lies(page: Image.Image) -> SizedPage:
    ink = Ink.of(np.asarray(page))
    raster, moved = set_below(page, ink)
    if moved:
        ink = Ink.of(np.asarray(raster))
    across, down = _inked_spans(ink)
    factor = _reading_factor((across[1] - across[0], down[1] - down[0]), ink.em)
    grey = _sized(raster, factor)
    left, right = _cells(across, factor, MAX_COLUMNS, grey.width)
    top, bottom = _cells(down, factor, MAX_ROWS, grey.height)
    part = grey.crop((left, top, right, bottom))
    return SizedPage(part, raster, factor, (left, top), page.size, moved)


def _inked_spans(ink: Ink) -> tuple[tuple[int, int], tuple[int, int]]:
    """The px of a page that are read, across and down: where it is inked, and a margin."""
    height, width = ink.faint.shape
    if ink.em is None:
        return (0, width), (0, height)
    columns, rows = (np.flatnonzero(ink.faint.any(axis)) for axis in (0, 1))
    return _span(columns, width, ink.em), _span(rows, height, ink.em)


def _span(inked: npt.NDArray[np.intp], length: int, em: float) -> tuple[int, int]:
    first, last = int(inked[0]), int(inked[-1])
    margin = math.ceil(max(_MARGIN * em, (_LEAST_SIDE * em - (last - first)) / 2))
    return max(0, first - margin), min(length, last + 1 + margin)


def _cells(span: tuple[int, int], factor: float, most: int, side: int) -> tuple[int, int]:
    """Where the cells over a span of the raster begin and end, in px: so many at most, and none
    beyond the page's side."""
    first, stop = span
    start = int(first * factor) // CELL_PX * CELL_PX
    end = math.ceil(stop * factor / CELL_PX) * CELL_PX
    return start, min(end, start + most * CELL_PX, side)


def _as_grey(image: Image.Image) -> Image.Image:
    return evened(dark_on_light(image.convert("L")))


def _reading_factor(size: tuple[int, int], em: float | None) -> float:
    width, height = size
    factor = min(_easy_factor(em), math.sqrt(MOST_CELLS * CELL_PX**2 / (width * height)))
    return min(factor, MAX_COLUMNS * CELL_PX / width, MAX_ROWS * CELL_PX / height)


def _sized(grey: Image.Image, factor: float) -> Image.Image:
    if factor != 1.0:
        size = max(1, round(grey.width * factor)), max(1, round(grey.height * factor))
        grey = grey.resize(size, Image.Resampling.LANCZOS)
    width, height = (CELL_PX * math.ceil(side / CELL_PX) for side in grey.size)
    sheet = Image.new("L", (width, height), _paper(grey))
    sheet.paste(grey)
    return sheet


def _paper(grey: Image.Image) -> int:
    return int(paper_level(np.asarray(grey)))


def tallest(image: Image.Image) -> int | None:
    """How many px of its height can be read at once at that size; None for all of them."""
    if image.height <= image.width * MAX_ROWS**2 / MOST_CELLS:
        return None  # the number of cells limits such a page before its rows do
    factor = _easy_factor(Ink.of(np.asarray(_as_grey(image))).em)
    columns = min(MAX_COLUMNS, math.ceil(image.width * factor / CELL_PX))
    return int(min(MAX_ROWS, MOST_CELLS // columns) * CELL_PX / factor)


def _easy_factor(em: float | None) -> float:
    if em is None or EASY_EM_PX[0] <= em <= EASY_EM_PX[1]:
        return 1.0
    return min(TARGET_EM_PX / em, _MOST_ENLARGED)
