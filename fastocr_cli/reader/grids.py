"""The rows of tables, by where their cells stand.

The tower judges a line by what it sees around it, and in tables without rules or wider than it sees
it takes some cells for lines of text. But cells stand below each other in columns, row after row;
where enough of them look like cells, all are.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import Protocol

from fastocr_cli.reader.evidence import EM, EM_ROWS

_GAP = 0.8 * EM
"""Columns between two columns of a table, at least."""
_STEP_ROWS = 3.6 * EM_ROWS
"""Rows from one row of a table to the next, at most."""
_FEWEST_ROWS, _FEWEST_COLUMNS = 3, 3
_FILLED = 0.6
"""Share of the places in a table that have a cell, at least."""
_TABULAR = 0.3
"""Chance of its cells to be some by themselves, on the mean, at least."""


class Cell(Protocol):
    """What may be one: start and stop in columns, row, and the chance that it is."""

    @property
    def start(self) -> int: ...
    @property
    def stop(self) -> int: ...
    @property
    def row(self) -> float: ...
    @property
    def cell_chance(self) -> float: ...


def rows_of_tables(levels: Sequence[Sequence[Cell]]) -> set[int]:
    """Numbers of the levels that are rows of a table. levels: all that stands on each, from left to
    right; from the top."""
    found: set[int] = set()
    rows: list[int] = []
    columns: list[tuple[int, int]] = []
    for i, cells in enumerate(levels):
        wider = _with_row(columns, cells)
        if rows and (wider is None or cells[0].row - levels[i - 1][0].row > _STEP_ROWS):
            found.update(rows if _is_table([levels[j] for j in rows], columns) else ())
            rows, wider = [], _with_row([], cells)
        if len(cells) > 1 and wider is not None:
            rows.append(i)
            columns = wider
        elif not rows:
            columns = []
    found.update(rows if _is_table([levels[j] for j in rows], columns) else ())
    return found


def _with_row(
    columns: Sequence[tuple[int, int]], cells: Sequence[Cell]
) -> list[tuple[int, int]] | None:
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


def _is_table(rows: Sequence[Sequence[Cell]], columns: Sequence[tuple[int, int]]) -> bool:
    cells = [cell for row in rows for cell in row]
    return (
        len(rows) >= _FEWEST_ROWS
        and len(columns) >= _FEWEST_COLUMNS
        and len(cells) >= _FILLED * len(rows) * len(columns)
        and fmean(cell.cell_chance for cell in cells) >= _TABULAR
    )
