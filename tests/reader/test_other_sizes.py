"""Headlines too large for the tower, read on the page at half its size."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from fastocr_cli.reader import vocabulary as v
from fastocr_cli.reader.evidence import Evidence, Word
from fastocr_cli.reader.layout import lay_out
from fastocr_cli.reader.modeling import halved
from fastocr_cli.reader.other_sizes import Sheet, type_size, words_of
from fastocr_cli.reader.vocabulary import LineKind
from tests.reader.test_layout import words


class Seen(Evidence):
    """Evidence whose words are given."""

    def __init__(self, *lines: list[Word], is_legible: bool = True) -> None:
        self.is_legible = is_legible
        self.ink = np.zeros((20, 1), np.intp)
        self.possible_words = [word for line in lines for word in line]


def text(found: list[Word]) -> list[str]:
    lines = lay_out(found)
    return [" ".join(word.text for word in line.words) for line in lines]


def doubtful(line: list[Word]) -> list[Word]:
    """The same words, hardly recognised."""
    for word in line:
        for glyph in word.glyphs:
            glyph.chances[:] *= 0.5
            glyph.chances[v.character_id("e")] += 0.5
    return line


BODY = words(12, 10, "body text below")


def test_a_headline_is_read_from_afar() -> None:
    near = Seen(doubtful(words(4, 12, "xyzzy")), doubtful(words(5, 32, "qu")), BODY)
    far = Seen(words(2, 5, "headaches capacious"), doubtful(words(6, 5, "bddy")), is_legible=False)
    found = words_of(near, [Sheet.halved(far)])
    assert text(found) == ["headaches capacious", "body text below"]
    large = found[-1]
    assert (large.scale, large.height) == (2, 4.5)
    assert type_size([large]) == pytest.approx(
        2 * type_size([words(2, 5, "capacious")[0]]), rel=0.1
    )


def test_words_of_a_headline_are_of_one_size() -> None:
    """A word whose letters are narrow in its face is no smaller than those beside it."""
    near = Seen(doubtful(words(4, 12, "xyzzy")), doubtful(words(4, 32, "qu")), BODY)
    far = Seen(words(2, 5, "headaches mum"))
    assert type_size(words(2, 5, "mum")) < 0.8 < type_size(words(2, 5, "headaches"))
    assert text(words_of(near, [Sheet.halved(far)])) == ["headaches mum", "body text below"]


def test_a_word_that_swallowed_some_of_the_next_is_replaced_by_both() -> None:
    near = Seen(doubtful(words(4, 12, "xyzzyq")), doubtful(words(4, 26, "qqqqq")), BODY)
    far = Seen(words(2, 6, "se"), words(2, 11, "lace"), is_legible=False)
    assert text(words_of(near, [Sheet.halved(far)])) == ["se lace", "body text below"]


def test_letters_that_the_page_shows_twice_are_read_from_afar() -> None:
    """Large ones lie in two rows of cells, and either may be sure of them."""
    near = Seen(words(4, 12, "rreefeerreennccee"), BODY)
    far = Seen(words(2, 6, "reference"))
    for word in far.possible_words:
        for glyph in word.glyphs:
            glyph.chances[:] *= 0.9
    assert text(words_of(near, [Sheet.halved(far)])) == ["reference", "body text below"]


def test_what_was_read_well_stays() -> None:
    near = Seen(words(4, 12, "plain"), BODY)
    far = Seen(doubtful(words(2, 6, "pl")))
    assert words_of(near, [Sheet.halved(far)]) == near.words


def test_small_type_is_not_read_from_afar() -> None:
    """Body text seen at half its size is half as wide."""
    near = Seen(BODY)
    far = Seen(words(6, 5, "iiii"))
    for word in far.possible_words:
        object.__setattr__(word, "glyphs", word.glyphs[:1])
        word.glyphs[0].chances[:] = 0
        word.glyphs[0].chances[v.character_id("W")] = 1
    assert words_of(near, [Sheet.halved(far)]) == near.words


def enlarged(*lines: list[Word], scale: float) -> Sheet:
    """A sheet on which everything is `scale` times larger, from the page's upper left."""
    rows = np.arange(40)
    return Sheet(Seen(*lines), (rows + 0.5) / scale - 0.5, np.full(40, 1 / scale))


def test_a_note_is_read_enlarged() -> None:
    """As the words it shows, though on the page they ran together; it begins what it began
    there."""
    run_together = doubtful(words(20, 10, "inthe", LineKind.PARAGRAPH))
    near = Seen(BODY, doubtful(words(20, 21, "note", None)), run_together)
    sheet = enlarged(words(24, 12, "in the"), words(24, 25, "note", None), scale=1.2)
    found = words_of(near, [sheet])
    assert text(found) == ["body text below", "in the note"]
    assert [word.begins_line for word in found if word.row == 20] == [1.0, 0.0, 0.0]
    assert all(word.height == pytest.approx(19.92, abs=0.01) for word in found if word.row == 20)


def test_a_letter_does_not_stand_for_a_word() -> None:
    """Nor is anything small where the page shows nothing at all."""
    near = Seen(doubtful(words(20, 10, "century")))
    sheet = enlarged(words(30, 15, "y"), words(6, 90, "smudge"), scale=1.5)
    assert words_of(near, [sheet]) == near.words


def test_body_text_is_not_read_from_a_sheet_of_small_type() -> None:
    near = Seen(doubtful(words(20, 10, "title")))
    assert words_of(near, [enlarged(words(22, 11, "title"), scale=1.1)]) == near.words


def test_words_that_cannot_be_read_say_nothing_of_their_size() -> None:
    known, strange = words(4, 10, "body strangely")
    for glyph in strange.glyphs:
        glyph.chances[v.UNKNOWN] = 2
    assert type_size([known, strange]) == type_size([known])
    assert type_size([strange]) == 1


def test_a_page_of_foreign_writing_gives_no_words() -> None:
    near, far = Seen(BODY, is_legible=False), Seen(words(2, 5, "Title"), is_legible=False)
    assert words_of(near, [Sheet.halved(far)]) == []


@pytest.mark.parametrize(("height", "width"), [(64, 96), (48, 16)])
def test_halved(height: int, width: int) -> None:
    pixels = torch.from_numpy(np.random.default_rng(1).random((1, 1, height, width), np.float32))
    small = halved(pixels)
    assert all(side % v.CELL_PX == 0 for side in small.shape[2:])
    assert small[0, 0, 3, 5] == pytest.approx(float(pixels[0, 0, 6:8, 10:12].mean()))
