"""Reading goes forward."""

from __future__ import annotations

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
