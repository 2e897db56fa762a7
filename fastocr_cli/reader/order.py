"""What the reader may not write next, because it would read backwards.

The reader names the place of every line and word, so a slip of its eye can be seen before it is
written: within a line words go to the right, and a line that goes on with its block does not begin
where one of the block's last lines stands. Nothing else is forbidden; a jump to the next column,
or a new block on the same height, stays possible.
"""

from __future__ import annotations

from fastocr_cli.reader import vocabulary as v
from fastocr_cli.reader.vocabulary import LineKind

REMEMBERED_LINES = 3


class ReadingOrder:
    """One page's place, followed token by token."""

    def __init__(self) -> None:
        self._rows: list[int] = []
        """Rows of the last lines of this block."""
        self._column: int | None = None
        self._expects_row = False

    def add(self, token: int) -> None:
        kind = v.kind_of(token)
        if kind is not None:
            if kind is not LineKind.LINE:
                self._rows.clear()
            self._column, self._expects_row = None, True
        elif (row := v.row_of(token)) is not None:
            self._rows = [*self._rows[1 - REMEMBERED_LINES :], row]
            self._expects_row = False
        elif (column := v.column_of(token)) is not None:
            self._column = column

    def banned(self) -> list[int]:
        """Tokens that would lead backwards."""
        if self._expects_row:
            rows = {row - up for row in self._rows for up in (0, 1)}
            return [v.row_id(row) for row in sorted(rows) if row >= 0]
        if self._column is None:
            return []
        return [v.column_id(column) for column in range(self._column)]
