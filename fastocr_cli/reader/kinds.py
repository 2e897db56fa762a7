"""What sort of line each line of a page is, as far as the tower and geometry tell.

The tower sees a line's surroundings, not the page. Three things it cannot weigh are plain from the
whole: how large the type is beside the page's usual, whether the line above had room for the first
word (then its author ended it, and something begins), and what stands in one table.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from statistics import median

import numpy as np

from fastocr_cli.reader import vocabulary as v
from fastocr_cli.reader.evidence import EM, EM_ROWS, Floats
from fastocr_cli.reader.layout import TextLine
from fastocr_cli.reader.other_sizes import type_size
from fastocr_cli.reader.vocabulary import LineKind

_FLOOR = 0.02
_PITCH, _MOST_PITCH = 1.2 * EM_ROWS, 3.9 * EM_ROWS
"""Rows from line to line of body text: usually, and at most."""
_FEW = 3
_BLOCK_STEP, _BLOCK_INDENT = 1.9, 4 * EM
"""Below one line of a block, in the page's own pitch, and beside its start, in columns, within
which the next begins."""
_TABLE_STEP, _ROW_STEP, _ROW_GAP = 4.3 * EM_ROWS, 2.25 * EM_ROWS, 1.7
"""Rows between two rows of one table: at most, always possible, and over the widest anywhere
above in it."""
_COLUMN_ROWS = 7 * EM_ROWS
"""Rows above and below a line within which others tell how wide its column is."""
_SPACE, _ENTRY_GAP = 0.3 * EM, 3 * EM
"""Columns between two words, usually; and, at least, before what is set to the right end of a
line."""
_LABEL, _FLUSH, _GOES_ON = 4, 4, 0.2
"""Characters of a label before an item; columns between the beginnings of two items' texts; and
the chance that a line goes on with the item above, at most, if it is an item itself."""
_TELLING_ROOM = 2 * EM
"""Columns that were left in the line above beyond the first word: each so many make it e times
less likely that this one goes on."""
_HEADING_SIZES = ((1.45, LineKind.HEADING_1), (1.14, LineKind.HEADING_2))
"""Type over the usual of the page, at least."""
_HEADING_LINES = 3
"""Lines that follow each other in large type, at most."""
_SIZE_TELLS, _BULLET_TELLS = 0.1, 0.1
"""What is left of the chance that a line in large type is none of a heading, and that one with a
bullet is no item."""


def line_kinds(lines: Sequence[TextLine]) -> list[Floats]:
    """For lines in reading order the chances of each `LineKind`, up to a factor; [kinds] each, 0
    for what a line cannot be."""
    step = _BLOCK_STEP * _pitch(lines)
    headings = _headings(lines, step)
    return [_chances(lines, i, step, heading) for i, heading in enumerate(headings)]


def _pitch(lines: Sequence[TextLine]) -> float:
    """Rows from one line to the next of a block: the median of the page where it shows some, but
    not less than usual."""
    steps = [
        below.row - above.row
        for above, below in pairwise(lines)
        if not above.cells and not below.cells and _is_below(above, below, _MOST_PITCH)
    ]
    return max(_PITCH, median(steps)) if len(steps) >= _FEW else _PITCH


def _chances(lines: Sequence[TextLine], i: int, step: float, heading: LineKind | None) -> Floats:
    line, above = lines[i], lines[i - 1] if i else None
    chances = np.zeros(len(LineKind), np.float32)
    if line.cells:
        chances[_at(LineKind.ROW if _is_next_row(lines, i) else LineKind.TABLE)] = 1.0
        return chances
    if line.listing is not None:
        chances[_at(LineKind.CODE)] = 1.0
        return chances
    chances += line.words[0].kinds + _FLOOR
    chances[[_at(kind) for kind in v.TABULAR]] = 0.0
    if line.is_monospaced is False:
        chances[_at(LineKind.CODE)] = 0.0
    is_entry = _has_gap(line) or (above is not None and _has_gap(above))
    if above is None or above.cells or is_entry or not _is_below(above, line, step):
        chances[_at(LineKind.LINE)] = 0.0
    else:
        chances[_at(LineKind.LINE)] *= np.exp(-_room(above, line, lines) / _TELLING_ROOM)
    if line.has_bullet:
        chances *= _BULLET_TELLS
        chances[_at(LineKind.ITEM)] += 1.0
    elif chances[_at(LineKind.LINE)] < _GOES_ON and above and _lost_its_bullet(above, line):
        chances[_at(LineKind.ITEM)] += chances.max()
    elif heading is not None and int(chances.argmax()) != _at(LineKind.CODE):
        chances *= _SIZE_TELLS
        chances[_at(heading)] += 1.0
    return chances


def _has_gap(line: TextLine) -> bool:
    """Whether something is set to its right end, as the date of an entry or the number of a page;
    it is all there is of it. What follows a bullet or a number goes on."""
    words = line.words[len(line.words[0].glyphs) <= _LABEL :]
    return any(right.start - left.stop >= _ENTRY_GAP for left, right in pairwise(words))


def _lost_its_bullet(above: TextLine, line: TextLine) -> bool:
    """Whether it begins where the text of the item above does."""
    return above.has_bullet and abs(line.start - above.words[1].start) <= _FLUSH


def _at(kind: LineKind) -> int:
    return kind - min(LineKind)


def _is_below(above: TextLine, line: TextLine, step: float) -> bool:
    """Whether a line may belong to the block of the line above it."""
    is_near = 0 < line.row - above.row <= step
    return is_near and abs(line.start - above.start) <= _BLOCK_INDENT


def _is_next_row(lines: Sequence[TextLine], i: int) -> bool:
    """Whether a row goes on with the table above it: not across a gap wider than between rows."""
    widest, j = 0.0, i - 1
    while j > 0 and lines[j].cells and lines[j - 1].cells:
        step = lines[j].row - lines[j - 1].row
        if not _is_below(lines[j - 1], lines[j], _TABLE_STEP):
            break
        widest, j = max(widest, step), j - 1
    most = min(_TABLE_STEP, max(_ROW_STEP, _ROW_GAP * widest)) if widest else _TABLE_STEP
    return i > 0 and bool(lines[i - 1].cells) and _is_below(lines[i - 1], lines[i], most)


def _room(above: TextLine, line: TextLine, lines: Sequence[TextLine]) -> float:
    """Columns that would have been left in the line above, had it taken the first word as well."""
    column = [
        other.stop
        for other in lines
        if abs(other.row - line.row) <= _COLUMN_ROWS
        and abs(other.start - above.start) <= _BLOCK_INDENT
        and not other.cells
    ]
    first = line.words[0]
    return max(0.0, max(column) - above.stop - _SPACE - (first.stop - first.start))


def _headings(lines: Sequence[TextLine], step: float) -> list[LineKind | None]:
    """Of every line the heading that the size of its type makes it, or None.

    A second line of a heading goes on with it if there was no room left in the first.
    """
    sizes = [type_size(line.words) for line in lines]
    letters = [sum(len(word.glyphs) for word in line.words) for line in lines]
    usual = _weighted_median(sizes, letters)
    levels = [
        None if line.cells or line.is_monospaced else _level(size / usual)
        for size, line in zip(sizes, lines, strict=True)
    ]
    found: list[LineKind | None] = []
    for run in _runs(lines, levels, step):
        is_heading = len(run) <= _HEADING_LINES
        for i in run:
            goes_on = i > run[0] and _room(lines[i - 1], lines[i], lines) < _TELLING_ROOM
            found.append(levels[i] if is_heading and not goes_on else None)
    return found


def _level(size: float) -> LineKind | None:
    return next((kind for least, kind in _HEADING_SIZES if size >= least), None)


def _runs(
    lines: Sequence[TextLine], levels: Sequence[LineKind | None], step: float
) -> Iterator[list[int]]:
    """Numbers of the lines, those that follow each other in one block in large type together."""
    run: list[int] = []
    for i, level in enumerate(levels):
        if run and not (level and levels[i - 1] and _is_below(lines[i - 1], lines[i], step)):
            yield run
            run = []
        run.append(i)
    if run:
        yield run


def _weighted_median(values: Sequence[float], weights: Sequence[int]) -> float:
    """1.0 without values."""
    half = sum(weights) / 2
    for value, weight in sorted(zip(values, weights, strict=True)):
        half -= weight
        if half <= 0:
            return value
    return 1.0
