"""The eye's place follows from the tokens."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fastocr_cli.reader import vocabulary as v
from fastocr_cli.reader.eye import STEPS_PER_CELL, Eye, places_of
from fastocr_cli.reader.vocabulary import LineKind

LINE = [LineKind.PARAGRAPH, v.row_id(7), v.column_id(5)]


def spelled(word: str) -> list[int]:
    return [v.character_id(c) for c in word]


def test_a_word_begins_where_it_is_written() -> None:
    assert places_of(LINE)[-1] == (7, 5 * STEPS_PER_CELL, 5)
    assert places_of([*LINE, *spelled("Dear"), v.column_id(9)])[-1] == (7, 9 * STEPS_PER_CELL, 5)


def test_letters_move_the_eye_by_their_width() -> None:
    narrow, wide = (places_of([*LINE, *spelled(word)])[-1][1] for word in ("illi", "WWWW"))
    assert 5 * STEPS_PER_CELL < narrow < wide


def test_large_type_moves_it_further() -> None:
    usual, large = (
        places_of([*LINE, *spelled("reading"), v.column_id(column), *spelled("pages")])[-1][1]
        - column * STEPS_PER_CELL
        for column in (9, 13)
    )
    assert large > 1.5 * usual


def test_a_new_line_is_expected_below_the_start_of_the_last() -> None:
    tokens = [*LINE, *spelled("Dear"), LineKind.LINE, v.row_id(9)]
    assert places_of(tokens)[-1] == (9, 5 * STEPS_PER_CELL, 5)


@given(st.lists(st.integers(0, v.VOCABULARY_SIZE - 1), max_size=60))
def test_any_tokens_have_places_on_the_largest_page(tokens: list[int]) -> None:
    eye = Eye()
    for token, place in zip(tokens, places_of(tokens), strict=True):
        eye.add(token)
        assert eye.place == place
        row, column, start = place
        assert 0 <= row < v.MAX_ROWS
        assert 0 <= start < v.MAX_COLUMNS
        assert 0 <= column < v.MAX_COLUMNS * STEPS_PER_CELL
