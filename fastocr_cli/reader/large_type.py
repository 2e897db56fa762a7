"""Large type, read on the page at half its size.

The tower knows type of about the size of body text, and up to three times that. A headline across
a page is larger; halved, it is what the tower knows. Rows and columns here are those of the whole
page unless they are said to be far ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean

from fastocr_cli.reader.evidence import COLUMNS_PER_CELL, Evidence, Word
from fastocr_cli.reader.eye import width_of

_SCALE = 2
_LEAST_SIZE = 0.8
"""Type over the usual, on the halved page, from which it is read there."""
_SURE = 0.8
"""Chance of its characters, on the mean, from which a far word is believed."""
_HALF_LINE = 0.75
"""Rows of body text from the middle of a line to its edge."""


def words_of(near: Evidence, far: Evidence) -> list[Word]:
    """The words of a page, those in large type as they were seen from afar.

    near: the page itself; far: the page at half its size.
    """
    words = near.words
    if not (near.is_legible or far.is_legible):
        return words
    for word in far.possible_words:
        if type_size([word]) < _LEAST_SIZE or word.certainty < _SURE or not word.is_known:
            continue
        large = _enlarged(word)
        hidden = [other for other in words if _is_part(other, large)]
        if hidden and fmean(other.certainty for other in hidden) >= word.certainty:
            continue
        if hidden:  # from afar a headline looks like body text
            large = replace(large, kinds=max(hidden, key=lambda other: other.begins_line).kinds)
        words = [other for other in words if other not in hidden] + [large]
    return words


def type_size(words: Sequence[Word]) -> float:
    """How wide the characters of a line are beside the usual ones of body text, a column less: a
    line of few letters is not to be thought large because its ends were rounded outwards. Words
    that cannot be read say nothing of their size."""
    known = [word for word in words if word.is_known]
    if not known:
        return 1.0
    usual = sum(width_of(glyph.likeliest) for word in known for glyph in word.glyphs)
    width = sum(word.stop - word.start for word in known)
    return max(0, width - 2) / (COLUMNS_PER_CELL * usual)


def _enlarged(word: Word) -> Word:
    """From far rows and columns to those of the page."""
    height = _SCALE * word.height + (_SCALE - 1) / 2
    glyphs = tuple(
        replace(g, row=round(height), start=_SCALE * g.start, stop=_SCALE * g.stop)
        for g in word.glyphs
    )
    return replace(word, glyphs=glyphs, height=height, scale=_SCALE)


def _is_part(word: Word, large: Word) -> bool:
    """Whether a word stands mostly where a larger one does."""
    shared = min(word.stop, large.stop) - max(word.start, large.start)
    half_line = _HALF_LINE * max(1.0, type_size([large]))
    return 2 * shared > word.stop - word.start and abs(word.height - large.height) < half_line
