"""Rows of tables are told from columns of text and from what only looks like them."""

from __future__ import annotations

from collections.abc import Sequence

from fastocr_cli.reader.grids import Cell, cells_of_tables


def rows_of_tables(levels: Sequence[Sequence[Cell]]) -> set[int]:
    return {row for row, _ in cells_of_tables(levels)}


def level(row: float, starts: Sequence[int], width: int = 30, chance: float = 0.6) -> list[Cell]:
    return [Cell(start, start + width, row, chance) for start in starts]


def test_cells_below_each_other_are_a_table_whatever_some_look_like() -> None:
    head = level(10, (20, 126, 232, 338), chance=0.3)
    unlike = [cell._replace(chance=0.05 if i == 3 else 0.8) for i, cell in enumerate(head)]
    rows = [[cell._replace(row=row) for cell in unlike] for row in (12, 14, 16.4)]
    assert rows_of_tables([level(5, (20,), 400), head, *rows, level(22, (20,), 400)]) == {
        1,
        2,
        3,
        4,
    }


def test_a_cell_may_be_empty_and_another_wider() -> None:
    levels = [
        level(10, (20, 126, 232)),
        [Cell(0, 70, 12, 0.6), Cell(240, 250, 12, 0.6)],
        level(14, (20, 126, 232)),
    ]
    assert rows_of_tables(levels) == {0, 1, 2}


def test_a_line_under_a_cell_goes_on_with_it_and_parts_nothing() -> None:
    levels = [*(level(10 + 2 * i, (20, 126, 232)) for i in range(2)), level(14, (126,))]
    assert rows_of_tables([*levels, level(16, (20, 126, 232))]) == {0, 1, 3}


def test_columns_of_text_are_none() -> None:
    assert rows_of_tables([level(2 * i, (0, 120, 240), 100, 0.05) for i in range(9)]) == set()


def test_two_columns_two_rows_or_rows_far_apart_are_none() -> None:
    assert rows_of_tables([level(2 * i, (0, 120)) for i in range(9)]) == set()
    assert rows_of_tables([level(2 * i, (0, 120, 240)) for i in range(2)]) == set()
    assert rows_of_tables([level(9 * i, (0, 120, 240)) for i in range(9)]) == set()


def test_a_line_across_begins_another_table() -> None:
    upper = [level(2 * i, (0, 120, 240)) for i in range(3)]
    lower = [level(10 + 2 * i, (60, 180, 300)) for i in range(3)]
    assert rows_of_tables([*upper, level(7, (0,), 330), *lower]) == {0, 1, 2, 4, 5, 6}


def test_a_page_without_words_has_none() -> None:
    assert rows_of_tables([]) == set()


def test_running_text_beside_a_table_is_no_part_of_it() -> None:
    text = [Cell(0, 200 - i % 3, 2.0 * i, 0.05) for i in range(5)]
    rows = [level(2 * i, (240, 300, 360, 420)) for i in range(5)]
    beside = [[text[i], *rows[i]] for i in range(5)]
    expected = {(i, k) for i in range(5) for k in range(1, 5)}
    assert cells_of_tables(beside) == expected
