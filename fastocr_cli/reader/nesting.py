"""Lists within lists: an item that begins further in than the one above it belongs to that."""

from __future__ import annotations

from typing import NamedTuple

_FURTHER = 2
"""Cells that a list within a list begins further in, at least."""


class _Item(NamedTuple):
    column: int
    indent: int
    text_indent: int


class Nesting:
    """The items that what comes next may belong to, from the outermost in."""

    def __init__(self) -> None:
        self._open: list[_Item] = []
        self._row = -1

    def end(self) -> None:
        """The list is over."""
        self._open = []

    def indent(self, column: int, row: int, mark: int) -> int:
        """Spaces before the next item, by the cell it begins in and the characters of its mark.
        What does not stand below the item before is in another column of text."""
        if row <= self._row:
            self.end()
        self._row = row
        while self._open and column < self._open[-1].column + _FURTHER:
            last = self._open.pop()
            if column > last.column - _FURTHER:
                self._open.append(_Item(column, last.indent, last.indent + mark))
                return last.indent
        indent = self._open[-1].text_indent if self._open else 0
        self._open.append(_Item(column, indent, indent + mark))
        return indent
