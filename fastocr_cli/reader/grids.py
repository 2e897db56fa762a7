"""The rows of tables, by where their cells stand.

The tower judges a line by what it sees around it, and in tables without rules or wider than it sees
it takes some cells for lines of text. But cells stand below each other in columns, row after row;
where enough of them look like cells, all are.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import NamedTuple

from fastocr_cli.reader.evidence import EM, EM_ROWS

_GAP = 0.3 * EM
"""Columns between two columns of a table, at least; between words of one line there are as many."""
_STEP_ROWS = 3.6 * EM_ROWS
"""Rows from one row of a table to the next, at most."""
_FEWEST_ROWS, _FEWEST_COLUMNS = 3, 3
_FILLED = 0.6
"""Share of the places in a table that have a cell, at least."""
_TEXT_WIDTH, _TEXT_FILLED = 7 * EM, 0.8
"""Columns that lines of running text are wide, on the mean, at least; and the share of the widest
that most are, at least."""
_TABULAR, _SURELY_TABULAR = 0.3, 0.65
"""With so many columns, and with fewer: the chance of its cells to be some by themselves, on the
mean, at least."""


class Cell(NamedTuple):
    """What may be one: where it starts and stops, in columns, and in which row it stands; and the
    chance that it is."""

    start: int
    stop: int
    row: float
    chance: float


Span = tuple[int, int]
Place = tuple[int, int]
"""Number of a level, and of what stands on it."""


def cells_of_tables(levels: Sequence[Sequence[Cell]]) -> set[Place]:
    """What belongs to the rows of a table. levels: all that stands on each, from left to right;
    from the top."""
    found: set[Place] = set()
    rows: list[int] = []
    columns: list[Span] = []
    for i, cells in enumerate(levels):
        wider = _with_row(columns, cells)
        if rows and (wider is None or cells[0].row - levels[i - 1][0].row > _STEP_ROWS):
            found |= _cells_of_table(levels, rows, columns)
            rows, wider = [], _with_row([], cells)
        if len(cells) > 1 and wider is not None:
            rows.append(i)
            columns = wider
        elif not rows:
            columns = []
    return found | _cells_of_table(levels, rows, columns)


def _with_row(columns: Sequence[Span], cells: Sequence[Cell]) -> list[Span] | None:
    """Columns as wide as one more row asks for, None if a cell stands in two or two in one."""
    spans = list(columns)
    taken: set[int] = set()
    for cell in cells:
        start, stop = cell.start, cell.stop
        hit = [i for i, (a, b) in enumerate(columns) if start < b + _GAP and a < stop + _GAP]
        if len(hit) > 1 or not taken.isdisjoint(hit):
            return None
        taken.update(hit)
        for i in hit:
            spans[i] = min(columns[i][0], start), max(columns[i][1], stop)
        if not hit:
            spans.append((start, stop))
    return spans


def _cells_of_table(
    levels: Sequence[Sequence[Cell]], rows: Sequence[int], columns: Sequence[Span]
) -> set[Place]:
    """The cells of rows that fit into columns, if they are a table; none otherwise. A column of
    running text is not part of it, but stands beside."""
    kept: list[list[Place]] = []
    for left, right in columns:
        places = [
            (i, k)
            for i in rows
            for k, cell in enumerate(levels[i])
            if left <= cell.start and cell.stop <= right
        ]
        if not _is_running_text([levels[i][k] for i, k in places]):
            kept.append(places)
    places = [place for column in kept for place in column]
    height = len({i for i, _ in places})
    is_table = (
        height >= _FEWEST_ROWS
        and len(places) >= _FILLED * height * len(kept)
        and fmean(levels[i][k].chance for i, k in places)
        >= (_TABULAR if len(kept) >= _FEWEST_COLUMNS else _SURELY_TABULAR)
    )
    return set(places) if is_table else set()


def _is_running_text(cells: Sequence[Cell]) -> bool:
    widths = [cell.stop - cell.start for cell in cells]
    return (
        len(cells) >= _FEWEST_ROWS
        and fmean(widths) >= max(_TEXT_WIDTH, _TEXT_FILLED * max(widths))
        and fmean(cell.chance for cell in cells) < _TABULAR
    )
