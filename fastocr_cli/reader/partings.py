"""The paper between two lines of text, by which they are told from one line.

Text that stands across the edge of two rows of cells is seen in both. So are the same numbers or
words below each other, as in the columns of a table; but between those there is paper.
"""

from __future__ import annotations

import numpy as np

from fastocr_cli.reader.ink import Bools, Ink
from fastocr_cli.reader.vocabulary import CELL_PX, COLUMN_PX

_WINDOW = 2 * CELL_PX
"""Px above and below the edge of two rows in which their lines are."""
_HIGHEST, _LOWEST = -6, 4
"""Px from that edge to the middle between two lines that are seen in those rows. A line that is
seen in both stands on the edge, and is parted from the next ones further away; small letters rise
less above their middle than capitals and digits."""
_PAPER, _INKED, _DENSE = 0.06, 0.12, 0.4
"""Shares of a word's columns that are inked: at most where there is paper, for there may be dirt;
at least where there are letters, of all columns and of those in the row that has most. Strokes that
rise and descend are fewer."""
_MOST_PX = 9
"""Of strokes that rise and descend into that paper."""
_LEAST_PX, _LETTER_PX = 8, 12
"""Of so many px next to the paper that are letters, at least; dots, bars and the two of an equals
sign are less high."""


def inked_columns(ink: Ink) -> Bools:
    """Where columns of 2 px are inked, [px, columns]. ink: sides are multiples of a cell."""
    return ink.faint[:, ::COLUMN_PX] | ink.faint[:, 1::COLUMN_PX]


def are_parted(inked: Bools, row: int, span: slice) -> bool:
    """Whether there is paper between what a row of cells and the one below show in some columns,
    and letters above and below it. inked: see `inked_columns`."""
    edge = (row + 1) * CELL_PX
    top = max(0, edge - _WINDOW)
    share = inked[top : edge + _WINDOW, span].mean(axis=1)
    is_inked = share >= _INKED
    dense = np.flatnonzero(is_inked & (share >= _DENSE * share.max()))
    for i in np.flatnonzero(np.diff(dense) > 1):
        last, first = dense[i : i + 2]
        if (
            _HIGHEST <= (last + first) / 2 + top - edge <= _LOWEST
            and share[last + 1 : first].min() <= _PAPER
            and is_inked[last + 1 : first].sum() <= _MOST_PX
            and is_inked[max(0, last - _LETTER_PX) : last + 1].sum() >= _LEAST_PX
            and is_inked[first : first + _LETTER_PX + 1].sum() >= _LEAST_PX
        ):
            return True
    return False
