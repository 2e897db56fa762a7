"""Lines of text that run up or down a page: stamps in margins, labels of axes, heads of tables.

They are taken out of where they stand and set below everything else, level, so that they are read;
left there, they would be read as a column of scraps.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from PIL import Image

from fastocr_cli.reader.ink import (
    Bools,
    Ink,
    connected,
    paper_level,
    run_lengths,
    smeared,
    tall_runs,
    without_frames,
)

_FINENESS = 12
"""Lines are looked for where an em is about so many px."""
_REACH = 0.18
"""Ems by which ink is widened: gaps between the words of a line are closed, those between lines,
and between numbers that stand below each other, are not."""
_SHORTEST, _SLENDER = 4.0, 4.0
"""Ems of a line's length, and times its height, at least."""
_HEIGHTS = 0.4, 2.5
"""Ems."""
_MARGIN, _WORD_GAP = 0.3, 1.2
"""Ems of paper to both sides of a line, at least, and between its words, at most."""
_COVERED, _DENSITIES, _LETTERS = 0.64, (0.06, 0.45), (0.2, 2.5)
"""Of a line: the share of its length along which there is ink, at least; the share of that length
that is ink; how long letters that touch are, over the line's height."""
_RISES = 0.35
"""Share of a line's height by which letters may rise and descend beyond what was seen of it."""
_MOST_LINES, _MOST_INK = 8, 0.2
"""More lines than that, or with more of a page's ink, are a page that lies on its side."""
_X_ZONE, _RATHER, _SOME = 0.7, 2.0, 0.02
"""Across a line: the share of the most ink that rows have between the baseline and the height of
an x; how many times as much ink as above it there must be below, and what share of all, to believe
that a line is upside down."""
_GAP = 2.0
"""Ems of paper above what is set below a page."""


Span = tuple[int, int, int, int]
"""Left, top, right, bottom in px."""


@dataclass(frozen=True)
class Moved:
    """A line of text: where it stands on the page, and where it was set."""

    here: Span
    there: Span


def set_below(page: Image.Image, ink: Ink) -> tuple[Image.Image, tuple[Moved, ...]]:
    """The page with its sideways lines level and below all else, which makes it higher if need be;
    the same page if it has none, or seems to lie on its side as a whole. ink: of the page."""
    em = ink.em
    if em is None or not (lines := _sideways_lines(ink.mask, em)):
        return page, ()
    pad, gap = round(_MARGIN * em), round(_GAP * em)
    paper = int(paper_level(np.asarray(page)))
    rest = page.copy()
    strips = []
    for box, turn in lines:
        left, top, right, bottom = box
        start, stop = (max(0, left - pad), max(0, top - pad)), (right + pad, bottom + pad)
        here = (*start, min(page.width, stop[0]), min(page.height, stop[1]))
        strips.append((here, page.crop(here).transpose(turn)))
        rest.paste(paper, here)
    inked = Ink.of(np.asarray(rest)).faint
    rows, columns = (np.flatnonzero(inked.any(axis)) for axis in (1, 0))
    x, y = (int(some[k]) if len(some) else 0 for some, k in ((columns, 0), (rows, -1)))
    moved = []
    for here, strip in strips:
        y += gap
        moved.append(Moved(here, (x, y, x + strip.width, y + strip.height)))
        y += strip.height
    size = max(page.width, *(one.there[2] + pad for one in moved)), max(page.height, y + gap)
    sheet = Image.new("L", size, paper)
    sheet.paste(rest)
    for one, (_, strip) in zip(moved, strips, strict=True):
        sheet.paste(strip, one.there[:2])
    return sheet, tuple(moved)


def _sideways_lines(ink: Bools, em: float) -> list[tuple[Span, Image.Transpose]]:
    """Those of a page, from the left, and how each is turned to be level."""
    step = max(1, int(em / _FINENESS))
    mask = without_frames(_coarse(ink, step), em / step)
    found: list[Span] = []
    longest_first = sorted(_found(mask, em / step), key=lambda box: box[1] - box[3])
    for left, top, right, bottom in longest_first:
        box = left * step, top * step, right * step, bottom * step
        if _is_written(_part(ink, box)) and not any(_meet(box, other) for other in found):
            found.append(box)
    inked = sum(int(_part(ink, box).sum()) for box in found)
    if len(found) > _MOST_LINES or inked > _MOST_INK * ink.sum():
        return []
    return [(box, _turn(_part(ink, box))) for box in sorted(found)]


def _meet(one: Span, other: Span) -> bool:
    return all(one[i] < other[i + 2] and other[i] < one[i + 2] for i in (0, 1))


def _coarse(mask: Bools, step: int) -> Bools:
    """Whether any px of step x step is inked."""
    rows, columns = (side // step for side in mask.shape)
    blocks = mask[: rows * step, : columns * step].reshape(rows, step, columns, step)
    return _any(blocks, (1, 3))


def _any(mask: Bools, axis: int | tuple[int, int]) -> Bools:
    some: Bools = np.asarray(mask.any(axis=axis))
    return some


def _part(mask: Bools, box: Span) -> Bools:
    left, top, right, bottom = box
    return mask[max(0, top) : bottom, max(0, left) : right]


def _found(mask: Bools, em: float) -> Iterator[Span]:
    reach = max(1, round(_REACH * em))
    wide = smeared(smeared(mask.T, reach).T, reach)
    seeds = tall_runs(wide, _SHORTEST * em)
    if seeds.sum() > _MOST_INK * wide.sum():
        return
    for seed in connected(seeds):
        rows, columns = (np.flatnonzero(seed.any(axis)).tolist() for axis in (1, 0))
        box = columns[0], rows[0], columns[-1] + 1, rows[-1] + 1
        for _ in range(2):
            box = _lengthened(mask, _widened(mask, box, em), em)
        if _is_line(mask, box, em):
            yield box


def _widened(mask: Bools, box: Span, em: float) -> Span:
    """The box with what of its line rises and descends beyond it."""
    left, top, right, bottom = box
    inked = _any(mask[top:bottom], 0)
    while left > 0 and inked[left - 1] and right - left <= _HEIGHTS[1] * em:
        left -= 1
    while right < len(inked) and inked[right] and right - left <= _HEIGHTS[1] * em:
        right += 1
    return left, top, right, bottom


def _lengthened(mask: Bools, box: Span, em: float) -> Span:
    """The box with the words before and behind that stand as far from all else as it."""
    left, top, right, bottom = box
    margin, gap = round(_MARGIN * em), round(_WORD_GAP * em)
    inked = _any(mask[:, left:right], 1)
    rises = round(_RISES * (right - left))
    before = mask[:, max(0, left - rises - margin) : max(0, left - rises)]
    behind = mask[:, right + rises : right + rises + margin]
    beside = _any(before, 1) | _any(behind, 1)

    def end(start: int, step: int) -> int:
        last = y = start
        while 0 <= y < len(inked) and not beside[y] and abs(y - last) <= gap:
            last = y if inked[y] else last
            y += step
        return last

    return left, end(top, -1), right, end(bottom - 1, 1) + 1


def _is_line(mask: Bools, box: Span, em: float) -> bool:
    left, top, right, bottom = box
    height, length = right - left, bottom - top
    margin = round(_MARGIN * em)
    sides = (left - margin, top, left, bottom), (right, top, right + margin, bottom)
    return (
        _HEIGHTS[0] * em <= height <= _HEIGHTS[1] * em
        and length >= max(_SHORTEST * em, _SLENDER * height)
        and left >= margin
        and right + margin <= mask.shape[1]
        and not any(_part(mask, side).any() for side in sides)
    )


def _is_written(part: Bools) -> bool:
    """Whether ink follows ink along a line as letters do: numbers below each other leave more
    paper between, rules are inked from side to side, and dirt is less even."""
    inked = _any(part, 1)
    covered = float(inked.mean())
    if covered < _COVERED:
        return False
    blocks = run_lengths(inked[:, None]) / part.shape[1]
    return bool(
        _DENSITIES[0] < part.mean() / covered < _DENSITIES[1]
        and _LETTERS[0] < float(np.median(blocks)) < _LETTERS[1]
    )


def _turn(part: Bools) -> Image.Transpose:
    """How a line is turned to be level: most run up, and letters rise more often than they
    descend."""
    profile = np.rot90(part, -1).sum(1)
    middle = np.flatnonzero(profile > _X_ZONE * profile.max())
    above, below = profile[: middle[0]].sum(), profile[middle[-1] + 1 :].sum()
    runs_down = below > max(_RATHER * above, _SOME * profile.sum())
    return Image.Transpose.ROTATE_90 if runs_down else Image.Transpose.ROTATE_270
