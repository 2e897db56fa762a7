"""The size of a page's text from its pixels, and the page at the size the reader likes.

The reader was trained on body text of 13 to 28 px an em, mostly 16 to 21. How large text is on a
raster nobody says, so it is measured: ink is smeared sideways until words are bars, and the usual
height of a bar tells the em.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from PIL import Image

from fastocr_cli.reader.skew import skew_of
from fastocr_cli.reader.vocabulary import CELL_PX, MAX_COLUMNS, MAX_ROWS

MOST_CELLS = 17_000
"""Visual tokens a page may have; larger pages are scaled down."""
TARGET_EM_PX = 21.0
"""Read with a sixth fewer errors than at 19, and no better at 23, by the ems that are measured."""
EASY_EM_PX = (20.0, 23.5)
"""Text of these sizes is read as it is: resampling would cost more than it brings."""
_SMALL_EM_PX, _MOST_ENLARGED = 16.0, 1.25
"""Text that is hardly smaller is enlarged by no more: its em is measured to a tenth at best."""

_BAR_SHARE = 0.67
"""Height of a smeared line of text over its em, measured on typeset pages."""
_REACH = 0.7
"""Ems to either side by which ink is smeared into bars."""
_LARGE_BAR = 1.1
"""Bars of so many ems are of type half as large again as the usual, or of no type at all."""
_TALLEST_LETTER = 1.2
"""Ems; brackets and bars are the tallest."""
_LARGEST_BAR = 0.12
"""Bars taller than this share of the page are pictures."""

LEAST_SKEW = 0.15
"""Degrees below which turning a page would cost more than it brings."""

Grey = npt.NDArray[np.uint8]


def text_em(grey: Grey) -> float | None:
    """The usual em of the page's text in px, None where no text is seen. grey: [H, W]."""
    return _em_of(ink_mask(grey))


def _em_of(ink: npt.NDArray[np.bool_]) -> float | None:
    if not ink.any():
        return None
    guess = _bar_em(ink, max(8.0, ink.shape[1] / 60))  # only says how far to smear
    em = guess and _bar_em(ink, guess)
    # Frames can only have made it look larger.
    return em and min(em, _bar_em(_without_frames(ink, em), em) or em)


def has_large_type(grey: Grey) -> bool:
    """Whether there may be headlines, type half as large again as the usual. grey: [H, W]."""
    ink = ink_mask(grey)
    em = _em_of(ink)
    if em is None:
        return False
    heights = _run_lengths(_smeared(ink, round(_REACH * em)))
    return bool(np.count_nonzero(heights > _LARGE_BAR * em) > em)


def ink_mask(grey: Grey) -> npt.NDArray[np.bool_]:
    """Where a pixel is clearly darker than the page around it. [H, W]."""
    paper = float(np.percentile(grey[::4, ::4], 90))
    darkest = float(np.percentile(grey[::4, ::4], 0.5))
    if paper - darkest < 40:
        return np.zeros_like(grey, dtype=bool)
    return grey < paper - 0.45 * (paper - darkest)


def _bar_em(ink: npt.NDArray[np.bool_], em: float) -> float | None:
    bars = _smeared(ink, max(3, round(_REACH * em)))
    step = max(1, ink.shape[1] // 400)
    heights = _run_lengths(bars[:, ::step])
    heights = heights[(heights >= 3) & (heights < _LARGEST_BAR * ink.shape[0])]
    if len(heights) < 20:
        return None
    # Tall runs hold more text than the many specks of dots, dashes and accents.
    order = np.sort(heights)
    weight = np.cumsum(order)
    return float(order[np.searchsorted(weight, weight[-1] / 2)]) / _BAR_SHARE


def _without_frames(ink: npt.NDArray[np.bool_], em: float) -> npt.NDArray[np.bool_]:
    """Ink but for what stands higher than any letter: the sides of boxes and tables would smear
    into bars as tall as themselves."""
    starts, stops = _runs(ink)
    tall = stops - starts > _TALLEST_LETTER * em
    turns = np.zeros(ink.size + 1, np.int8)
    turns[starts[tall]] += 1
    turns[stops[tall]] -= 1
    frames = np.cumsum(turns[:-1], dtype=np.int8).reshape(ink.T.shape).T.astype(bool)
    return ink & ~frames


def _smeared(ink: npt.NDArray[np.bool_], reach: int) -> npt.NDArray[np.bool_]:
    """Ink widened sideways by `reach` px each way."""
    sums = np.cumsum(np.pad(ink, ((0, 0), (reach + 1, reach))), axis=1, dtype=np.int32)
    return sums[:, 2 * reach + 1 :] > sums[:, : -2 * reach - 1]


def _run_lengths(mask: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    """Lengths of the vertical runs of True, all columns together."""
    starts, stops = _runs(mask)
    return stops - starts


def _runs(mask: npt.NDArray[np.bool_]) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Where vertical runs of True start and stop, counted down one column after the other."""
    height = len(mask)
    turns = np.diff(np.pad(mask, ((1, 1), (0, 0))).astype(np.int8), axis=0).T
    x, y = np.nonzero(turns == 1)
    starts = x * height + y
    x, y = np.nonzero(turns == -1)
    return starts, x * height + y


def upright(image: Image.Image) -> tuple[Image.Image, float]:
    """The page at reading size with its lines level, and the degrees by which they climbed.

    Turned about its centre; corners that come in are paper.
    """
    grey = image.convert("L")
    page = to_reading_size(grey)
    degrees = skew_of(ink_mask(np.asarray(page)))
    if abs(degrees) < LEAST_SKEW:
        return page, 0.0
    # The whole raster is turned, for what is resampled twice at the size of reading blurs.
    level = grey.rotate(-degrees, Image.Resampling.BICUBIC, fillcolor=_paper(page))
    return to_reading_size(level), degrees


def to_reading_size(image: Image.Image) -> Image.Image:
    """The page in grey at a size the reader reads well, sides multiples of a cell.

    The page keeps to the upper left; what is added on the right and below is paper. Pages larger
    than the reader can name places of are scaled down.
    """
    grey = image.convert("L")
    factor = _easy_factor(grey)
    factor = min(factor, math.sqrt(MOST_CELLS * CELL_PX**2 / (grey.width * grey.height)))
    factor = min(factor, MAX_COLUMNS * CELL_PX / grey.width, MAX_ROWS * CELL_PX / grey.height)
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
    em = text_em(np.asarray(grey))
    if em is None or EASY_EM_PX[0] <= em <= EASY_EM_PX[1]:
        return 1.0
    return min(TARGET_EM_PX / em, 4.0 if em < _SMALL_EM_PX else _MOST_ENLARGED)
