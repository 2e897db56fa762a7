"""What sort of line each line is, by geometry: headings, new paragraphs, rows of one table."""

from __future__ import annotations

from fastocr_cli.reader.kinds import line_kinds
from fastocr_cli.reader.layout import TextLine
from fastocr_cli.reader.monospaced import is_monospaced
from fastocr_cli.reader.other_sizes import type_size
from fastocr_cli.reader.vocabulary import LineKind
from tests.reader.setting import set_words

FULL = "a line that is as long as any other line of this column"


def line(
    row: float,
    text: str,
    *,
    start: int = 40,
    size: float = 1.0,
    cells: int = 0,
    even: bool = False,
) -> TextLine:
    """Words in type of this size; the tower cannot tell whether they go on or begin. cells: so
    many words begin a cell, from the first. even: in a typewriter's type."""
    words = set_words(row, text, start=start, size=size, even=even)
    return TextLine(words, tuple(range(cells)))


def kinds(*lines: TextLine) -> list[LineKind]:
    return [LineKind(int(one.argmax()) + min(LineKind)) for one in line_kinds(lines)]


def test_type_is_measured() -> None:
    assert abs(type_size(line(3, FULL).words) - 1) < 0.06
    assert abs(type_size(line(3, FULL, size=1.5).words) - 1.5) < 0.08


def test_large_type_makes_a_heading() -> None:
    body = [line(6 + 1.3 * i, FULL) for i in range(4)]
    found = kinds(line(3, "Large", size=1.7), line(4.9, "Smaller", size=1.25), *body)
    assert found[:2] == [LineKind.HEADING_1, LineKind.HEADING_2]
    assert set(found[2:]) <= {LineKind.LINE, LineKind.PARAGRAPH}


def test_a_heading_may_take_two_lines_but_a_page_in_large_type_has_none() -> None:
    body = [line(9 + 1.3 * i, FULL) for i in range(6)]
    long = [line(3 + 2 * i, FULL[: len(FULL) * 2 // 3], size=1.7) for i in range(2)]
    assert kinds(*long, *body)[:2] == [LineKind.HEADING_1, LineKind.LINE]
    poster = [line(3 + 2 * i, FULL, size=1.5) for i in range(5)]
    assert not {LineKind.HEADING_1, LineKind.HEADING_2} & set(kinds(*poster, *body))


def test_a_line_that_had_room_was_the_last_of_its_paragraph() -> None:
    lines = [line(3, FULL), line(4.3, "its end"), line(5.6, FULL), line(6.9, FULL)]
    assert kinds(*lines)[2] is LineKind.PARAGRAPH
    assert line_kinds(lines)[3][0] == line_kinds(lines)[1][0] > line_kinds(lines)[2][0]


def test_what_stands_far_below_begins_something() -> None:
    assert kinds(line(3, FULL), line(7, FULL))[1] is LineKind.PARAGRAPH
    double_spaced = [line(3 + 2.5 * i, FULL) for i in range(5)]
    assert all(chances[0] > 0 for chances in line_kinds(double_spaced)[1:])


def test_an_item_may_have_lost_its_bullet() -> None:
    first, text = line(3, "• with a stamp"), line(3, "• with a stamp").words[1].start
    signed = line(4.3, "signed", start=text)
    assert kinds(first, signed, line(5.6, FULL))[1] is LineKind.ITEM
    assert kinds(first, line(4.3, "signed"), line(5.6, FULL))[1] is LineKind.PARAGRAPH
    full = line(3, "• " + FULL)
    assert kinds(full, line(4.3, "and more", start=text), full)[1] is LineKind.LINE


def test_entries_with_a_date_at_the_right_are_not_joined() -> None:
    def entry(row: float, text: str, date: str) -> TextLine:
        return TextLine(set_words(row, text) + set_words(row, date, start=400))

    entries = [entry(3, "MSc Statistics", "2012 – 2014"), entry(4.3, "BSc Geology", "2008 – 2012")]
    assert kinds(*entries, line(5.6, FULL))[1:] == [LineKind.PARAGRAPH] * 2


def test_no_heading_is_made_of_code_or_a_short_last_line() -> None:
    body = [line(6 + 1.3 * i, FULL) for i in range(4)]
    assert is_monospaced(line(3, "if i in list: fail(i)", even=True).words)
    assert not is_monospaced(line(3, FULL).words)
    for text, even in (("if i in list: fail(i)", True), ("it.", False)):
        assert kinds(line(3, text, even=even), *body)[0] is LineKind.PARAGRAPH


def test_a_cell_may_take_two_lines() -> None:
    rows = [line(row, "one two three", cells=3) for row in (3, 5.5, 6.8, 9.3, 11.8)]
    assert kinds(*rows) == [LineKind.TABLE, *[LineKind.ROW] * 4]


def test_a_wide_gap_parts_two_tables() -> None:
    rows = [line(row, "one two three", cells=3) for row in (3, 5, 7, 11, 13)]
    table, row = LineKind.TABLE, LineKind.ROW
    assert kinds(*rows) == [table, row, row, table, row]
    assert kinds(line(3, FULL), rows[1]) == [LineKind.PARAGRAPH, table]


def test_a_bullet_makes_an_item() -> None:
    found = kinds(line(3, FULL), line(4.3, "• one"), line(5.6, "• two"), line(6.9, "2•3 = 6"))
    assert found[1:3] == [LineKind.ITEM] * 2
    assert found[3] != LineKind.ITEM
