"""What the tower alone saw of a page: where lines and words begin, and what each column shows.

The decoder writes; this says what it may write. The two are used together as the frame-wise and
the attention branch are in hybrid CTC/attention speech recognition (Watanabe et al., 2017), whose
attention branch likewise loses its place on long inputs when it is left alone. Here the frame-wise
branch only rules out: it never prefers one thing it saw to another.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fastocr_cli.reader import vocabulary as v
from fastocr_cli.reader.vocabulary import LineKind

COLUMNS_PER_CELL = 4
NOTHING_WEIGHT = 0.1
"""Training counts cells and columns in which nothing is that much; chances are put right by it."""

DOUBTFUL, POSSIBLE, LIKELY, SURE = 0.05, 0.15, 0.5, 0.9
_SEEN = 0.03
_KINDS = slice(min(LineKind), max(LineKind) + 1)

Floats = npt.NDArray[np.float32]
Bools = npt.NDArray[np.bool_]


class Evidence:
    """One page of rows x columns cells; the arrays of lines change as lines are read.

    kinds: chance that an unread line of each `LineKind` begins in a cell, [rows, columns, kinds].
    line: that one of any kind does; word: that a word or a line does; [rows, columns].
    shown: bool [rows, 4 * columns, characters], what each column may show. ink: the character each
    column is likely to show, 0 for none or for doubt; [rows, 4 * columns].
    """

    def __init__(self, starts: Floats, columns: Floats) -> None:
        """starts: log-probabilities [rows, columns, 16]; columns: [rows, columns, 4, characters];
        see `modeling.PageReading`."""
        begins = _put_right(starts)
        self.kinds = begins[..., _KINDS].copy()
        self.line = self.kinds.sum(-1)
        self.word = self.line + begins[..., v.WORD_START]
        shows = _put_right(columns).reshape(len(columns), -1, columns.shape[-1])
        self.shown: Bools = shows > _SEEN
        best = shows.argmax(-1)
        self.ink: npt.NDArray[np.intp] = np.where(shows.max(-1) > LIKELY, best, 0)

    @property
    def rows(self) -> int:
        return self.line.shape[0]

    @property
    def columns(self) -> int:
        return self.line.shape[1]

    def mark_read(self, row: int, column: int) -> None:
        """A word or a line was read there."""
        first = column * COLUMNS_PER_CELL
        span = slice(max(0, first - COLUMNS_PER_CELL), first + 6 * COLUMNS_PER_CELL)
        for one in (row, *self.twins(row, span)):
            self.kinds[one, max(0, column - 1) : column + 2] = 0.0
            self.line[one, max(0, column - 1) : column + 2] = 0.0

    def twins(self, row: int, span: slice) -> list[int]:
        """Rows beside `row` that show the same line in the columns `span`: text that stands across
        the edge of two rows may be read in either."""
        beside = [one for one in (row - 1, row + 1) if 0 <= one < self.rows]
        ink = self.ink[beside, span]
        alike = np.count_nonzero((ink == self.ink[row, span]) & (ink > 0), axis=1)
        inked = np.count_nonzero(ink, axis=1)
        return [one for one, a, n in zip(beside, alike, inked, strict=True) if 2 * a > max(1, n)]


def _put_right(log_probabilities: Floats) -> Floats:
    """Class 0 back at its own frequency: [..., classes] log-probabilities to probabilities."""
    chances = np.exp(log_probabilities)
    chances[..., 0] /= NOTHING_WEIGHT
    total: Floats = chances / chances.sum(-1, keepdims=True)
    return total
