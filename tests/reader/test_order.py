"""The reader writes only what the page bears out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fastocr_cli.reader import vocabulary as v
from fastocr_cli.reader.evidence import Evidence
from fastocr_cli.reader.order import ReadingOrder
from fastocr_cli.reader.vocabulary import LineKind
from tests.reader.conftest import evidence_of

ROWS, COLUMNS = 12, 24
LETTER_COLUMNS = 2  # a letter is half a cell wide, in every line here


def page_of(*lines: tuple[int, int, str], kind: LineKind = LineKind.LINE) -> Evidence:
    """A page of ROWS x COLUMNS cells that clearly shows lines of text at (row, column)."""
    starts = np.zeros((ROWS, COLUMNS), np.int64)
    columns = np.zeros((ROWS, COLUMNS * 4), np.int64)
    for row, column, text in lines:
        at = column * 4
        for i, character in enumerate(text):
            if character != " ":
                columns[row, at : at + LETTER_COLUMNS] = v.character_id(character)
                if i == 0 or text[i - 1] == " ":
                    starts[row, at // 4] = kind if i == 0 else v.WORD_START
            at += LETTER_COLUMNS
    return evidence_of(starts, columns)


def line(row: int, column: int, kind: LineKind = LineKind.LINE) -> list[int]:
    return [kind, v.row_id(row), v.column_id(column)]


def spelled(word: str) -> list[int]:
    return [v.character_id(c) for c in word]


def allowed(evidence: Evidence, *tokens: int) -> set[int]:
    """Tokens the page does not speak against."""
    order = ReadingOrder(evidence)
    for token in tokens:
        order.add(int(token))
    bias = order.bias()
    assert not np.isnan(bias).any()
    return set(np.flatnonzero(bias > -3.0).tolist())


TWO_LINES = ((2, 3, "we read"), (4, 3, "pages"))


def test_a_line_begins_where_one_was_seen() -> None:
    first = allowed(page_of(*TWO_LINES), LineKind.LINE)
    assert first <= {v.row_id(2), v.row_id(4)}
    assert allowed(page_of(*TWO_LINES), LineKind.LINE, v.row_id(2)) == {v.column_id(3)}


def test_no_line_is_read_twice() -> None:
    read = [*line(2, 3), *spelled("we"), v.column_id(4), *spelled("read"), LineKind.LINE]
    assert allowed(page_of(*TWO_LINES), *read) == {v.row_id(4)}


def test_a_word_holds_what_stands_there() -> None:
    page = page_of(*TWO_LINES)
    assert allowed(page, *line(2, 3)) == {v.character_id("w")}
    assert allowed(page, *line(4, 3), *spelled("pa")) == {v.character_id("g")}


def test_the_tower_may_be_overruled() -> None:
    order = ReadingOrder(page_of(*TWO_LINES))
    for token in line(2, 3):
        order.add(token)
    assert np.isfinite(order.bias()[spelled("m")]).all()
    order.add(v.character_id("m"))  # what was read as w
    assert order.bias().argmax() == v.character_id("e")


def test_a_word_ends_where_its_ink_ends() -> None:
    page = page_of(*TWO_LINES)
    assert allowed(page, *line(2, 3), *spelled("w")) == {v.character_id("e")}
    assert allowed(page, *line(2, 3), *spelled("we")) == {v.column_id(4)}


def test_doubled_letters_are_two() -> None:
    page = page_of((2, 3, "book"))
    assert v.character_id("o") in allowed(page, *line(2, 3), *spelled("bo"))
    assert v.character_id("k") in allowed(page, *line(2, 3), *spelled("boo"))


def test_the_page_ends_when_all_is_read() -> None:
    last = [*line(4, 3), *spelled("pages")]
    assert v.EOS not in allowed(page_of(*TWO_LINES), *last)
    assert allowed(page_of(TWO_LINES[1]), *last) == {v.EOS}


def test_a_page_without_lines_has_no_text() -> None:
    assert allowed(page_of()) == {v.EOS}


def test_a_line_across_the_edge_of_two_rows_is_read_once() -> None:
    twice = page_of((2, 3, "we read"), (3, 3, "we read"))
    read = [*line(2, 3), *spelled("we"), v.column_id(4), *spelled("read")]
    assert allowed(twice, *read) == {v.EOS}


@pytest.mark.parametrize("kind", [LineKind.HEADING_2, LineKind.ITEM, LineKind.CODE])
def test_a_line_is_of_a_kind_that_was_seen(kind: LineKind) -> None:
    assert allowed(page_of(*TWO_LINES, kind=kind)) == {kind}


@settings(max_examples=50)
@given(st.lists(st.integers(0, v.VOCABULARY_SIZE - 1), max_size=60))
def test_something_is_always_left_to_write(tokens: list[int]) -> None:
    assert allowed(page_of(*TWO_LINES), *tokens)
