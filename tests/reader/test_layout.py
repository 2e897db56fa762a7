"""Words in lines, lines in reading order."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from fastocr_cli.reader import vocabulary as v
from fastocr_cli.reader.evidence import Glyph, Word
from fastocr_cli.reader.layout import EM, lay_out
from fastocr_cli.reader.vocabulary import LineKind

LETTER = 6  # columns, as wide as most in body text
HALF = LETTER // 2


def words(
    row: float, column: int, text: str, kind: LineKind | None = LineKind.LINE, gap: int = 1
) -> list[Word]:
    """The words of one line, from a column and with gaps counted in halves of a letter; a kind of
    None: no line begins here."""
    out, at = [], HALF * column
    for i, word in enumerate(text.split()):
        glyphs = []
        for character in word:
            chances = np.zeros(v.FIRST_COLUMN, np.float32)
            chances[v.character_id(character)] = 1.0
            glyphs.append(Glyph(int(row), at, at + LETTER, chances))
            at += LETTER
        kinds = np.zeros(len(LineKind), np.float32)
        if i == 0 and kind is not None:
            kinds[kind - min(LineKind)] = 1.0
        out.append(Word(tuple(glyphs), kinds, row))
        at += HALF * gap
    return out


def read(*lines: list[Word]) -> list[str]:
    return [
        " ".join(word.text for word in line.words)
        for line in lay_out([word for line in lines for word in line])
    ]


def test_a_column_is_read_to_its_end() -> None:
    left = [words(row, 10, f"left {row}") for row in (4, 6, 8, 10)]
    right = [words(row, 60, f"right {row}") for row in (3, 5, 7, 9)]
    assert read(*right, *left) == [
        *(f"left {row}" for row in (4, 6, 8, 10)),
        *(f"right {row}" for row in (3, 5, 7, 9)),
    ]


def test_what_stands_across_parts_columns() -> None:
    page = [
        words(2, 10, "a title that stands across both columns"),
        *(words(row, 10, "upper left") for row in (4, 6)),
        *(words(row, 60, "upper right") for row in (4, 6)),
        words(9, 10, "another title across both of the columns"),
        *(words(row, 10, "lower left") for row in (11, 13)),
        *(words(row, 60, "lower right") for row in (11, 13)),
        words(20, 50, "7"),
    ]
    order = ["a title", "upper left", "upper right", "another", "lower left", "lower right", "7"]
    found = [next(i for i, line in enumerate(read(*page)) if line.startswith(o)) for o in order]
    assert found == sorted(found)
    assert read(*page)[-1] == "7"


def test_a_caption_between_two_columns_ends_neither() -> None:
    """It stands under a picture that both run around, mostly in the gutter."""
    page = [
        *(words(row, 10, "the left column is wide here") for row in (3, 5)),
        *(words(row, 10, "narrow left") for row in (7, 9, 11, 13)),
        *(words(row, 50, "a caption of the picture") for row in (11, 13)),
        *(words(row, 10, "and it is wide again below") for row in (15, 17)),
        *(words(row, 80, "the right column is wide here") for row in (3, 5)),
        *(words(row, 116, "narrow right") for row in (7, 9, 11, 13)),
        *(words(row, 80, "it goes on as wide as before") for row in (15, 17)),
    ]
    assert [line for line in read(*page) if "caption" not in line] == [
        *["the left column is wide here"] * 2,
        *["narrow left"] * 4,
        *["and it is wide again below"] * 2,
        *["the right column is wide here"] * 2,
        *["narrow right"] * 4,
        *["it goes on as wide as before"] * 2,
    ]


def test_a_column_goes_on_behind_what_interrupts_it() -> None:
    """A piece of the caption lies within the left column and must be read before its end; the
    right column has begun higher up, but is not for that read next."""
    page = [
        *(words(row, 10, "the left column is wide here") for row in (4, 6)),
        *(words(row, 10, "narrow left") for row in (8, 10, 12)),
        *(words(row, 50, "a caption of the picture") for row in (10, 11.5, 13)),
        words(11.9, 48, "caption"),
        *(words(row, 10, "and it is wide again below") for row in (14, 16)),
        *(words(row, 80, "the right column is wide here") for row in (3, 5)),
        *(words(row, 116, "narrow right") for row in (8, 10, 12)),
    ]
    assert [line for line in read(*page) if "caption" not in line] == [
        *["the left column is wide here"] * 2,
        *["narrow left"] * 3,
        *["and it is wide again below"] * 2,
        *["the right column is wide here"] * 2,
        *["narrow right"] * 3,
    ]


def test_what_stands_beside_a_column_does_not_end_it() -> None:
    """A caption that the text runs around is read before the text below both."""
    page = [
        *(words(row, 10, "narrow text") for row in (4, 6, 8, 10)),
        *(words(row, 40, "caption") for row in (8, 10)),
        *(words(row, 10, "text across the full column") for row in (13, 15)),
        *(words(row, 90, "next column") for row in (3, 5, 9, 11, 13, 15)),
    ]
    assert read(*page) == [
        *["narrow text"] * 4,
        *["caption"] * 2,
        *["text across the full column"] * 2,
        *["next column"] * 6,
    ]


def test_ends_that_pass_each_other_are_not_above_each_other() -> None:
    left = [words(4, 10, "a short line"), words(9, 10, "a line of full width")]
    right = [words(row, left[1][-1].stop // HALF - 2, "the right column") for row in (3, 5)]
    assert read(*left, *right)[:2] == ["a short line", "a line of full width"]


def test_a_running_head_is_read_first() -> None:
    page = [
        words(2, 80, "7"),
        *(words(row, 10, "left") for row in (4, 6, 8)),
        *(words(row, 60, "right column") for row in (4, 6, 8)),
    ]
    assert read(*page) == ["7", *["left"] * 3, *["right column"] * 3]


def test_a_stretched_line_is_one() -> None:
    gap = int(3 * EM / HALF)
    page = [words(2, 10, "a line of text set"), words(4, 10, "wide it is", gap=gap)]
    assert read(*page) == ["a line of text set", "wide it is"]


def test_a_line_of_justified_text_ends_where_the_lines_about_it_end() -> None:
    """Though nobody saw that what stands beyond begins a line; a leader ends nothing."""
    column = [words(row, 10, "text of one column") for row in (4, 6, 8)]
    beyond = words(6, 10 + 60, "a caption", None)
    assert read(*column, beyond).count("text of one column") == 3
    contents = [words(row, 10, "a chapter . . . .") for row in (4, 6, 8)]
    pages = [words(row, 10 + 60, "17", None) for row in (4, 6, 8)]
    assert read(*contents, *pages) == ["a chapter . . . . 17"] * 3


def test_what_is_set_to_the_right_margin_ends_its_line() -> None:
    """Whatever begins there by its looks; a column of its own, or what ends elsewhere, does not."""
    entries = [words(row, 10, f"Clerk of the harbour {row}") for row in (4, 10, 16)]
    text = [words(row, 10, "what was done there in those years it took") for row in (6, 12, 18)]
    stop = HALF * 100
    dates = [
        words(row, (stop - LETTER * len(d)) // HALF, d)
        for row, d in ((4, "2012"), (10, "May-July"))
    ]
    assert read(*entries, *text, *dates) == [
        "Clerk of the harbour 4 2012",
        "what was done there in those years it took",
        "Clerk of the harbour 10 May-July",
        "what was done there in those years it took",
        "Clerk of the harbour 16",
        "what was done there in those years it took",
    ]
    column = [words(row, 92, "2012") for row in (4, 6, 10, 12)]
    assert read(*entries, *text, *column)[-4:] == ["2012"] * 4
    assert "2012" in read(*entries, *text, dates[1], words(4, 85, "2012"))


def test_specks_in_a_picture_do_not_go_on_with_the_line_beside() -> None:
    page = [words(4, 10, "the end of a paragraph"), words(4, 100, "speck", None)]
    assert read(*page) == ["the end of a paragraph speck"]
    unknown = np.zeros(v.FIRST_COLUMN, np.float32)
    unknown[v.UNKNOWN] = 1.0
    glyphs = tuple(replace(glyph, chances=unknown) for glyph in page[1][0].glyphs)
    assert len(read(page[0], [replace(page[1][0], glyphs=glyphs)])) == 2


def test_a_line_that_rises_is_one() -> None:
    pieces = [words(8 - step / 8, 10 + 11 * step, "word") for step in range(6)]
    for i, piece in enumerate(pieces[1:], 1):
        pieces[i] = [Word(piece[0].glyphs, np.zeros_like(piece[0].kinds), piece[0].height)]
    assert read(*pieces) == ["word word word word word word"]


def test_a_word_seen_in_the_row_beside_is_of_the_line() -> None:
    page = [words(5, 10, "From"), words(6, 19, "six", None), words(5, 26, "towns", None)]
    assert read(*page) == ["From six towns"]


def test_rows_of_a_table() -> None:
    wide = int(4 * EM / HALF)
    page = [
        words(2, 10, "tea 12 30", LineKind.TABLE, wide),
        words(4, 10, "cocoa 14 28", LineKind.ROW, wide),
        words(8, 10, "a line of text below"),
    ]
    lines = lay_out([word for line in page for word in line])
    assert [line.cells for line in lines] == [(0, 1, 2), (0, 1, 2), ()]


def test_a_far_column_belongs_to_the_table() -> None:
    page = []
    for row, kind in ((2, LineKind.TABLE), (4, LineKind.ROW), (6, LineKind.ROW)):
        page += [words(row, 10, "item", kind), words(row, 150, "30", kind)]
    assert read(*page) == ["item 30"] * 3


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.floats(0, 40), st.integers(0, 200), st.booleans()), max_size=25, unique=True
    )
)
def test_every_word_is_read_once(places: list[tuple[float, int, bool]]) -> None:
    page = [words(r, c, "word", LineKind.ROW if is_row else None) for r, c, is_row in places]
    lines = lay_out([word for line in page for word in line])
    assert sorted(id(w) for line in lines for w in line.words) == sorted(id(p[0]) for p in page)


def test_what_hangs_before_an_item_is_read_with_it() -> None:
    page = [
        *(words(row, 20, label) for row, label in ((4, "•"), (8, "•"), (12, "2."))),
        *(words(4 + i, 33, f"line {i} of three items") for i in range(0, 12, 2)),
    ]
    assert read(*page) == [
        *("• line 0 of three items", "line 2 of three items"),
        *("• line 4 of three items", "line 6 of three items"),
        *("2. line 8 of three items", "line 10 of three items"),
    ]


def test_a_numbered_line_is_read_behind_its_number() -> None:
    """However far the line is set in; a number misread, or none of a count, changes nothing."""
    numbers = ["97", "98", "9g", "100", "101"]
    starts = [30, 60, 40, 60, 30]
    page = [words(4 + 2 * i, 20 - 2 * (i > 2), n) for i, n in enumerate(numbers)]
    page += [words(4 + 2 * i, start, f"code {i}") for i, start in enumerate(starts)]
    read_lines = read(*page)
    for line in ("97 code 0", "98 code 1", "100 code 3", "101 code 4"):
        assert line in read_lines
    assert read(words(4, 20, "97"), words(6, 20, "98"), words(6, 60, "code")) == [
        "97",
        "98",
        "code",
    ]


def test_what_begins_no_line_is_no_label() -> None:
    """The end of a caption beside a column."""
    page = [words(4, 10, "the end of it"), words(4, 43, "w.", None)]
    page += [words(row, 60, "a line of the column") for row in (3, 4, 5)]
    assert "a line of the column" in read(*page)[1:]
    assert read(*page)[-3:] == ["a line of the column"] * 3
