"""Words in type of other sizes than the usual, read on sheets of other sizes.

Rows and columns are those of the page unless they are said to be of the sheet.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Self

import numpy as np
import numpy.typing as npt

from fastocr_cli.reader.evidence import EM, Evidence, Floats, Word
from fastocr_cli.reader.eye import width_of
from fastocr_cli.reader.vocabulary import COLUMNS_PER_CELL

_LARGE, _SMALL = 1.6, 0.95
"""Type over the usual that is better read halved, at least, and enlarged, at most."""
_WORD_GAP = EM
"""Columns between two words of one line, mostly less."""
_SURE = 0.8
"""Chance of its characters, on the mean, from which a word of a sheet is believed."""
_WHOLE = 0.75
"""Share of the width of words on the page that those of a sheet must have to stand for them."""
_DOUBLED, _SOME_LETTERS = 1.5, 4
"""How many times the letters that a sheet shows the page has where it sees letters twice, and of
how many at least: of fewer either may be right."""
_HALF_LINE, _LEAST_HALF = 0.75, 0.6
"""Rows of body text from the middle of a line to its edge; what the page shows between two lines of
small type belongs to both."""


Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Sheet:
    """The page, or strips of it, drawn larger or smaller.

    heights, scales: of each of its rows where its middle is on the page, in rows, and how many
    times larger things are there; [rows].
    """

    evidence: Evidence
    heights: Floats
    scales: Floats

    @classmethod
    def halved(cls, evidence: Evidence) -> Self:
        rows = np.arange(len(evidence.ink), dtype=np.float32)
        return cls(evidence, 2 * rows + 0.5, np.full_like(rows, 2.0))

    def words(self) -> Iterator[Word]:
        """What was read for sure, in type that is too large or too small on the page."""
        sure = [w for w in self.evidence.possible_words if w.certainty >= _SURE and w.is_known]
        for line in _side_by_side(sure):
            scale = float(self.scales[line[0].row])
            size = scale * type_size(line)
            if size >= _LARGE if scale > 1 else size <= _SMALL:
                yield from (self._on_page(word, scale) for word in line)

    def _on_page(self, word: Word, scale: float) -> Word:
        height = float(self.heights[word.row]) + scale * (word.height - word.row)
        glyphs = tuple(
            replace(g, row=round(height), start=round(scale * g.start), stop=round(scale * g.stop))
            for g in word.glyphs
        )
        return replace(word, glyphs=glyphs, height=height, scale=scale)


def _side_by_side(words: Sequence[Word]) -> Iterator[list[Word]]:
    """Words of one row with gaps as between words; they are in type of one size."""
    line: list[Word] = []
    for word in sorted(words, key=lambda word: (word.row, word.start)):
        if line and (word.row != line[-1].row or word.start - line[-1].stop > _WORD_GAP):
            yield line
            line = []
        line.append(word)
    if line:
        yield line


def words_of(page: Evidence, sheets: Sequence[Sheet] = ()) -> list[Word]:
    """The words of a page, those in other sizes as they were seen on sheets if they were seen
    better there."""
    words = page.words
    if page.is_legible or any(sheet.evidence.is_legible for sheet in sheets):
        for sheet in sheets:
            words = _with(words, list(sheet.words()))
    return words


def _with(words: Sequence[Word], found: Sequence[Word]) -> list[Word]:
    """Words of the page and of a sheet; of those that share their place, the surer."""
    hidden: set[Word] = set()
    seen: list[Word] = []
    shared = _shared(words, found)
    covered = dict(zip(words, shared.sum(0).tolist(), strict=True))
    for own, others in _groups(words, found, shared):
        if others:
            is_whole = sum(covered[word] for word in others) >= _WHOLE * _width(others)
            if is_whole and _is_better(own, others):
                hidden |= set(others)
                seen += _as_on_page(own, others)
        elif own[0].scale > 1:  # where the page shows nothing, there is nothing small
            seen += own
    return [word for word in words if word not in hidden] + seen


def _is_better(own: Sequence[Word], others: Sequence[Word]) -> bool:
    """Whether words of a sheet are to stand for those of the page in their place: if they are the
    surer ones, or if the page, on which large letters lie in two rows of cells, has most twice."""
    letters, on_page = (sum(len(word.glyphs) for word in words) for words in (own, others))
    is_doubled = letters >= _SOME_LETTERS and on_page >= _DOUBLED * letters
    return is_doubled or _certainty(own) > _certainty(others)


def _groups(
    words: Sequence[Word], found: Sequence[Word], shared: Numbers
) -> Iterator[tuple[list[Word], list[Word]]]:
    """Words of a sheet, and those of the page that stand mostly where they do. shared: see
    `_shared`."""
    narrower = np.minimum(_widths(words), _widths(found)[:, None])
    is_same = 2 * shared > narrower
    left = list(range(len(found)))
    while left:
        own, others = {left[0]}, set[int]()
        while wider := set(np.flatnonzero(is_same[list(own)].any(0)).tolist()) - others:
            others |= wider
            own |= set(np.flatnonzero(is_same[:, list(others)].any(1)).tolist())
        left = [i for i in left if i not in own]
        yield [found[i] for i in sorted(own)], [words[i] for i in sorted(others)]


def _shared(words: Sequence[Word], found: Sequence[Word]) -> Numbers:
    """Columns over which words of a sheet stand on those of the page, on the same level,
    [found, words]."""
    start, stop, height = _places(words)
    own_start, own_stop, own_height = (one[:, None] for one in _places(found))
    half_lines = [max(_LEAST_HALF, _HALF_LINE * type_size([one])) for one in found]
    is_level = np.abs(height - own_height) < np.array(half_lines)[:, None]
    shared: Numbers = np.minimum(stop, own_stop) - np.maximum(start, own_start)
    return shared.clip(0) * is_level


def _places(words: Sequence[Word]) -> Numbers:
    """Starts, stops and heights, [3, words]."""
    places = [(word.start, word.stop, word.height) for word in words]
    return np.array(places, float).reshape(-1, 3).T


def _certainty(words: Iterable[Word]) -> float:
    return fmean(glyph.certainty for word in words for glyph in word.glyphs)


def _widths(words: Iterable[Word]) -> npt.NDArray[np.int_]:
    return np.array([word.stop - word.start for word in words], int)


def _width(words: Iterable[Word]) -> int:
    return sum(word.stop - word.start for word in words)


def _as_on_page(found: Sequence[Word], others: Sequence[Word]) -> list[Word]:
    """Words of a sheet, with the kinds of line that the page says begin there: a headline seen from
    afar looks like body text, and a strip shows nothing of what stands about it."""
    kinds = [np.zeros_like(word.kinds) for word in found]
    for other in others:
        nearest = min(range(len(found)), key=lambda i: abs(found[i].start - other.start))
        if other.begins_line > kinds[nearest].sum():
            kinds[nearest] = other.kinds
    return [replace(word, kinds=own) for word, own in zip(found, kinds, strict=True)]


def type_size(words: Sequence[Word]) -> float:
    """How wide the characters of a line are beside the usual ones of body text, two columns less: a
    line of few letters is not to be thought large because its ends were rounded outwards. Words
    that cannot be read say nothing of their size."""
    known = [word for word in words if word.is_known]
    if not known:
        return 1.0
    usual = sum(width_of(glyph.likeliest) for word in known for glyph in word.glyphs)
    width = sum(word.stop - word.start for word in known)
    return max(0, width - 2) / (COLUMNS_PER_CELL * usual)
