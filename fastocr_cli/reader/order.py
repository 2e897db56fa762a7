"""What the reader may write next, as far as the page tells.

The reader names the place of every line and word, and the tower saw what stands where; so a slip
of the decoder can be seen before it is written. Lines and words begin only where one was seen to
begin that has not been read yet, reading goes forward, and a word ends where its ink ends. Which
line comes next and of what kind it is the decoder decides; which character comes next the decoder
and the tower decide together.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from fastocr_cli.reader import vocabulary as v
from fastocr_cli.reader.evidence import (
    COLUMNS_PER_CELL,
    DOUBTFUL,
    LIKELY,
    POSSIBLE,
    SURE,
    Evidence,
    Floats,
    Glyph,
    Word,
)
from fastocr_cli.reader.eye import Eye, width_of
from fastocr_cli.reader.vocabulary import LineKind
from fastocr_cli.results import PageStatus

_BLOCK_STEP, _BLOCK_INDENT = 4, 8
"""Rows below one line of a block, and columns beside its start, within which the next begins."""
_FIRST_KIND = int(min(LineKind))
_TABULAR = (LineKind.TABLE, LineKind.ROW)
_CONTINUING = (LineKind.LINE, LineKind.ROW)
_TOWER_WEIGHT, _FLOOR = 2.5, 0.003
"""How much the tower's likelihood of a character counts beside the decoder's, and its floor."""
_GAP = 10
"""Columns between two words of one line, mostly less."""
_GUTTER = 56
"""Columns between two columns of text, mostly less; cells of a table may be further apart."""
_THIN = 1.7
"""Columns: a character so narrow may have left no trace."""
_ROUNDING = 0.6
"""A run of one character that much wider than n of them may well be n + 1."""


class ReadingOrder:
    """One page's place, followed token by token."""

    def __init__(self, evidence: Evidence) -> None:
        self._seen = evidence
        self._eye = Eye()
        self._kind = LineKind.PARAGRAPH
        self._row: int | None = None
        self._word = 0  # the cell where the word began
        self._at = 0.0  # first column (a quarter of a cell) that has not been read
        self._size = 1.0  # the line's type over the usual
        self._widths = 0.0  # how many of the last character its ink has room for
        self._written = 0  # and how many of them have been written
        self._last = v.BOS

    @property
    def empty_status(self) -> PageStatus:
        """A page without text is blank; one with writing that is none of ours has failed."""
        return PageStatus.FAILED if self._seen.is_text else PageStatus.BLANK

    def add(self, token: int) -> None:
        self._eye.add(token)
        if (kind := v.kind_of(token)) is not None:
            self._kind, self._row = kind, None
        elif (row := v.row_of(token)) is not None:
            self._row = min(row, self._seen.rows - 1)
        elif (column := v.column_of(token)) is not None and self._row is not None:
            column = min(column, self._seen.columns - 1)
            if v.row_of(self._last) is not None:
                self._size = self._seen.type_size(self._row, column * COLUMNS_PER_CELL)
            self._word = column
            self._seen.mark_read(self._row, column)
            is_first = v.row_of(self._last) is not None
            self._at = float(self._seen.begin(self._row, column, 0.0 if is_first else self._at))
        elif v.character_of(token) is not None:
            self._pass(token)
        self._last = token

    def bias(self) -> Floats:
        """What to add to the logits of the next token, [vocabulary]; -inf for what the page does
        not bear out, never everywhere."""
        bias = np.full(v.VOCABULARY_SIZE, -np.inf, np.float32)
        if v.kind_of(self._last) is not None:
            bias[v.FIRST_ROW + self._rows()] = 0.0
        elif v.row_of(self._last) is not None and self._row is not None:
            bias[v.FIRST_COLUMN + self._first_columns(self._row)] = 0.0
        elif self._row is None:
            self._allow_end(bias)
        else:
            self._allow_in_line(bias, self._row)
        again = self._chance_of_another
        if again > DOUBTFUL:
            bias += math.log(1 - again + _FLOOR)
            bias[self._last] = math.log(again)
        return bias if np.isfinite(bias).any() else np.zeros_like(bias)

    def _rows(self) -> npt.NDArray[np.intp]:
        """Rows in which the next line may begin; those of one block follow closely."""
        lines = self._seen.next_lines()
        of_kind = self._seen.kinds[lines[:, 0], lines[:, 1], self._kind - _FIRST_KIND]
        fitting = lines[of_kind > POSSIBLE]
        if self._kind in _CONTINUING:
            fitting = fitting[self._is_near(fitting)]
        rows: npt.NDArray[np.intp] = (fitting if len(fitting) else lines)[:, 0]
        return rows

    def _is_near(self, lines: npt.NDArray[np.intp]) -> npt.NDArray[np.bool_]:
        """Whether each line may go on with the block of the line just read."""
        down, across = lines[:, 0] - self._eye.row, np.abs(lines[:, 1] - self._eye.start)
        near: npt.NDArray[np.bool_] = (down > 0) & (down <= _BLOCK_STEP) & (across <= _BLOCK_INDENT)
        return near

    def _first_columns(self, row: int) -> npt.NDArray[np.intp]:
        lines = self._seen.next_lines()
        columns: npt.NDArray[np.intp] = lines[lines[:, 0] == row, 1]
        return columns

    def _allow_end(self, bias: Floats) -> None:
        """The next line, or the end of a page that has been read."""
        strongest = float(self._seen.line.max(initial=0.0))
        if strongest < LIKELY:
            bias[v.EOS] = 0.0
        if strongest <= DOUBTFUL:
            return
        lines = self._seen.next_lines()
        kinds = self._seen.kinds[lines[:, 0], lines[:, 1]]
        near = self._is_near(lines)
        for kind in LineKind:
            chances = kinds[near if kind in _CONTINUING else slice(None), kind - _FIRST_KIND]
            if chances.max(initial=0.0) > POSSIBLE:
                bias[kind] = 0.0
        if not np.isfinite(bias).any():
            bias[list(LineKind)] = 0.0

    def _allow_in_line(self, bias: Floats, row: int) -> None:
        following = self._next_words(row)
        nearest = following[0].start if following else math.inf
        if nearest > self._at + _GAP:
            row, following = self._drifted(row, nearest) or (row, following)
            self._row = row
        limit = following[0].start if following else self._seen.ink.shape[1]
        glyph = None if self._last == v.CELL else self._glyph(row, limit)
        if glyph is not None:
            self._weigh_characters(bias, glyph)
            return
        if v.column_of(self._last) is not None:  # a word must follow, however faint
            bias[v.FIRST_CHARACTER : v.FIRST_COLUMN] = bias[v.UNKNOWN] = 0.0
            return
        line = self._line_chance(row, following)
        # What begins beside a line is another column of text if it is a line itself, else a cell.
        is_gutter = bool(following) and following[0].start < self._at + _GUTTER
        if not following or line > (POSSIBLE if is_gutter else LIKELY):
            self._allow_end(bias)
        if following and (line < SURE or self._kind in _TABULAR):
            bias[[v.column_id(word.cell) for word in following]] = 0.0
            if self._kind in _TABULAR:
                bias[v.CELL] = 0.0
            if max(word.chance for word in following) < SURE:  # perhaps the word goes on
                glyph = self._glyph(row, limit + 2 * COLUMNS_PER_CELL)
                if glyph is not None:
                    self._weigh_characters(bias, glyph)

    def _line_chance(self, row: int, words: list[Word]) -> float:
        """Whether an unread line begins with one of the words."""
        return max((float(self._seen.line[row, word.cell]) for word in words), default=0.0)

    def _glyph(self, row: int, limit: int) -> Glyph | None:
        reach = math.ceil(self._at + 3 + 4 * self._size)
        return self._seen.glyph(row, round(self._at), min(limit, reach))

    def _weigh_characters(self, bias: Floats, glyph: Glyph) -> None:
        likelihood = np.log(glyph.chances[v.FIRST_CHARACTER :] + _FLOOR)
        bias[v.FIRST_CHARACTER : v.FIRST_COLUMN] = _TOWER_WEIGHT * likelihood
        bias[v.UNKNOWN] = _TOWER_WEIGHT * np.log(glyph.chances[v.UNKNOWN] + _FLOOR)

    def _next_words(self, row: int) -> list[Word]:
        """The next word of this row; twice where it may begin in either of two cells."""
        is_begun = v.column_of(self._last) is None
        least = self._at - 0.5 if is_begun else self._at + 1
        found = [
            word
            for word in self._seen.words(row)
            if word.cell >= self._word and word.start >= least
        ]
        return [word for word in found if word.start == found[0].start]

    def _drifted(self, row: int, limit: float) -> tuple[int, list[Word]] | None:
        """On a page that is not quite straight a line goes on in the row beside: that row and its
        next word, if that begins before `limit`."""
        span = slice(max(0, int(self._at) - 16), int(self._at))
        for beside in self._seen.twins(row, span, share=0.6):
            following = self._next_words(beside)
            if (
                following
                and following[0].start < limit
                and self._line_chance(beside, following) < LIKELY
            ):
                return beside, following
        return None

    @property
    def _chance_of_another(self) -> float:
        """Whether the ink of the last character is that of one more of the same."""
        if not self._written or v.character_of(self._last) is None:
            return 0.0
        return 1 / (1 + math.exp(8 * (self._written + _ROUNDING - self._widths)))

    def _pass(self, token: int) -> None:
        """Move on behind the character just written, whatever the tower read it as."""
        if token == self._last and self._chance_of_another > DOUBTFUL:
            self._written += 1
            return
        self._written = 0
        usual = max(1.0, width_of(token) * self._size * COLUMNS_PER_CELL)
        glyph = None if self._row is None else self._glyph(self._row, self._seen.ink.shape[1])
        if glyph is None or glyph.start > self._at + 2 * usual:
            self._at += usual
            return
        if glyph.chances[token] < _FLOOR and usual < _THIN:
            return  # too thin a character for the tower to have seen
        self._at = float(glyph.stop)
        if glyph.likeliest == token:
            self._widths, self._written = (glyph.stop - glyph.start) / usual, 1
