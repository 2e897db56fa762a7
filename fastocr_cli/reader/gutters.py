"""The strips of paper between columns of text.

The tower judges every line by itself, and between justified columns the gap may be no wider than
between words. But a gutter goes down the page: gaps that lie exactly below each other, line after
line, part columns if both sides are filled as only running text fills them. (White rectangles as
column separators: T. Breuel, "Two Geometric Algorithms for Layout Analysis", 2002.)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean

import numpy as np

from fastocr_cli.reader.evidence import EM, EM_ROWS, Word

_NARROWEST, _WIDE = 0.55 * EM, EM
"""Columns that gaps must have in common: always, and from where on few lines are enough."""
_WIDE_LINES, _NARROW_LINES = 4, 6
_NO_WORD_GAP = 1.3 * EM
"""Columns between two words of one line, at most."""
_FITS = 0.4
"""Share of a gutter that a gap must have to belong to it."""
_STEP_ROWS = 3.1 * EM_ROWS
"""Rows from one gap to the next below, at most."""
_FAR_ROWS = 3 * _STEP_ROWS
"""The same where a column beside is filled."""
_COLUMN_WIDTH = 7 * EM
"""Columns of text on both sides, on the mean, at least."""
_FILLED = 0.75
"""Share of the widest that lines of running text are wide, on the mean, at least."""
_NARROW_BEGINS = 0.05
"""Chance of a line's beginning behind a narrow gutter, on the mean, at least."""


@dataclass(frozen=True, eq=False)
class _Gap:
    """Paper start..stop between two words on one level, with the text on both sides of it."""

    row: float
    start: int
    stop: int
    left: int
    right: int
    word: Word


class _Text:
    """Where words stand, in arrays: whether one is in the way is asked thousands of times."""

    def __init__(self, words: Sequence[Word]) -> None:
        self._start = np.array([word.start for word in words])
        self._stop = np.array([word.stop for word in words])
        self._height = np.array([word.height for word in words])

    def crosses(self, column: float, top: float, bottom: float) -> bool:
        """Whether a word stands across a column between two rows."""
        is_across = (self._start < column) & (column < self._stop)
        is_between = (top + 0.3 < self._height) & (self._height < bottom - 0.3)
        return bool((is_across & is_between).any())


def behind_gutters(lines: Sequence[Sequence[Word]]) -> set[Word]:
    """The words that begin a line of text behind a gutter. lines: all that stand on one level,
    from left to right."""
    text = _Text([word for words in lines for word in words])
    every = sorted(_gaps(lines), key=lambda gap: gap.row)
    gaps = [gap for gap in every if gap.stop - gap.start >= _NARROWEST]
    gutters = []
    for i in range(len(gaps)):
        run = _run(gaps, i, text)
        gutters += [few for few in (run[:_WIDE_LINES], run) if _is_gutter(few)]
    return {gap.word for gutter in gutters for gap in (*gutter, *_next_to(gutter, every, text))}


def _next_to(gutter: Sequence[_Gap], gaps: Sequence[_Gap], text: _Text) -> Iterator[_Gap]:
    """Gaps in the lines a gutter runs through, and just above and below unless text stands across
    between, that it fits into but for the last letters of a word. Beside a table or a drawing in
    one column it runs on as long as the other is filled."""
    start, stop = _strip(gutter)
    top, bottom = gutter[0].row, gutter[-1].row
    filled = [_FILLED * max(widths) for widths in _widths(gutter)]
    gaps = [g for g in gaps if min(stop, g.stop) - max(start, g.start) >= _FITS * (stop - start)]
    yield from (gap for gap in gaps if top <= gap.row <= bottom)
    above = [gap for gap in reversed(gaps) if gap.row < top]
    below = [gap for gap in gaps if gap.row > bottom]
    for end, beyond in ((top, above), (bottom, below)):
        edge = end
        for gap in beyond:
            is_filled = gap.start - gap.left >= filled[0] or gap.right - gap.stop >= filled[1]
            is_filled &= gap.word.scale <= 1  # and no headline, whose words stand further apart
            is_near = abs(gap.row - edge) < (_FAR_ROWS if is_filled else _STEP_ROWS)
            if is_near and not text.crosses((start + stop) / 2, *sorted((gap.row, edge))):
                yield gap
                edge = gap.row if is_filled else edge


def _strip(run: Sequence[_Gap]) -> tuple[int, int]:
    """The paper that all gaps of a run have in common."""
    return max(gap.start for gap in run), min(gap.stop for gap in run)


def _gaps(lines: Sequence[Sequence[Word]]) -> Iterator[_Gap]:
    for words in lines:
        pieces = _pieces(words)
        for before, word in pairwise(words):
            if word.start > before.stop and not (before.is_leader or word.is_leader):
                left = max(start for start, _ in pieces if start <= before.start)
                right = min(stop for _, stop in pieces if stop >= word.stop)
                row = (before.height + word.height) / 2
                yield _Gap(row, before.stop, word.start, left, right, word)


def _pieces(words: Sequence[Word]) -> list[tuple[int, int]]:
    """Start and stop of what stands between gaps that are surely none between words."""
    pieces = [(words[0].start, words[0].stop)]
    for word in words[1:]:
        start, stop = pieces[-1]
        if word.start - stop > _NO_WORD_GAP:
            pieces.append((word.start, word.stop))
        else:
            pieces[-1] = start, max(stop, word.stop)
    return pieces


def _run(gaps: Sequence[_Gap], i: int, text: _Text) -> list[_Gap]:
    """A gap and the next few below that leave a strip of paper between them, no text across it."""
    run = [gaps[i]]
    start, stop = gaps[i].start, gaps[i].stop
    for gap in gaps[i + 1 :]:
        if gap.row - run[-1].row > _STEP_ROWS:
            break
        a, b = max(start, gap.start), min(stop, gap.stop)
        if b - a < _NARROWEST or gap.row - run[-1].row < 0.5:
            continue
        if text.crosses((a + b) / 2, run[-1].row, gap.row):
            break
        run.append(gap)
        start, stop = a, b
        if len(run) == _NARROW_LINES:
            break
    return run


def _is_gutter(run: Sequence[_Gap]) -> bool:
    start, stop = _strip(run)
    is_wide = stop - start >= _WIDE
    if len(run) < (_WIDE_LINES if is_wide else _NARROW_LINES):
        return False
    if not is_wide and fmean(gap.word.begins_line for gap in run) < _NARROW_BEGINS:
        return False
    return all(
        fmean(widths) >= max(_COLUMN_WIDTH, _FILLED * max(widths)) for widths in _widths(run)
    )


def _widths(run: Sequence[_Gap]) -> tuple[list[int], list[int]]:
    """Columns of text to the left and to the right of each gap."""
    return [gap.start - gap.left for gap in run], [gap.right - gap.stop for gap in run]
