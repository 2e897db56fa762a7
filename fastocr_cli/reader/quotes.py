"""Quotation marks by twos: what opens and what closes are of one kind, so each says what the other
is.

By itself a mark of two or three px may be any of them, or a star.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from fastocr_cli.reader import vocabulary as v
from fastocr_cli.reader.evidence import Glyph, Word
from fastocr_cli.reader.layout import TextLine

_OPENING, _CLOSING = "‘“'\"`*", "’”'\"`*"
_PAIRS = ("‘’", "“”", "''", '""')
_UNLIKE = 0.1
"""How much less often two marks are no such pair: one of them is an apostrophe or the sign of a
note, or they are stars or strokes about a word."""
_LIKELY = 0.5
"""Chance of any of them from which a character is taken for one."""
_BEFORE, _AFTER = "([", ".,;:!?)]"
"""What may stand between a mark and its edge of a word."""
_FURTHEST = 12
"""Words from the one that opens to the one that closes, at most."""

_OPENING_IDS, _CLOSING_IDS = (
    [v.character_id(mark) for mark in marks] for marks in (_OPENING, _CLOSING)
)
_PRIOR = np.array([[1.0 if a + b in _PAIRS else _UNLIKE for b in _CLOSING] for a in _OPENING])

Mark = tuple[int, int]
"""Numbers of a word and of a glyph in it."""


def paired(lines: Sequence[TextLine]) -> list[TextLine]:
    """The lines with the chances of their quotation marks as they are by twos; listings of code
    and tables as they are."""
    words = [word for line in lines if line.is_text for word in line.words]
    glyphs = [list(word.glyphs) for word in words]
    for (i, first), (j, last) in _pairs(words):
        glyphs[i][first], glyphs[j][last] = _by_twos(glyphs[i][first], glyphs[j][last])
    new = iter(replace(word, glyphs=tuple(own)) for word, own in zip(words, glyphs, strict=True))
    return [
        replace(line, words=tuple(next(new) for _ in line.words)) if line.is_text else line
        for line in lines
    ]


def _pairs(words: Iterable[Word]) -> Iterator[tuple[Mark, Mark]]:
    """Marks that open, each with the next that closes."""
    opened: Mark | None = None
    for i, word in enumerate(words):
        first, last = 0, len(word.glyphs) - 1
        while first < last and _character(word.glyphs[first]) in _BEFORE:
            first += 1
        while first < last and _character(word.glyphs[last]) in _AFTER:
            last -= 1
        if first < last and _chance(word.glyphs[first], _OPENING_IDS) > _LIKELY:
            opened = i, first
        if first < last and opened and _chance(word.glyphs[last], _CLOSING_IDS) > _LIKELY:
            if i - opened[0] <= _FURTHEST:
                yield opened, (i, last)
            opened = None


def _by_twos(opening: Glyph, closing: Glyph) -> tuple[Glyph, Glyph]:
    """As the likeliest two."""
    chances = np.outer(opening.chances[_OPENING_IDS], closing.chances[_CLOSING_IDS]) * _PRIOR
    first, last = divmod(int(chances.argmax()), len(_CLOSING))
    return _as(opening, _OPENING_IDS, first), _as(closing, _CLOSING_IDS, last)


def _as(glyph: Glyph, marks: Sequence[int], which: int) -> Glyph:
    """The glyph with all that was given to any of the marks given to one."""
    chances = glyph.chances.copy()
    chances[marks] = 0.0
    chances[marks[which]] = _chance(glyph, marks)
    return replace(glyph, chances=chances)


def _character(glyph: Glyph) -> str:
    return v.character_of(glyph.likeliest) or ""


def _chance(glyph: Glyph, marks: Sequence[int]) -> float:
    return float(glyph.chances[marks].sum())
