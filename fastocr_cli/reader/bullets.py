"""Marks that stand before the items of a list without being bullets by themselves.

Circles are read as letters or digits, boxes and ticks cannot be read at all, and a dash is a dash.
What tells are the gap behind them, wider than between words, and that several stand below each
other, or below an item with a bullet, further in.
"""

from __future__ import annotations

from collections.abc import Sequence

from fastocr_cli.reader import vocabulary as v
from fastocr_cli.reader.evidence import EM, EM_ROWS, Word

_GAP = 0.5 * EM
"""Columns from a mark to its item, at least."""
_FLUSH, _NEAR_ROWS = 4, 8 * EM_ROWS
"""Columns by which the starts of two marks of a list differ, and rows between them, at most."""
_LOOK_ALIKES = {v.character_id(mark) for mark in "o0O°-–—*·»>"}

Line = Sequence[Word]


def are_marked(lines: Sequence[Line]) -> list[bool]:
    """Which lines, in reading order, begin with such a mark; none without words."""
    seems = [len(line) > 1 and _seems_marked(line) for line in lines]
    marked = [line[0] for line, seems_so in zip(lines, seems, strict=True) if seems_so]
    return [
        seems_so and (_is_told(line[0], marked) or (i > 0 and _is_below(line, lines[i - 1])))
        for i, (line, seems_so) in enumerate(zip(lines, seems, strict=True))
    ]


def has_bullet(line: Line) -> bool:
    """Whether it begins with the mark that stands before nothing but the items of a list."""
    return len(line) > 1 and line[0].mark == v.BULLET


def _seems_marked(line: Line) -> bool:
    mark, text = line[:2]
    is_mark = mark.mark == v.UNKNOWN or mark.mark in _LOOK_ALIKES
    return is_mark and text.start - mark.stop >= _GAP and not text.text[:1].isdecimal()


def _is_told(mark: Word, marked: Sequence[Word]) -> bool:
    """Whether it is a mark for itself, or one of some."""
    return mark.mark == v.UNKNOWN or any(
        other is not mark
        and abs(other.start - mark.start) <= _FLUSH
        and abs(other.height - mark.height) <= _NEAR_ROWS
        for other in marked
    )


def _is_below(line: Line, above: Line) -> bool:
    """Whether it stands below an item with a bullet, further in."""
    return has_bullet(above) and line[0].start >= above[1].start - _FLUSH
