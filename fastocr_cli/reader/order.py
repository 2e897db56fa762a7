"""What the reader may not write next, because the page does not bear it out.

The reader names the place of every line and word, and the tower saw what stands where; so a slip
of the decoder can be seen before it is written. Lines and words begin only where one was seen to
begin that has not been read yet, reading goes forward, a word holds only characters that may stand
there, and it ends where the ink ends. What is left open, the decoder decides: which line comes
next, what kind of line it is, and which of the characters that were seen.
"""

from __future__ import annotations

import math

import numpy as np

from fastocr_cli.reader import vocabulary as v
from fastocr_cli.reader.evidence import (
    COLUMNS_PER_CELL,
    DOUBTFUL,
    LIKELY,
    POSSIBLE,
    SURE,
    Bools,
    Evidence,
)
from fastocr_cli.reader.eye import Eye, width_of
from fastocr_cli.reader.vocabulary import LineKind

_FARTHEST_WORD = 14
"""Cells: behind a larger gap stands another column of text, or another cell of a table."""
_BLOCK_STEP, _BLOCK_INDENT = 4, 8
"""Rows below one line of a block, and columns beside its start, within which the next begins."""
_CONTINUING = (LineKind.LINE, LineKind.ROW)


class ReadingOrder:
    """One page's place, followed token by token."""

    def __init__(self, evidence: Evidence) -> None:
        self._seen = evidence
        self._eye = Eye()
        self._kind = LineKind.PARAGRAPH
        self._row: int | None = None
        self._word = 0  # the cell where the word began
        self._at = 0.0  # first column (a quarter of a cell) that has not been read
        self._last = v.BOS

    def add(self, token: int) -> None:
        self._eye.add(token)
        self._last = token
        if (kind := v.kind_of(token)) is not None:
            self._kind, self._row = kind, None
        elif (row := v.row_of(token)) is not None:
            self._row = min(row, self._seen.rows - 1)
        elif (column := v.column_of(token)) is not None and self._row is not None:
            column = min(column, self._seen.columns - 1)
            self._word = column
            self._seen.mark_read(self._row, column)
            self._at = float(self._first_ink(self._row, column))
        elif v.character_of(token) is not None:
            self._at = self._after(token)

    def banned(self) -> list[int]:
        """Tokens that the page does not bear out; never all of them."""
        allowed = np.zeros(v.VOCABULARY_SIZE, bool)
        if v.kind_of(self._last) is not None:
            allowed[v.FIRST_ROW + self._rows()] = True
        elif v.row_of(self._last) is not None and self._row is not None:
            allowed[v.FIRST_COLUMN + self._first_columns(self._row)] = True
        elif self._row is None:
            self._allow_end(allowed)
        else:
            self._allow_in_line(allowed, self._row)
        return np.flatnonzero(~allowed).tolist() if allowed.any() else []

    def _rows(self) -> np.ndarray:
        """Rows in which an unread line of this kind begins; those of one block follow closely."""
        of_kind = self._seen.kinds[..., self._kind - min(LineKind)].max(1) > POSSIBLE
        strongest = self._seen.line.max(1)
        for rows in (
            np.flatnonzero((strongest > LIKELY) & of_kind),
            np.flatnonzero(strongest > LIKELY),
            np.flatnonzero(strongest > DOUBTFUL),
        ):
            if len(rows):
                break
        if self._kind in _CONTINUING:
            near = rows[(rows > self._eye.row) & (rows <= self._eye.row + _BLOCK_STEP)]
            rows = near[near <= near[0] + 1] if len(near) else rows
        return rows

    def _first_columns(self, row: int) -> np.ndarray:
        line = self._seen.line[row]
        columns = np.flatnonzero(line > LIKELY)
        return columns if len(columns) else np.flatnonzero(line > DOUBTFUL)

    def _allow_end(self, allowed: Bools) -> None:
        """The next line, or the end of a page that has been read."""
        unread = self._seen.line
        strongest = float(unread.max(initial=0.0))
        allowed[v.EOS] = strongest < LIKELY
        kinds = self._seen.kinds[unread > min(LIKELY, 0.9 * strongest)].max(0, initial=0.0)
        below = slice(self._eye.row + 1, self._eye.row + 1 + _BLOCK_STEP)
        near = max(0, self._eye.start - _BLOCK_INDENT), self._eye.start + _BLOCK_INDENT + 1
        continued = self._seen.kinds[below, slice(*near)].max((0, 1), initial=0.0)
        for kind in LineKind:
            chance = (continued if kind in _CONTINUING else kinds)[kind - min(LineKind)]
            allowed[kind] = strongest > DOUBTFUL and chance > POSSIBLE
        if not allowed.any():
            allowed[min(LineKind) : max(LineKind) + 1] = True

    def _allow_in_line(self, allowed: Bools, row: int) -> None:
        following = self._next_words(row)
        if not following:
            row, following = self._drifted(row)
        limit = self._first_ink(row, following[0]) if following else self._seen.ink.shape[1]
        is_begun = v.character_of(self._last) is not None
        is_over = self._last == v.CELL or (is_begun and not self._has_ink(row, limit))
        if following and self._seen.word[row, following[0]] < SURE:
            limit += 2 * COLUMNS_PER_CELL  # perhaps no word begins there
        if not is_over or limit > self._at:
            self._allow_characters(allowed, row, limit)
        if not is_over and allowed.any():
            return
        line = self._seen.line[row, following].max(initial=0.0)
        if not following or line > DOUBTFUL:
            self._allow_end(allowed)
        if following and line < SURE:
            allowed[v.FIRST_COLUMN + np.array(following)] = True
            allowed[v.CELL] = self._kind in (LineKind.TABLE, LineKind.ROW)

    def _first_ink(self, row: int, column: int) -> int:
        """Where the character begins whose middle lies in a cell."""
        ink, cell = self._seen.ink[row], column * COLUMNS_PER_CELL
        begins = max(0, cell - COLUMNS_PER_CELL)
        for at in range(begins, min(cell + COLUMNS_PER_CELL, len(ink))):
            if ink[at] and (at == 0 or ink[at - 1] != ink[at]):
                run = np.logical_and.accumulate(np.equal(ink[at : at + 8], ink[at])).sum()
                if at + (run - 1) / 2 >= cell - 0.5:
                    return at
        return cell

    def _next_words(self, row: int) -> list[int]:
        """The cell where the next word of this row begins; two where it may be either."""
        first = max(self._word + 1, int((self._at + 1) / COLUMNS_PER_CELL))
        word = self._seen.word[row, first : first + _FARTHEST_WORD]
        found = [first + int(cell) for cell in np.flatnonzero(word > POSSIBLE)]
        found = [cell for cell in found if self._first_ink(row, cell) >= self._at - 1]
        return [cell for cell in found if cell <= found[0] + 1]

    def _drifted(self, row: int) -> tuple[int, list[int]]:
        """On a page that is not quite straight a line goes on in the row beside."""
        span = slice(max(0, int(self._at) - 16), int(self._at))
        for beside in self._seen.twins(row, span):
            following = self._next_words(beside)
            if following and self._seen.line[beside, following].max() < LIKELY:
                self._row = beside
                return beside, following
        return row, []

    def _has_ink(self, row: int, limit: int) -> bool:
        """Whether a character that has not been read is likely to stand before `limit`."""
        ink = self._seen.ink[row, math.ceil(self._at) : limit]
        return bool(np.any((ink > 0) & (ink != self._last)) or np.count_nonzero(ink) > 2)

    def _allow_characters(self, allowed: Bools, row: int, limit: int) -> None:
        start = int(self._at)
        reach = math.ceil(self._at + 2 + 3 * self._eye.scale)
        window = slice(start, min(reach, limit) if limit > start else start + 2)
        shown: Bools = np.asarray(self._seen.shown[row, window].any(0))
        allowed[: len(shown)] = shown
        allowed[: v.FIRST_CHARACTER] = False
        allowed[v.UNKNOWN] = shown[v.UNKNOWN]
        if not np.any(self._seen.ink[row, math.ceil(self._at) : window.stop] == self._last):
            allowed[self._last] = False  # only the edge of the character just written

    def _after(self, token: int) -> float:
        """Where the next character begins: behind the ink of the one just written."""
        assert self._row is not None or self._last == token
        usual = max(1.0, width_of(token) * self._eye.scale * COLUMNS_PER_CELL)
        if self._row is None:
            return self._at + usual
        start = int(self._at)
        ink = self._seen.ink[self._row, start : start + 4 + int(3 * usual)]
        same: Bools = np.asarray(ink == token)
        if not same.any():
            return self._at + usual
        first = int(same.argmax())
        length = int(np.logical_and.accumulate(same[first:]).sum())
        count = max(1, round(length / usual)) if length > 1.7 * usual else 1
        return max(start + first + length / count, self._at + 0.5 * usual)
