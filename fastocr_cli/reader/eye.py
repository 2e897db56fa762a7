"""Where the reader is on the page, followed token by token.

The reader writes the row and column of every line and the column of every word. In between,
each character moves the eye on by its usual width. So every token of the text has a place on the
page that follows from the tokens alone, and the decoder is told it, as it is told the place of
every visual token: looking at the next character is then a matter of comparing places, not of
counting letters.
"""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy

from fastocr_cli.reader import vocabulary as v
from fastocr_cli.reader.vocabulary import LineKind

STEPS_PER_CELL = 4
"""Columns are told in quarters of a cell."""

_CELLS_PER_EM = v.USUAL_EM_PX / v.CELL_PX
_SPACE_EM = 0.27
_HEADINGS = {LineKind.HEADING_1: 1.6, LineKind.HEADING_2: 1.25, LineKind.HEADING_3: 1.05}
"""Size of their type over the usual."""
_BELIEVABLE = (0.6, 2.2)
"""How far a word's width may lie from the usual and still tell the size of the type."""


def _width_em(character: str) -> float:
    if character in "iljI.,:;'|!`‘’‚·¡¦":
        return 0.28
    if character in 'frt()[]{}-/\\"“”„*°':
        return 0.36
    if character in "mMW@%—…ŒœÆæ™":
        return 0.83
    if character.isupper() or character in "w+=<>~^#&•":
        return 0.67
    return 0.5


_WIDTHS = {v.character_id(c): _CELLS_PER_EM * _width_em(c) for c in v.CHARACTERS}
_WIDTHS[v.UNKNOWN] = _CELLS_PER_EM * 0.5


def width_of(token: int) -> float:
    """A character's usual width in cells; of anything else, that of a mark."""
    return _WIDTHS.get(token, _WIDTHS[v.UNKNOWN])


class Eye:
    """One page's place.

    scale: the size of the type over the usual. place: (row, column in quarters of a cell, the
    line's first column).
    """

    def __init__(self) -> None:
        self.row = self.start = 0
        self._column = 0.0  # of the character to come, in cells; c is the middle of cell c
        self._word_start = 0.0
        self._word_width = 0.0  # at the usual size
        self._letters = 0
        self.scale = 1.0  # the type's size over the usual
        self._measured = 0.0, 0.0  # this line's cells, at its own and at the usual size
        self._kind = LineKind.PARAGRAPH
        self._is_new_line = True

    @property
    def place(self) -> tuple[int, int, int]:
        last = v.MAX_COLUMNS * STEPS_PER_CELL - 1
        return self.row, min(int(self._column * STEPS_PER_CELL + 0.5), last), self.start

    def places(self, draft: Iterable[int]) -> list[tuple[int, int, int]]:
        """The place now and after each token of a draft; the eye stays where it is."""
        ahead = copy(self)
        places = [ahead.place]
        for token in draft:
            ahead.add(token)
            places.append(ahead.place)
        return places

    def add(self, token: int) -> None:
        width = _WIDTHS.get(token)
        if width is not None:
            self._column += width * self.scale
            self._word_width += width
            self._letters += 1
        elif (column := v.column_of(token)) is not None:
            self._begin_word(column)
        elif (row := v.row_of(token)) is not None:
            self.row, self._column = row, float(self.start)
        elif (kind := v.kind_of(token)) is not None:
            if kind in _HEADINGS or self._kind in _HEADINGS:
                self.scale = _HEADINGS.get(kind, 1.0)
            self._kind, self._is_new_line = kind, True

    def _begin_word(self, column: int) -> None:
        if self._is_new_line:
            self.start, self._measured, self._is_new_line = column, (0.0, 0.0), False
        elif self._letters >= 3:
            usual = self._word_width + _SPACE_EM * _CELLS_PER_EM
            if _BELIEVABLE[0] < (column - self._word_start) / usual < _BELIEVABLE[1]:
                cells, at_usual_size = self._measured
                self._measured = cells + column - self._word_start, at_usual_size + usual
                self.scale = self._measured[0] / self._measured[1]
        self._column = self._word_start = float(column)
        self._word_width, self._letters = 0.0, 0


def places_of(tokens: Iterable[int]) -> list[tuple[int, int, int]]:
    """The eye's place after each token of a page."""
    return Eye().places(tokens)[1:]
