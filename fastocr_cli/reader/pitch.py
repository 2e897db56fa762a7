"""Typewriting: every character stands as far from the next.

In most text a space is some blank columns; typewritten, narrow letters have as many about them.
There the distance tells: two characters a pitch apart are neighbours, two pitches apart have a
space between them, and much less than a pitch apart they are pieces of one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

_PITCHES = np.arange(5.0, 16.0, 0.1)
"""Columns, of type from two thirds to twice the usual size."""
_NEAREST = 32.0
"""Columns between characters that may belong to one line of words, at most."""
_FEWEST, _FEWEST_SURE, _ABOUT = 8, 5, 10
"""Letters beside letters that a row tells its pitch by, at least; and a few of its characters,
those that stand so many before or behind one."""
_FITS, _FITS_EXACTLY, _FITS_ALIKE = 0.06, 0.03, 0.02
"""Shares of a pitch by which letters mostly miss their places, at most, on a page that is mostly
typewritten and on others; in other text 0.09 and more, where any pitch is tried. A pitch that fits
nearly as well as its half is the pitch."""
_SAME = 0.04
"""Share of the pitch by which it may seem to differ from row to row."""
_FEWEST_ROWS, _FEWEST_SHARE, _MOST = 3, 0.15, 0.5
"""Rows of a typewritten page, and share of all that tell; where most do, the others are as well."""

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.intp]


class Row(NamedTuple):
    """The middles of a row's characters, in columns, and which of them are letters."""

    middles: Floats
    are_letters: Bools

    @property
    def steps(self) -> tuple[Floats, Ints]:
        """From letters to letters beside them, and numbers of the latter; digits stand at one pitch
        in most faces."""
        steps: Floats = np.diff(self.middles)
        are_told = self.are_letters[1:] & self.are_letters[:-1] & (steps < _NEAREST)
        return steps[are_told], np.flatnonzero(are_told) + 1


def row_pitches(rows: Sequence[Row]) -> list[Floats]:
    """Of each row the pitch at each of its characters in columns, 0 where it is not typewritten:
    beside code may stand prose."""
    told = [_best(own) for own, _ in (row.steps for row in rows) if len(own) >= _FEWEST]
    pitches = np.array([pitch for pitch, misfit in told if misfit <= _FITS])
    usual = float(np.median(pitches)) if len(pitches) else 0.0
    count = int(np.count_nonzero(np.abs(pitches - usual) <= _SAME * usual))
    if count < max(_FEWEST_ROWS, _FEWEST_SHARE * len(told)):
        return [np.zeros(len(row.middles)) for row in rows]
    return [_pitches(row, usual, is_most=count > _MOST * len(told)) for row in rows]


def _pitches(row: Row, usual: float, *, is_most: bool) -> Floats:
    """At each character. usual: the page's; is_most: whether most of its rows are typewritten."""
    fits = _FITS if is_most else _FITS_EXACTLY
    about = _PITCHES[np.abs(_PITCHES - usual) <= _SAME * usual]
    steps, numbers = row.steps
    misfits = _misfits(steps, about)
    pitches = np.full(len(row.middles), usual if is_most else 0.0)
    for i in range(len(pitches)):
        near = slice(*np.searchsorted(numbers, (i - _ABOUT, i + _ABOUT + 1)))
        if near.stop - near.start >= _FEWEST_SURE:
            mostly = np.median(misfits[near], axis=0)
            best = int(mostly.argmin())
            pitches[i] = about[best] if mostly[best] <= fits else 0.0
    return pitches


def _best(steps: Floats) -> tuple[float, float]:
    """The pitch that steps are multiples of, and the share of it that they mostly miss."""
    mostly = np.median(_misfits(steps, _PITCHES), axis=0)
    best = int(mostly.argmin())
    double = int(np.abs(_PITCHES - 2 * _PITCHES[best]).argmin())
    if mostly[double] <= mostly[best] + _FITS_ALIKE and double > best:
        best = double
    return float(_PITCHES[best]), float(mostly[best])


def _misfits(steps: Floats, pitches: Floats) -> Floats:
    """Shares of each pitch by which steps miss its multiples, [steps, pitches]."""
    places = steps[:, None] / pitches
    misfits: Floats = np.abs(places - np.round(places))
    return misfits
