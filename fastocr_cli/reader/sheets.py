"""Type of other sizes than the usual: where a page has some, and the sheets to read it on.

The tower knows type of about the size of body text, and up to three times that. Headlines beyond
are read on the page at half its size, footnotes and labels on a sheet of strips of the page that
are enlarged.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from PIL import Image

from fastocr_cli.reader.ink import (
    REACH,
    Bools,
    Grey,
    Ink,
    run_lengths,
    smeared,
    usual_bar,
    vertical_runs,
    without_frames,
    without_rules,
)
from fastocr_cli.reader.scale import MOST_CELLS, SizedPage
from fastocr_cli.reader.vocabulary import CELL_PX

_LARGE_BAR = 1.1
"""Bars of so many ems are of type half as large again as the usual, or of no type at all."""
_SMALL_REACH = 2.0
"""Ems to either side within which letters of a line mostly rise and descend."""
_LEAST_BAR, _SMALL_BAR = 0.25, 0.75
"""Bars smeared that far, over the usual, of small type."""
_WHOLE_BARS = 60
"""Percentile of the heights of small type; lower ones are of pieces without descenders."""
_SMALL_WIDTH = 6.5
"""Ems that small type takes in its line, reach included, at least."""
_MARGIN = 0.5
"""Ems of paper above and below the bars of a strip."""
_MOST_ENLARGED = 2.5


@dataclass(frozen=True)
class Strip:
    """Rows top..bottom of a page, in px, and how many times they are enlarged."""

    top: int
    bottom: int
    scale: float


def has_large_type(ink: Ink) -> bool:
    """Whether a page may have headlines, type half as large again as the usual."""
    if ink.em is None:
        return False
    heights = run_lengths(smeared(ink.mask, round(REACH * ink.em)))
    return bool(np.count_nonzero(heights > _LARGE_BAR * ink.em) > ink.em)


def small_type(ink: Ink) -> list[Strip]:
    """Where a page may have type that is clearly smaller than the usual, from the top."""
    em = ink.em
    if em is None:
        return []
    letters = without_rules(without_frames(ink.mask, em), em)
    bars = smeared(letters, round(_SMALL_REACH * em))
    usual = usual_bar(bars)
    if usual is None:
        return []
    heights = _bar_heights(bars)
    is_small = (heights > _LEAST_BAR * usual) & (heights < _SMALL_BAR * usual)
    margin = round(_MARGIN * em)
    strips: list[Strip] = []
    for first, last in _pieces(_longest_runs(is_small) >= _SMALL_WIDTH * em, 2 * margin):
        bar = float(np.percentile(heights[first:last][is_small[first:last]], _WHOLE_BARS))
        top, bottom = max(0, first - margin), min(len(bars), last + margin)
        strips.append(Strip(top, bottom, min(_MOST_ENLARGED, usual / bar)))
    return strips


def _bar_heights(bars: Bools) -> npt.NDArray[np.int32]:
    """Of each pixel the height of the bar it belongs to, 0 for none. bars: [H, W]."""
    height, width = bars.shape
    starts, stops = vertical_runs(bars)
    changes = np.zeros(width * height + 1, np.int32)
    np.add.at(changes, starts, stops - starts)
    np.add.at(changes, stops, starts - stops)
    return changes.cumsum(dtype=np.int32)[:-1].reshape(width, height).T


def _longest_runs(mask: Bools) -> npt.NDArray[np.intp]:
    """Of each row the longest run of True, [H]."""
    height, width = mask.shape
    starts, stops = vertical_runs(mask.T)
    longest = np.zeros(height, np.intp)
    np.maximum.at(longest, starts // width, stops - starts)
    return longest


def _pieces(rows: Bools, gap: int) -> list[tuple[int, int]]:
    """Start and stop of the runs of True, those less than `gap` apart as one."""
    pieces: list[tuple[int, int]] = []
    for row in np.flatnonzero(rows).tolist():
        if pieces and row - pieces[-1][1] < gap:
            pieces[-1] = pieces[-1][0], row + 1
        else:
            pieces.append((row, row + 1))
    return pieces


def enlarged(page: SizedPage, strips: list[Strip]) -> tuple[Grey, npt.NDArray[np.float32]]:
    """Strips of a page below each other on one sheet, sides multiples of a cell, and of each of
    its rows of cells [rows, 2]: the height of its middle on the page, in rows, and how many times
    smaller things are there.

    They are drawn from the raster, which may show more than the page at reading size. What would
    make the sheet larger than any page is left out.
    """
    drawn: list[Image.Image] = []
    heights, scales = [], []
    columns = rows = 0
    for strip in strips:
        image = _drawn(page, strip)
        width, height = (math.ceil(side / CELL_PX) for side in image.size)
        columns, rows = max(columns, width), rows + height
        if drawn and columns * rows > MOST_CELLS:
            break
        drawn.append(image)
        middles = np.arange(height) + 0.5
        heights.append(strip.top / CELL_PX + middles / strip.scale - 0.5)
        scales.append(np.full(height, 1 / strip.scale))
    table = np.stack([np.concatenate(heights), np.concatenate(scales)], axis=1, dtype=np.float32)
    columns = max(math.ceil(image.width / CELL_PX) for image in drawn)
    sheet = Image.new("L", (CELL_PX * columns, CELL_PX * len(table)), page.paper)
    tops = np.cumsum([0, *map(len, heights)]) * CELL_PX
    for image, top in zip(drawn, tops.tolist(), strict=False):
        sheet.paste(image, (0, top))
    return np.asarray(sheet), table


def _drawn(page: SizedPage, strip: Strip) -> Image.Image:
    x, y = page.corner
    raster = page.raster
    left, right = (min(edge / page.factor, raster.width) for edge in (x, x + page.grey.width))
    top, bottom = (
        min((y + edge) / page.factor, raster.height) for edge in (strip.top, strip.bottom)
    )
    enlargement = page.factor * strip.scale
    size = (right - left) * enlargement, (bottom - top) * enlargement
    width, height = (max(1, round(side)) for side in size)
    return raster.resize((width, height), Image.Resampling.LANCZOS, (left, top, right, bottom))
