"""Marks before the items of lists, and lists within lists."""

from __future__ import annotations

import pytest

from fastocr_cli.reader import vocabulary as v
from fastocr_cli.reader.bullets import are_marked
from fastocr_cli.reader.evidence import Word
from fastocr_cli.reader.unwrap import unwrap
from fastocr_cli.reader.vocabulary import LineKind
from tests.reader.setting import set_words


def marked(row: float, mark: str, text: str, *, gap: int = 8, start: int = 74) -> tuple[Word, ...]:
    first = set_words(row, mark, start=start)
    return first + set_words(row, text, start=first[-1].stop + gap)


def test_circles_read_as_letters_are_marks() -> None:
    lines = [marked(3 + i, mark, "the ticket") for i, mark in enumerate("o0o")]
    assert are_marked(lines) == [True] * 3
    assert are_marked(lines[:1]) == [False]
    assert are_marked([marked(2, "•", "Papers", start=43), lines[0]]) == [False, True]
    assert are_marked([(), lines[0], ()]) == [False] * 3


def test_what_cannot_be_read_is_a_mark_by_itself() -> None:
    assert are_marked([marked(3, v.UNKNOWN_MARK, "I agree")]) == [True]


@pytest.mark.parametrize(("text", "gap"), [("is a letter", 3), ("12 people", 8)])
def test_words_and_numbers_are_no_marks(text: str, gap: int) -> None:
    assert not any(are_marked([marked(3 + i, "o", text, gap=gap) for i in range(3)]))


def item(row: int, column: int, text: str, kind: LineKind = LineKind.ITEM) -> list[int]:
    tokens: list[int] = [kind, v.row_id(row)]
    for i, word in enumerate(text.split()):
        tokens += [v.column_id(column + 4 * i), *map(v.character_id, word)]
    return tokens


def test_items_further_in_belong_to_the_one_above() -> None:
    tokens = [
        *item(3, 6, "Papers"),
        *item(5, 10, "the ticket"),
        *item(7, 14, "with a stamp"),
        *item(9, 10, "and the card"),
        *item(10, 10, "of it", LineKind.LINE),
        *item(11, 7, "Food"),
        *item(13, 3, "A paragraph.", LineKind.PARAGRAPH),
        *item(15, 9, "1. Write"),
        *item(17, 13, "to one, or"),
        *item(19, 9, "2. Call"),
        *item(4, 60, "in the next column"),
    ]
    assert unwrap(v.detokenize(tokens)) == (
        "- Papers\n  - the ticket\n    - with a stamp\n  - and the card of it\n- Food\n\n"
        "A paragraph.\n\n1. Write\n   - to one, or\n2. Call\n- in the next column"
    )
