"""The reader writes only what the page bears out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fastocr_cli.reader import vocabulary as v
from fastocr_cli.reader.evidence import Evidence
from fastocr_cli.reader.order import ReadingOrder
from fastocr_cli.reader.vocabulary import COLUMNS_PER_CELL, LineKind
from tests.reader.conftest import evidence_of

ROWS, COLUMNS = 12, 24
LETTER_COLUMNS = COLUMNS_PER_CELL // 2  # a letter is half a cell wide, in every line here


def page_of(
    *lines: tuple[int, int, str], kind: LineKind = LineKind.LINE, inked: np.ndarray | None = None
) -> Evidence:
    """A page of ROWS x COLUMNS cells that clearly shows lines of text at (row, column). inked: see
    `partings.inked_columns`."""
    starts = np.zeros((ROWS, COLUMNS), np.int64)
    columns = np.zeros((ROWS, COLUMNS * COLUMNS_PER_CELL), np.int64)
    edges = np.zeros_like(columns)
    for row, column, text in lines:
        at = column * COLUMNS_PER_CELL
        for i, character in enumerate(text):
            if character != " ":
                columns[row, at : at + LETTER_COLUMNS] = v.character_id(character)
                edges[row, at] = 1
                if i == 0 or text[i - 1] == " ":
                    starts[row, at // COLUMNS_PER_CELL] = kind if i == 0 else v.WORD_START
            at += LETTER_COLUMNS
    return evidence_of(starts, columns, edges, inked)


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
    page = page_of(*TWO_LINES)
    assert allowed(page, LineKind.LINE) == {v.row_id(2)}
    assert allowed(page, LineKind.LINE, v.row_id(2)) == {v.column_id(3)}
    read = [*line(2, 3), *spelled("we"), v.column_id(4), *spelled("read")]
    assert allowed(page, *read, LineKind.LINE) == {v.row_id(4)}


def test_a_word_holds_what_stands_there() -> None:
    page = page_of(*TWO_LINES)
    assert allowed(page, *line(2, 3)) == {v.character_id("w")}
    assert allowed(page, *line(2, 3), *spelled("we")) == {v.column_id(4)}


def test_the_tower_may_be_overruled() -> None:
    order = ReadingOrder(page_of(*TWO_LINES))
    for token in line(2, 3):
        order.add(token)
    assert np.isfinite(order.bias()[spelled("m")]).all()
    order.add(v.character_id("m"))  # what was read as w
    assert order.bias().argmax() == v.character_id("e")


def test_the_page_ends_when_all_is_read() -> None:
    page, last = page_of(TWO_LINES[1]), [*line(4, 3), *spelled("pages")]
    assert v.EOS not in allowed(page, *last[:-1])
    assert allowed(page, *last) == {v.EOS}


def test_a_page_without_lines_has_no_text() -> None:
    assert allowed(page_of()) == {v.EOS}


@pytest.mark.parametrize("kind", [LineKind.HEADING_2, LineKind.ITEM, LineKind.CODE])
def test_a_line_is_of_a_kind_that_was_seen(kind: LineKind) -> None:
    assert allowed(page_of(*TWO_LINES, kind=kind)) == {kind}


def test_a_drawn_bullet_is_not_written() -> None:
    page = page_of((2, 3, "• item"), kind=LineKind.ITEM)
    assert allowed(page, LineKind.ITEM, v.row_id(2)) == {v.column_id(4)}


def test_the_cells_of_a_table_are_told_apart() -> None:
    rows = [(2, 3, "tea       12"), (4, 3, "cocoa     14")]
    page = page_of(*rows, kind=LineKind.ROW)
    assert allowed(page) == {LineKind.TABLE}
    read = [*line(2, 3, LineKind.TABLE), *spelled("tea")]
    assert allowed(page, *read) == {v.CELL}
    read += [v.CELL, v.column_id(8), *spelled("12")]
    assert allowed(page, *read) == {LineKind.ROW}


@settings(max_examples=50)
@given(st.lists(st.integers(0, v.VOCABULARY_SIZE - 1), max_size=60))
def test_something_is_always_left_to_write(tokens: list[int]) -> None:
    order = ReadingOrder(page_of(*TWO_LINES))
    for token in tokens:
        order.add(token)
    assert np.isfinite(order.bias()).any()


def test_a_draft_foretells_the_page_and_changes_nothing() -> None:
    order = ReadingOrder(page_of(*TWO_LINES, kind=LineKind.PARAGRAPH))
    whole = order.draft(100)
    assert order.draft(100) == whole
    assert order.draft(4) == whole[:4]
    assert v.detokenize(whole).split() == ["we", "read", "pages"]
    for token in whole:
        bias = order.bias()
        assert bias[token] == bias.max()
        order.add(token)
    assert order.draft(100) == []  # the page's end is left to the decoder
    assert order.bias()[v.EOS] == 0


def test_a_draft_ends_where_the_tower_is_in_doubt() -> None:
    page = page_of(*TWO_LINES, kind=LineKind.PARAGRAPH)
    for other in "co":
        like_an_e = page.shows[2, 40:44, v.character_id("e")]
        page.shows[2, 40:44, v.character_id(other)] = 0.9 * like_an_e
    draft = ReadingOrder(page).draft(100)
    assert v.detokenize(draft).split() == ["we", "r"]


def test_without_aid_the_decoder_chooses_the_characters() -> None:
    order = ReadingOrder(page_of(*TWO_LINES), aided=False)
    for token in (LineKind.PARAGRAPH, v.row_id(2), v.column_id(3)):
        assert order.bias()[token] == 0
        order.add(token)
    characters = order.bias()[v.FIRST_CHARACTER : v.FIRST_COLUMN]
    assert (characters == 0).all()
    assert np.isinf(order.bias()[v.FIRST_COLUMN :]).all()
