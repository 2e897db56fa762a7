"""Whether there is anything to read on a page, decided from its pixels before any model is asked.

Knows grey levels only. To call a written page blank loses text, while to read a blank one only
costs time; so whatever could be a character counts, and only what is clearly paper does not:
noise, dust, an even tint, uneven light, the shadows and black bands that scanners leave at edges.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageFilter

from fastocr_cli.results import PageImage

WORK_DPI = 125
MAX_WORK_PIXELS = 4_000_000
MEDIAN_DPI = 165
"""From here on strokes are three pixels wide, so that specks of one pixel can be told and go."""

MARGIN_SHARE = 0.012
"""Outermost share of width and height in which nothing is looked at; no printer reaches it."""

MIN_CONTRAST, MAX_CONTRAST = 22.0, 80.0
"""Grey levels between ink and paper: what show-through hardly reaches, and any ink surpasses."""

NOISE_FACTOR = 6.0
BORDER_CONTRAST = 50.0
LIGHT_TILE_IN = 0.5
MIN_GLYPH_PT = 3.2
"""Least height or width of a mark that may be a character: a digit in 6 pt print. Dust is less."""

MAX_DUST_PIXELS = 20_000
_NEIGHBOURS = [(dy, dx) for dy in (-1, 0, 1) for dx in (-1, 0, 1) if dy or dx]

Grey = npt.NDArray[np.float32]
Mask = npt.NDArray[np.bool_]


def is_blank(page: PageImage) -> bool:
    """Whether the page carries no mark that could be a character."""
    grey, dpi = _small_grey(page)
    ys, xs = np.nonzero(_without_specks(_marks(grey, dpi)))
    if len(ys) > MAX_DUST_PIXELS:
        return False
    points = set(zip(ys.tolist(), xs.tolist(), strict=True))
    while points:
        if max(_take_component(points)) >= MIN_GLYPH_PT * dpi / 72:
            return False
    return True


def _small_grey(page: PageImage) -> tuple[Grey, float]:
    """Grey levels [height, width] at about WORK_DPI without the margin, and the true dpi."""
    image = Image.fromarray(page.pixels).convert("L")
    spare = math.ceil(math.sqrt(image.width * image.height / MAX_WORK_PIXELS))
    factor = max(round(page.dpi / WORK_DPI), spare, 1)
    coarse = factor // 2 if factor > 3 else 1
    fine = math.ceil(factor / coarse)
    image = image.reduce(coarse)
    if page.dpi / coarse >= MEDIAN_DPI:
        image = image.filter(ImageFilter.MedianFilter(3))
    grey = np.asarray(image.reduce(fine), np.float32)
    top, left = (round(side * MARGIN_SHARE) for side in grey.shape)
    grey = grey[top : grey.shape[0] - top, left : grey.shape[1] - left]
    return grey, page.dpi / coarse / fine


def _marks(grey: Grey, dpi: float) -> Mask:
    """Where the page differs from its own paper, darker or lighter."""
    sheet = ~_border(grey)
    # A shadow along an edge is the same in every row or column, text never is.
    flat = grey - _median(grey, sheet, axis=0)
    flat -= _median(flat, sheet, axis=1)
    flat = np.where(sheet, flat, 0)
    flat -= _light(flat, dpi)
    noise = float(np.median(np.abs(flat))) * 1.4826
    contrast = min(max(MIN_CONTRAST, NOISE_FACTOR * noise), MAX_CONTRAST)
    return (np.abs(flat) > contrast) & sheet


def _median(values: Grey, counts: Mask, axis: int) -> Grey:
    """Median along an axis of those values that count, from every third one; 0 where none does."""
    thin = np.s_[::3, :] if axis == 0 else np.s_[:, ::3]
    values, counts = values[thin], counts[thin]
    ordered = np.sort(np.where(counts, values, np.inf), axis=axis)
    middle = np.maximum(counts.sum(axis=axis, keepdims=True) - 1, 0) // 2
    median = np.take_along_axis(ordered, middle, axis)
    return np.where(np.isfinite(median), median, 0).astype(np.float32)


def _light(flat: Grey, dpi: float) -> Grey:
    """Slow changes of brightness over the page: medians of tiles, interpolated between them."""
    height, width = flat.shape
    tile = max(1, round(LIGHT_TILE_IN * dpi))
    rows, columns = height // tile, width // tile
    if rows < 2 or columns < 2:
        return np.zeros_like(flat)
    tiles = flat[: rows * tile, : columns * tile].reshape(rows, tile, columns, tile)
    medians = Image.fromarray(np.median(tiles, axis=(1, 3)).astype(np.float32))
    return np.asarray(medians.resize((width, height), Image.Resampling.BILINEAR))


def _border(grey: Grey) -> Mask:
    """The black band beside a sheet, a wedge if it lay askew: dark all the way from the edge."""
    dark = grey < np.median(grey) - BORDER_CONTRAST
    border = np.zeros_like(dark)
    for axis in (0, 1):
        border |= np.logical_and.accumulate(dark, axis)
        border |= np.flip(np.logical_and.accumulate(np.flip(dark, axis), axis), axis)
    return _grown(border, 3)  # its rim is half grey


def _grown(mask: Mask, by: int) -> Mask:
    """The mask and everything within `by` steps of it."""
    for _ in range(by):
        wider = mask.copy()
        wider[1:] |= mask[:-1]
        wider[:-1] |= mask[1:]
        wider[:, 1:] |= mask[:, :-1]
        wider[:, :-1] |= mask[:, 1:]
        mask = wider
    return mask


def _without_specks(marks: Mask) -> Mask:
    """Leaves out marks with fewer than two marked neighbours: single pixels and pairs."""
    padded = np.pad(marks, 1).astype(np.uint8)
    height, width = marks.shape
    count = np.zeros(marks.shape, np.uint8)
    for dy, dx in _NEIGHBOURS:
        count += padded[1 + dy : 1 + dy + height, 1 + dx : 1 + dx + width]
    return marks & (count >= 2)


def _take_component(points: set[tuple[int, int]]) -> tuple[int, int]:
    """Takes one connected group of pixels out of the set; returns its height and width."""
    stack = [points.pop()]
    y0, x0 = y1, x1 = stack[0]
    while stack:
        y, x = stack.pop()
        y0, y1, x0, x1 = min(y, y0), max(y, y1), min(x, x0), max(x, x1)
        near = [(y + dy, x + dx) for dy, dx in _NEIGHBOURS if (y + dy, x + dx) in points]
        points.difference_update(near)
        stack.extend(near)
    return y1 - y0 + 1, x1 - x0 + 1
