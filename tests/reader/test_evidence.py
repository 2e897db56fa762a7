"""What the tower saw, and whether it is writing at all."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fastocr_cli.reader import vocabulary as v
from fastocr_cli.reader.evidence import Evidence, _legible_part
from fastocr_cli.reader.layout import lay_out
from fastocr_cli.reader.order import ReadingOrder
from fastocr_cli.reader.vocabulary import COLUMNS_PER_CELL
from fastocr_cli.results import PageStatus
from tests.reader.test_order import COLUMNS, LETTER_COLUMNS, ROWS, page_of


def doubtful_page(certainty: float, first: int = v.FIRST_CHARACTER) -> Evidence:
    """Every column shows some character, of which the first is as likely as `certainty`."""
    columns = np.full((ROWS, COLUMNS, COLUMNS_PER_CELL, v.FIRST_COLUMN), 1e-9, np.float32)
    spread = 60
    columns[..., first : first + spread] = (1 - certainty) / (spread - 1)
    columns[..., first] = certainty
    starts = np.full((ROWS, COLUMNS, v.FIRST_CHARACTER), 1e-6, np.float32)
    starts[..., 6] = 1.0
    edges = np.zeros((ROWS, COLUMNS, COLUMNS_PER_CELL), np.float32)
    return Evidence(np.log(starts), np.log(columns), edges)


def words_of(seen: Evidence) -> list[str]:
    words = seen.possible_words
    return [word.text for word in words]


def test_chances_count_nothing_at_its_own_frequency() -> None:
    starts = np.full((1, 1, v.FIRST_CHARACTER), 1e-9, np.float32)
    starts[..., 0] = starts[..., 6] = 0.5  # as likely, for training counts nothing a tenth
    columns = np.full((1, 1, COLUMNS_PER_CELL, v.FIRST_COLUMN), 1e-9, np.float32)
    columns[..., v.FIRST_CHARACTER] = 1.0
    (word,) = Evidence(
        np.log(starts), np.log(columns), np.zeros((1, 1, COLUMNS_PER_CELL), np.float32)
    ).words
    assert word.begins_line == pytest.approx(1 / 11, abs=0.01)


def test_one_mark_stands_for_a_run_that_cannot_be_read() -> None:
    starts = np.full((1, 4, v.FIRST_CHARACTER), 1e-9, np.float32)
    starts[..., 0] = 1.0
    starts[0, 0] = np.eye(v.FIRST_CHARACTER)[v.LineKind.PARAGRAPH] + 1e-9
    columns = np.full((1, 4, COLUMNS_PER_CELL, v.FIRST_COLUMN), 1e-9, np.float32)
    columns[0, :2, :4, v.character_id("a")] = columns[0, :2, 4:, v.character_id("b")] = 1.0
    columns[0, 2:, :, v.UNKNOWN] = 1.0
    edges = np.tile(np.float32([0.9, 0.0, 0.0, 0.0]), (1, 4, 2))
    assert words_of(Evidence(np.log(starts), np.log(columns), edges)) == ["abab�"]


@pytest.mark.parametrize(
    ("certainty", "status"), [(0.2, PageStatus.BLANK), (0.7, PageStatus.FAILED)]
)
def test_what_is_not_our_writing_is_not_read(certainty: float, status: PageStatus) -> None:
    seen = doubtful_page(certainty)
    assert not seen.is_legible
    order = ReadingOrder(seen)
    assert np.flatnonzero(np.isfinite(order.bias())).tolist() == [v.EOS]
    assert order.empty_status is status


@pytest.mark.parametrize(("rows", "is_legible"), [(0, True), (2, False), (ROWS, False)])
def test_a_page_with_much_that_cannot_be_read_is_not_legible(rows: int, is_legible: bool) -> None:
    """Unless there are stretches that can."""
    page = doubtful_page(0.99)
    page.shows[:, ::2] = 1 / page.shows.shape[-1]  # sure of every second column, of no stretch
    page.shows[:rows, :, v.UNKNOWN] = 2.0
    starts = np.full((ROWS, COLUMNS, v.FIRST_CHARACTER), 1e-6, np.float32)
    columns = np.log(page.shows.reshape(ROWS, COLUMNS, COLUMNS_PER_CELL, -1))
    seen = Evidence(starts, columns, np.zeros((ROWS, COLUMNS, COLUMNS_PER_CELL), np.float32))
    assert seen.is_legible is is_legible


def test_a_page_is_read_for_the_sake_of_the_faces_that_are_known() -> None:
    inked = np.ones((20, 240), bool)
    inked[:, 200:] = False
    sure = np.zeros_like(inked)
    sure[:, ::2] = True  # half of the columns everywhere: the look of another script
    assert _legible_part(inked, sure) == 0
    sure[:5] = True  # five lines of a known face
    assert _legible_part(inked, sure) == 0.25


def test_clear_print_is_read() -> None:
    assert page_of((2, 3, "we read")).is_legible
    assert doubtful_page(0.99).is_legible


def test_words_are_parted_where_they_were_seen_to_begin() -> None:
    assert words_of(page_of((2, 3, "we read"), (4, 3, "a book"))) == ["we", "read", "a", "book"]


@pytest.mark.parametrize(("seam", "words"), [(3, ["abc", "def"]), (2, ["ab", "cdef"])])
def test_a_word_begins_behind_the_most_paper_of_its_cell(seam: int, words: list[str]) -> None:
    """Two letters stand in the cell where one was seen to begin, with hardly any space."""
    seen = page_of((2, 3, "abcdef"))
    seen._begins_word[2, 4] = 0.9
    beginning = COLUMNS_PER_CELL * 3 + LETTER_COLUMNS * seam
    seen.shows[2, beginning - 1 : beginning + 1, 0] = 0.4
    assert words_of(seen) == words


def test_an_edge_makes_two_of_a_letter_if_there_is_room() -> None:
    seen = page_of((2, 3, "bookend"), (4, 3, "bokend"))
    half = COLUMNS_PER_CELL * 3 + LETTER_COLUMNS * 3 // 2  # of the o
    seen._edges[4, half] = 0.8
    assert words_of(seen) == ["bookend", "bokend"]


def test_a_page_of_doubles_is_no_page_of_wide_letters() -> None:
    """Sums of money: most noughts stand in threes, and yet one tells how wide a nought is."""
    seen = page_of((2, 3, "51,000"), (4, 3, "70,000"), (6, 3, "99,000"), (8, 3, "60"))
    seen._edges *= 0.95
    assert words_of(seen) == ["51,000", "70,000", "99,000", "60"]


def test_the_seam_between_two_characters_is_none() -> None:
    """The second begins on one of its sides, and the tower cannot tell on which."""
    seen = page_of((2, 3, "ab"))
    seam = COLUMNS_PER_CELL * 3 + LETTER_COLUMNS
    seen.shows[2, seam : seam + 2] = 1 / v.FIRST_COLUMN
    seen.ink[2, seam : seam + 2] = v.character_id("z")
    seen._edges[2, [seam, seam + 2]] = 0.5
    assert words_of(seen) == ["ab"]


def test_a_line_across_the_edge_of_two_rows_is_seen_once() -> None:
    seen = page_of((2, 3, "we read"), (3, 3, "we read"))
    assert words_of(seen) == ["we", "read"]
    assert [word.height for word in seen.words] == pytest.approx([2.5, 2.5], abs=0.01)


def test_lines_close_below_each_other_are_two() -> None:
    assert words_of(page_of((2, 3, "boxes"), (3, 3, "umes"))) == ["boxes", "umes"]


def test_the_little_that_the_row_above_shows_of_a_line_is_not_read_again() -> None:
    """Nor if other text stands in that row, across a gutter."""
    seen = page_of((2, 5, "ut"), (2, 14, "beside it all"), (3, 2, "go about"), (3, 14, "what ends"))
    assert words_of(seen) == ["beside", "it", "all", "go", "about", "what", "ends"]


def test_a_piece_of_a_word_in_the_row_beside_is_not_read_again() -> None:
    """Where another word stands in that row as well, which the row above does not show."""
    seen = page_of((2, 3, "ab"), (3, 3, "abcd"), (3, 9, "and more of it"))
    assert words_of(seen) == ["abcd", "and", "more", "of", "it"]


def test_a_word_may_stand_below_its_like() -> None:
    seen = page_of((2, 3, "the margin and then"), (3, 3, "it was, in one week"))
    assert words_of(seen) == ["the", "margin", "and", "then", "it", "was,", "in", "one", "week"]


def test_two_lines_may_begin_with_the_same_word() -> None:
    seen = page_of((2, 3, "Invoice number: A"), (3, 3, "Invoice date: 1 June"))
    assert words_of(seen) == ["Invoice", "number:", "A", "Invoice", "date:", "1", "June"]


def blurred_page(seed: int) -> Evidence:
    """Rows of characters that nobody wrote, some faint, some of each seen in the row below too."""
    generator = np.random.default_rng(seed)
    rows, columns = generator.integers(1, 7), generator.integers(1, 12)
    marks = np.array([0, 0, v.UNKNOWN, *map(v.character_id, "ail.Wé")])
    written = marks[generator.integers(0, len(marks), (rows, columns))].repeat(COLUMNS_PER_CELL, 1)
    seen = np.full((*written.shape, v.FIRST_COLUMN), 1e-5, np.float32)
    np.put_along_axis(seen, written[..., None], generator.uniform(0.3, 1, (rows, 1, 1)), axis=-1)
    seen += generator.random((rows, 1, 1)) * np.roll(seen, 1, axis=0)
    seen[..., 0] += np.maximum(0, 1 - seen.sum(-1))
    shows = np.log(seen / seen.sum(-1, keepdims=True)).astype(np.float32)
    starts = generator.dirichlet(np.full(v.FIRST_CHARACTER, 0.2), (rows, columns)) + 1e-6
    edges = generator.random((rows, columns, COLUMNS_PER_CELL), np.float32)
    return Evidence(
        np.log(starts).astype(np.float32), shows.reshape(*edges.shape, v.FIRST_COLUMN), edges
    )


@given(seed=st.integers(0, 2**32 - 1))
@example(seed=13)  # a row faintly shows a word, and nothing for certain behind it
@settings(max_examples=200, deadline=None)
def test_whatever_the_tower_thinks_it_sees_is_put_in_order(seed: int) -> None:
    seen = blurred_page(seed)
    words = seen.possible_words
    for word in words:
        edges = [edge for glyph in word.glyphs for edge in (glyph.start, glyph.stop)]
        assert edges == sorted(edges)
        assert 0 <= word.start < word.stop <= seen.ink.shape[1]
    laid = [word for line in lay_out(words) for word in line.words]
    assert sorted(map(id, laid)) == sorted(map(id, words)), "every word once"


def typewritten_page(lines: list[str], pitch: int = 8) -> Evidence:
    """Characters at one pitch, narrow ones with paper about them; of every k the stem was seen as
    an l. The tower is in doubt whether words begin."""
    cells = max(map(len, lines)) + 2
    shape = 2 * len(lines), cells, COLUMNS_PER_CELL
    columns = np.full((*shape, v.FIRST_COLUMN), 1e-9, np.float32)
    columns[..., 0] = 1.0
    edges = np.full(shape, 0.01, np.float32)
    flat, flat_edges = columns.reshape(shape[0], -1, v.FIRST_COLUMN), edges.reshape(shape[0], -1)
    for i, line in enumerate(lines):
        for j, character in enumerate(line):
            if character == " ":
                continue
            middle, width = pitch * j + 8, 2 if character in "il" else 6
            shown = slice(middle - width // 2, middle + width // 2)
            flat[2 * i, shown] = 1e-9
            flat[2 * i, shown, v.character_id(character)] = 1.0
            flat_edges[2 * i, shown.start] = 0.9
            if character == "k":
                stem = slice(shown.start, shown.start + 2)
                flat[2 * i, stem] = 1e-9
                flat[2 * i, stem, v.character_id("l")] = 1.0
                flat_edges[2 * i, stem.stop] = 0.9
    starts = np.full((*shape[:2], v.FIRST_CHARACTER), 0.01, np.float32)
    starts[..., 0] = 0.9
    starts[..., v.WORD_START] = 0.05
    return Evidence(np.log(starts), np.log(columns), edges)


def test_typewriting_is_parted_by_its_pitch() -> None:
    lines = [
        "a little ink will still fill it",
        "pick a lily till it is in",
        "all oil is in the milk",
    ]
    assert words_of(typewritten_page(lines)) == " ".join(lines).split()
