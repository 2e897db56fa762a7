"""Pages taller than a model can read at once, cut where nothing is written and put together again.

Till receipts and screenshots of whole web pages are many sheets long. Knows pixels and readings;
how tall is too tall the adapter says.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from PIL import Image

from fastocr_cli.results import Box, PageReading, PageStats, PageStatus

_SHORTEST = 0.6
"""Share of the greatest height that a strip has at least, so that there is a choice of gaps."""
_CONTRAST = 40
"""Grey levels within a row of pixels that make it more than paper."""

_SUMMED = [one.name for one in fields(PageStats) if one.type in ("int", "float")]


def cut(image: Image.Image, tallest: int | None) -> list[Image.Image]:
    """Strips of at most `tallest` px, top down; the image itself where it is no taller."""
    if tallest is None or image.height <= tallest:
        return [image]
    contrast = np.ptp(np.asarray(image.convert("L")), axis=1)
    edges = [0]
    while image.height - edges[-1] > tallest:
        first = edges[-1] + int(_SHORTEST * tallest)
        edges.append(first + _middle_of_gap(contrast[first : edges[-1] + tallest]))
    edges.append(image.height)
    return [image.crop((0, top, image.width, bottom)) for top, bottom in pairwise(edges)]


def _middle_of_gap(contrast: npt.NDArray[np.uint8]) -> int:
    """The row in the middle of the tallest stretch of paper, or the one with least on it."""
    is_paper = np.concatenate([[False], contrast < _CONTRAST, [False]])
    turns = np.flatnonzero(is_paper[1:] != is_paper[:-1])
    starts, stops = turns[::2], turns[1::2]
    if not len(starts):
        return int(contrast.argmin())
    longest = int((stops - starts).argmax())
    return int(starts[longest] + stops[longest]) // 2


def join(readings: Sequence[PageReading], heights: Sequence[int], text: str) -> PageReading:
    """The reading of a page from those of its strips, or of those that were reached.

    heights: of all strips, top down. text: what all their tokens say.
    """
    tops = np.cumsum([0, *heights]) / sum(heights)
    parts = list(zip(readings, pairwise(tops.tolist()), strict=False))
    return PageReading(
        text=text,
        token_ids=tuple(token for one in readings for token in one.token_ids),
        logprobs=tuple(value for one in readings for value in one.logprobs),
        status=_status([one.status for one in readings]),
        stats=_sum([one.stats for one in readings]),
        places=tuple(
            _moved(box, top, bottom) for one, (top, bottom) in parts for box in one.places
        ),
        pieces=tuple(piece for one in readings for piece in one.pieces),
        warnings=tuple(
            f"nothing could be read from {top:.0%} to {bottom:.0%} of the page's height"
            for one, (top, bottom) in parts
            if one.status is PageStatus.FAILED
        ),
    )


def _moved(box: Box | None, top: float, bottom: float) -> Box | None:
    """From shares of a strip to shares of the page."""
    if box is None:
        return None
    left, above, right, below = box
    return left, top + above * (bottom - top), right, top + below * (bottom - top)


def _status(strips: Sequence[PageStatus]) -> PageStatus:
    """Of the page: cut short if a strip is, or if one failed that others have text beside; else
    read if any is."""
    order = (PageStatus.LOOPED, PageStatus.TRUNCATED, PageStatus.OK, PageStatus.FAILED)
    status = next((one for one in order if one in strips), strips[0])
    misses_part = status is PageStatus.OK and PageStatus.FAILED in strips
    return PageStatus.TRUNCATED if misses_part else status


def _sum(stats: Sequence[PageStats]) -> PageStats:
    """Counts and times added up; shares are means over the visual tokens of all steps. What the
    method tells beside them stays with its strip."""
    seen = [one.visual_tokens * one.decode_steps for one in stats]
    weights = seen if any(seen) else None
    shares = {
        name: float(np.average([getattr(one, name) for one in stats], weights=weights))
        for name in ("keep_sparse_layers", "keep_all_layers")
    }
    summed = {name: sum(getattr(one, name) for one in stats) for name in _SUMMED}
    return PageStats(**{**summed, **shares}, extra={"strips": [one.extra for one in stats]})
