"""Reading goes forward."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fastocr_cli.reader import vocabulary as v
from fastocr_cli.reader.order import ReadingOrder
from fastocr_cli.reader.vocabulary import LineKind


def after(*tokens: int) -> set[int]:
    order = ReadingOrder()
    for token in tokens:
        order.add(int(token))
    return set(order.banned())


LETTER = v.character_id("a")


def test_words_go_to_the_right() -> None:
    banned = after(LineKind.PARAGRAPH, v.row_id(4), v.column_id(3), LETTER)
    assert banned == {v.column_id(i) for i in range(3)}


def test_a_line_does_not_begin_where_its_block_was_read() -> None:
    first = (LineKind.PARAGRAPH, v.row_id(4), v.column_id(3), LETTER)
    second = (LineKind.LINE, v.row_id(6), v.column_id(3), LETTER)
    assert after(*first, LineKind.LINE) == {v.row_id(3), v.row_id(4)}
    assert after(*first, *second, LineKind.LINE) == {v.row_id(i) for i in (3, 4, 5, 6)}


def test_a_new_block_may_stand_anywhere() -> None:
    first = (LineKind.PARAGRAPH, v.row_id(4), v.column_id(3), LETTER)
    assert after(*first, LineKind.PARAGRAPH) == set()
    assert after(*first, LineKind.LINE, v.row_id(90)) == set()
    assert after() == set()


@given(st.lists(st.integers(0, v.VOCABULARY_SIZE - 1), max_size=80))
def test_only_places_are_ever_banned(tokens: list[int]) -> None:
    banned = after(*tokens)
    assert all(token >= v.FIRST_COLUMN for token in banned)
    assert len(banned) <= v.MAX_COLUMNS


def page_with_lines(*lines: tuple[int, int]) -> np.ndarray:
    """Nothing begins on a page of 12 x 20 cells but lines at the (row, column) given."""
    chances = np.full((12, 20, v.FIRST_CHARACTER), 1e-6, np.float32)
    chances[..., 0] = 1.0
    for row, column in lines:
        chances[row, column, LineKind.LINE] = 1.0
    return np.log(chances)


def allowed(order: ReadingOrder, first: int, count: int) -> set[int]:
    return set(range(count)) - {token - first for token in order.banned()}


def test_a_line_begins_where_one_was_seen_and_only_once() -> None:
    order = ReadingOrder(page_with_lines((2, 3), (4, 3), (4, 12)))
    order.add(LineKind.PARAGRAPH)
    assert allowed(order, v.FIRST_ROW, v.MAX_ROWS) == {2, 4}
    order.add(v.row_id(4))
    assert allowed(order, v.FIRST_COLUMN, v.MAX_COLUMNS) == {3, 12}
    order.add(v.column_id(12))
    order.add(LETTER)
    order.add(LineKind.PARAGRAPH)
    order.add(v.row_id(4))
    assert allowed(order, v.FIRST_COLUMN, v.MAX_COLUMNS) == {3}
    order.add(v.column_id(3))
    order.add(LineKind.PARAGRAPH)
    assert allowed(order, v.FIRST_ROW, v.MAX_ROWS) == {2}


def test_a_page_read_to_its_end_bans_no_row_at_all() -> None:
    order = ReadingOrder(page_with_lines())
    order.add(LineKind.PARAGRAPH)
    assert order.banned() == []


def test_a_word_begins_where_one_was_seen() -> None:
    order = ReadingOrder(page_with_lines((2, 3), (2, 9), (7, 11)))
    for token in (LineKind.PARAGRAPH, v.row_id(2), v.column_id(3), LETTER):
        order.add(token)
    assert allowed(order, v.FIRST_COLUMN, v.MAX_COLUMNS) == {3, 9}
