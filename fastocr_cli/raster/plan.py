"""How many pixels an image gets as a page, and how many of them make an inch.

Knows numbers only. An image keeps its own pixels unless there are too many. Its resolution is the
one it states, unless that would make the paper absurdly large (72 and 96 dpi are what programs
write when they do not know); then, or where it states none, the longer side is taken for that of
an A4 sheet.
"""

from __future__ import annotations

from dataclasses import dataclass

from fastocr_cli.raster.base import cap_scale

A4_LONG_IN = 11.69
GUESSED_DPI = (72.0, 600.0)
STATED_DPI = (30.0, 2400.0)
LONGEST_PAPER_IN = 60.0
DEFAULT_DPI_VALUES = (72, 96)
LONGEST_PAPER_AT_DEFAULT_DPI_IN = 17.0

Size = tuple[int, int]
Dpi = tuple[float, float]


@dataclass(frozen=True, slots=True)
class PagePlan:
    """Width and height in pixels, pixels per inch, and what to say about it."""

    size: Size
    dpi: float
    warnings: tuple[str, ...] = ()


def plan_page(size: Size, stated: Dpi | None, max_pixels: int) -> PagePlan:
    """Plans the page for an upright image of this width and height.

    stated: pixels per inch across and down, as the file has it. Where the two differ, as in faxes,
        the lower one is raised.
    """
    width, height = map(float, size)
    if stated is not None and _is_plausible(size, stated):
        dpi = max(stated)
        width, height = width * dpi / stated[0], height * dpi / stated[1]
    else:
        dpi = min(max(max(size) / A4_LONG_IN, GUESSED_DPI[0]), GUESSED_DPI[1])
    scale = cap_scale(width, height, max_pixels)
    page_size = (max(1, round(width * scale)), max(1, round(height * scale)))
    return PagePlan(page_size, dpi * scale, _warnings(size, scale, max_pixels))


def _warnings(size: Size, scale: float, max_pixels: int) -> tuple[str, ...]:
    if scale == 1:
        return ()
    limit = f"{max_pixels / 1e6:.3g} megapixels"
    return (f"{size[0]} x {size[1]} pixels: scaled down to {scale:.0%} to stay under {limit}",)


def _is_plausible(size: Size, dpi: Dpi) -> bool:
    if not all(STATED_DPI[0] <= value <= STATED_DPI[1] for value in dpi):
        return False
    is_default = all(round(value) in DEFAULT_DPI_VALUES for value in dpi)
    longest = LONGEST_PAPER_AT_DEFAULT_DPI_IN if is_default else LONGEST_PAPER_IN
    return max(size[0] / dpi[0], size[1] / dpi[1]) <= longest
