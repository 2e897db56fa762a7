"""Indentation, alignment and blank lines of code, from where its words stand.

The reader names the cell of every word, and a cell is a little wider than a character of code; so
a place is known to within about a character. But the lines of a listing that begin at one place
are many, and they step by two or four characters: together they tell.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import inf
from statistics import fmean, median
from typing import NamedTuple

_USUAL_PITCH = 0.8
_PITCHES = (0.45, 1.05)
"""Cells from one character of code to the next, mostly, and for certain; more is a wider gap."""
_NEAR = 1.2
"""Cells by which the length of a word and one space may miss what their characters take."""
_STEPS, _MISSES = (4, 2), 0.2
"""Characters that code is indented by, and how many they may miss the cells that lines begin in by,
on the mean."""
_NUDGES = (1.0, 0.97, 1.03, 0.94, 1.06)
"""Times the measured pitch that is tried: few words tell it but roughly."""
_WIDE, _ROUNDED = 3, 0.25
"""Spaces from which on a gap is seen to be wider than one, and from what share of one on it counts:
the longer a word, the less certain is its end."""
_MOST_BLANK = 2
_LARGEST_MISS, _TRUSTED = 0.35, 0.8
"""Rows by which lines miss where they were seen, on the mean, at most, for that is rounded down;
and how much the place of a line counts beside where it was seen, for the next."""


class Placed(NamedTuple):
    """A line of code: words, the column of each and the row, in cells; the row may be unknown."""

    words: Sequence[str]
    columns: Sequence[int]
    row: int | None


def spaced(lines: Sequence[Placed]) -> list[tuple[int, str]]:
    """Of each line of a listing how many blank ones are above it, and its text with all spaces.

    Raises ValueError where a line has not as many columns as words.
    """
    pitch = _pitch(lines)
    grid = _grid([line.columns[0] for line in lines], pitch or _USUAL_PITCH)
    texts = [_aligned(line, grid, is_told=pitch is not None) for line in lines]
    return list(zip(_blank_lines([line.row for line in lines]), texts, strict=True))


def _pitch(lines: Sequence[Placed]) -> float | None:
    """Cells from character to character, None where no line tells."""
    steps = [
        (after - column, len(word) + 1)
        for line in lines
        for word, (column, after) in zip(line.words, pairwise(line.columns), strict=False)
    ]
    steps = [(cells, n) for cells, n in steps if _PITCHES[0] * n <= cells <= _PITCHES[1] * n]
    if not steps:
        return None
    about = median(cells / n for cells, n in steps)
    steps = [(cells, n) for cells, n in steps if abs(cells - about * n) <= _NEAR]
    return sum(cells for cells, _ in steps) / sum(n for _, n in steps) if steps else about


class _Grid(NamedTuple):
    """The characters of a listing: where in the cells it begins, cells from one to the next, and
    how many its lines are indented by."""

    left: float
    pitch: float
    step: int

    def place(self, column: int) -> float:
        """Characters from the left to what begins in a column."""
        return (column + 0.5 - self.left) / self.pitch

    def miss(self, columns: Sequence[int]) -> tuple[float, float]:
        """Characters by which multiples of the step miss the cells that lines begin in, and the
        middles of those, on the mean; in different cells lines are indented differently."""
        places = {column: self.place(column) / self.step for column in columns}
        if len(set(map(round, places.values()))) < len(places):
            return inf, inf
        missed = [self.step * abs(places[column] - round(places[column])) for column in columns]
        return fmean(max(0.0, miss - 0.5 / self.pitch) for miss in missed), fmean(missed)


def _grid(columns: Sequence[int], pitch: float) -> _Grid:
    """That which the cells lines begin in fit, with the larger step if it fits as well."""
    lefts = [min(columns) + tenth / 10 for tenth in range(11)]
    for step in _STEPS:
        for nudge in _NUDGES:
            grids = (_Grid(left, nudge * pitch, step) for left in lefts)
            (miss, _), grid = min((grid.miss(columns), grid) for grid in grids)
            if miss <= _MISSES:
                return grid
    return _Grid(min(columns) + 0.5, pitch, 1)


def _aligned(line: Placed, grid: _Grid, *, is_told: bool) -> str:
    """Words with the spaces before each. is_told: whether the pitch was measured; else the gap
    between two words is one space."""
    indent = grid.step * max(0, round(grid.place(line.columns[0]) / grid.step))
    text = " " * indent + line.words[0]
    for (last, word), (start, column) in zip(
        pairwise(line.words), pairwise(line.columns), strict=True
    ):
        # A character that was not read makes the gap behind it no wider.
        behind_last = (column - start) / grid.pitch - len(last)
        gap = int(min(grid.place(column) - len(text), behind_last) + _ROUNDED)
        text += " " * (gap if is_told and gap >= _WIDE else 1) + word
    return text


def _blank_lines(rows: Sequence[int | None]) -> list[int]:
    """Above each line; none where the next does not stand below. Rows are whole and lines are not:
    the step from line to line is the largest that fits."""
    steps = [0, *((b or 0) - (a or 0) for a, b in pairwise(rows))]
    fits = (_fit(steps, twentieth / 20) for twentieth in range(100, 20, -1))
    lines = next((lines for miss, lines in fits if miss <= _LARGEST_MISS), [1] * len(steps))
    return [min(_MOST_BLANK, max(0, count - 1)) for count in lines]


def _fit(steps: Sequence[int], usual: float) -> tuple[float, list[int]]:
    """Rows by which lines that stand so many below each other miss those that they were seen in, on
    the mean; and how many lines down each is, 0 where it does not stand below."""
    off = 0.0  # rows that the line above was seen below its place
    missed, lines = [], []
    for step in steps:
        count = max(1, round((step + off) / usual)) if step > 0 else 0
        off = step + off - count * usual if count else 0.0
        missed.append(abs(off))
        lines.append(count)
        off *= _TRUSTED
    return fmean(missed), lines
