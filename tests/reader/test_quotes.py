"""Quotation marks, each said by the other of its pair."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from fastocr_cli.reader import vocabulary as v
from fastocr_cli.reader.evidence import Glyph
from fastocr_cli.reader.layout import TextLine
from fastocr_cli.reader.quotes import paired
from tests.reader.test_layout import words

SURE = 0.95


def line(text: str, *seen: str) -> TextLine:
    """A line of text whose "?" are seen as given, most likely first: "*‘" is a star, or perhaps an
    opening mark; a mark alone is sure."""
    given: Iterator[str] = iter(seen)
    found = words(4, 10, text)
    for glyph in (glyph for word in found for glyph in word.glyphs):
        if glyph.likeliest == v.character_id("?"):
            _show(glyph, next(given))
    return TextLine(tuple(found))


def _show(glyph: Glyph, marks: str) -> None:
    glyph.chances[:] = 0
    chances = [0.5, 0.35, 0.15] if len(marks) > 1 else [SURE]
    for mark, chance in zip(marks, chances, strict=False):
        glyph.chances[v.character_id(mark)] = chance


def text(lines: list[TextLine]) -> list[str]:
    return [" ".join(word.text for word in one.words) for one in lines]


@pytest.mark.parametrize(
    ("written", "seen", "read"),
    [
        ("run ?make? now", ("*‘", "’”"), "run ‘make’ now"),
        ("run (?make?, now)", ("‘“", "”"), "run (“make”, now)"),
        ("a ?word of? it", ("“‘", "’"), "a ‘word of’ it"),
        ("a ?word? of it", ('"', "'\""), 'a "word" of it'),
        ("a ?word? of it", ("“", "’"), "a “word’ of it"),
        ("a ?note on dogs? tails", ("*", "’"), "a *note on dogs’ tails"),
        ("a ?word? of it", ("*", "*"), "a *word* of it"),
        ("nothing opens here? at all", ("’”",), "nothing opens here’ at all"),
    ],
)
def test_of_marks_that_are_alike_the_likelier_pair(
    written: str, seen: tuple[str, ...], read: str
) -> None:
    assert text(paired([line(written, *seen)])) == [read]


def test_a_pair_may_stand_in_two_lines_but_not_far_apart() -> None:
    begun, ended = line("a ?word", "*‘"), line("and more? of it", "’”")
    assert text(paired([begun, ended])) == ["a ‘word", "and more’ of it"]
    between = line("one two three four five six seven eight nine ten eleven")
    assert text(paired([begun, between, ended]))[0] == "a *word"


def test_code_is_left_as_it_is() -> None:
    code = TextLine(line("print(?a?)", "*‘", "’”").words, listing=0)
    assert paired([code]) == [code]


def test_a_mark_keeps_all_that_speaks_for_it() -> None:
    """Whatever else its glyph may be is as likely as before."""
    given = line("?make?", "*‘“", "’”")
    (read,) = paired([given])
    for before, after in zip(given.words[0].glyphs, read.words[0].glyphs, strict=True):
        assert after.chances.sum() == pytest.approx(before.chances.sum())
        assert np.flatnonzero(after.chances).size == 1
