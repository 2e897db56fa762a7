"""What the reader may not write next, because the page does not bear it out.

The reader names the place of every line and word, so a slip of its eye can be seen before it is
written. Two rules: reading goes forward (words to the right, the lines of a block down), and a
line or a word begins only where the tower saw one begin that has not been read yet. Nothing is
prescribed: which line comes next, and what it says, is the decoder's choice.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fastocr_cli.reader import vocabulary as v
from fastocr_cli.reader.vocabulary import LineKind

REMEMBERED_LINES = 3
DOUBTFUL = 0.05
"""Below this chance nothing begins in a cell."""

_KINDS = slice(min(LineKind), max(LineKind) + 1)
_DRIFT = 2
"""Rows a line may climb or fall along its way, on a page that is not quite straight."""

Array = npt.NDArray[np.float32]


class ReadingOrder:
    """One page's place, followed token by token.

    starts: log-probabilities of what begins in each cell, [rows, columns, 16]; None for a page
        nobody looked at, where only the order counts.
    """

    def __init__(self, starts: Array | None = None) -> None:
        self._begins_line = self._begins_word = None
        if starts is not None:
            chances = np.exp(starts)
            line = chances[..., _KINDS].sum(-1)
            self._begins_line = line > DOUBTFUL
            self._begins_word = line + chances[..., v.WORD_START] > DOUBTFUL
        self._rows: list[int] = []
        """Rows of the last lines of this block."""
        self._row: int | None = None
        self._column: int | None = None
        self._expects_row = False

    def add(self, token: int) -> None:
        kind = v.kind_of(token)
        if kind is not None:
            if kind is not LineKind.LINE:
                self._rows.clear()
            self._column, self._row, self._expects_row = None, None, True
        elif (row := v.row_of(token)) is not None:
            self._rows = [*self._rows[1 - REMEMBERED_LINES :], row]
            self._row, self._expects_row = row, False
        elif (column := v.column_of(token)) is not None:
            if self._column is None and self._row is not None and self._begins_line is not None:
                # The row beside may show the same line, where it stands across the edge.
                around = slice(max(0, self._row - 1), self._row + 2)
                self._begins_line[around, max(0, column - 1) : column + 2] = False
            self._column = column

    def banned(self) -> list[int]:
        """Tokens that would lead backwards or where nothing is."""
        if self._expects_row:
            return [v.row_id(row) for row in self._banned_rows()]
        if self._row is not None and self._column is None:
            return [v.column_id(column) for column in self._banned_first_columns(self._row)]
        if self._column is not None:
            return [v.column_id(column) for column in self._banned_columns(self._column)]
        return []

    def _banned_rows(self) -> list[int]:
        backward = {row - up for row in self._rows for up in (0, 1) if row >= up}
        if self._begins_line is None:
            return sorted(backward)
        bare = set(range(v.MAX_ROWS)) - set(np.flatnonzero(self._begins_line.any(1)).tolist())
        return sorted(bare | backward) if len(bare | backward) < v.MAX_ROWS else sorted(backward)

    def _banned_first_columns(self, row: int) -> list[int]:
        if self._begins_line is None or row >= len(self._begins_line):
            return []
        allowed = set(np.flatnonzero(self._begins_line[row]).tolist())
        return [c for c in range(v.MAX_COLUMNS) if c not in allowed] if allowed else []

    def _banned_columns(self, column: int) -> list[int]:
        if self._begins_word is None or self._row is None:
            return list(range(column))
        band = self._begins_word[max(0, self._row - _DRIFT) : self._row + _DRIFT + 1]
        allowed = set(np.flatnonzero(band[:, column:].any(0)) + column)
        return [c for c in range(v.MAX_COLUMNS) if c not in allowed]
