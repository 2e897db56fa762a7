"""What the tower alone saw of a page: the characters of every row, and the words they form.

The tower and the decoder are used together as the frame-wise and the attention branch are in
hybrid CTC/attention speech recognition (Watanabe et al., 2017), whose attention branch likewise
loses its place on long inputs when it is left alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from statistics import fmean

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import sliding_window_view

from fastocr_cli.reader import vocabulary as v
from fastocr_cli.reader.eye import width_of
from fastocr_cli.reader.partings import are_parted
from fastocr_cli.reader.pitch import Row, row_pitches
from fastocr_cli.reader.segments import Segment, log_odds, page_segments
from fastocr_cli.reader.vocabulary import COLUMNS_PER_CELL, LineKind

_PAIR = 2
EM_ROWS = v.USUAL_EM_PX / v.CELL_PX
EM = COLUMNS_PER_CELL * EM_ROWS
"""Rows of cells, and columns, that an em of body text takes."""
NOTHING_WEIGHT = 0.1
"""Training counts cells and columns in which nothing is that much; chances are put right by it."""

LIKELY, SURE = 0.5, 0.9
_KINDS = slice(min(LineKind), max(LineKind) + 1)
_LEGIBLE_SHARE, _MOST_UNKNOWN = 0.3, 0.15
"""Inked columns that must show one character for sure, and how many may show the mark of what
cannot be read. Printed Latin text has 0.8 to 0.9 and up to 0.02 of them, a light typewriter face
0.5 and 0.07; Cyrillic, Greek and Chinese less than 0.06 and more than 0.7, as text on its head."""
_STRETCH, _LEGIBLE_STRETCH, _LEGIBLE_PART = 120, 0.75, 0.12
"""A page of other writing is legible for the sake of what else is on it: stretches of so many
columns, a third of them inked, that are sure to that share, and their share of the ink."""
_PAPER_WEIGHT, _NO_SPACE = 1.35, 1.5
"""A space: the log-odds that a word begins, and how much each blank column before it adds to them,
over what they must be."""
_SOME_PAPER, _MOST_PAPER = 1.2, 7.4
"""Blank columns from which a character may begin a word that another in its cell begins more
likely, and those that always are a space."""
_PIECES, _ONE, _TWO = 0.62, 1.25, 1.65
"""Pitches from one character to the next, typewritten: less where both are pieces of one, less
where they are neighbours, more where a space is between them."""
_TWIN_SHARE, _COPY_SHARE = 0.45, 0.55
"""How much of what a row shows the row beside must show for both to be seeing the same text, about
a word and of the word itself."""
_SAME_HEIGHT = 0.5
"""Rows between two words that may be one."""
_APART = 16
"""Blank columns that part what stands beside each other in a row."""
_CLEAR, _FAINT = 0.07, 0.75
"""Where there is a character, the chance of nothing is mostly less, that of the likeliest more."""
_STRIP = 120
"""Columns to both sides of a word over which its row is compared with the row beside."""

_USUAL = np.array([max(1.0, COLUMNS_PER_CELL * width_of(c)) for c in range(v.FIRST_COLUMN)])
"""Columns each character has on most pages."""

Floats = npt.NDArray[np.float32]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Glyph:
    """The columns start..stop of a row, which show one character: chances [characters], 0 for the
    class that stands for none."""

    row: int
    start: int
    stop: int
    chances: Floats

    @property
    def middle(self) -> float:
        return (self.start + self.stop) / 2

    @property
    def cell(self) -> int:
        return int(self.middle) // COLUMNS_PER_CELL

    @property
    def cells(self) -> set[int]:
        """The cell of its middle, and the one beside if that is near the edge."""
        return {int(self.middle + step) // COLUMNS_PER_CELL for step in (-1.6, 1.6)}

    @property
    def likeliest(self) -> int:
        return int(self.chances.argmax())

    @property
    def is_letter(self) -> bool:
        return (v.character_of(self.likeliest) or "").isalpha()

    @property
    def certainty(self) -> float:
        return float(self.chances.max())


@dataclass(frozen=True, eq=False)
class Word:
    """Glyphs of one row without a space between.

    kinds: chance that a line of each `LineKind` begins with it, [kinds]. height: the row of its
    middle, between two rows where both show it. scale: how many times smaller than the page was
    what it was read on.
    """

    glyphs: tuple[Glyph, ...]
    kinds: Floats
    height: float
    scale: float = 1.0

    @property
    def row(self) -> int:
        return self.glyphs[0].row

    @property
    def cell(self) -> int:
        return self.glyphs[0].cell

    @property
    def start(self) -> int:
        return self.glyphs[0].start

    @property
    def stop(self) -> int:
        return self.glyphs[-1].stop

    @property
    def mark(self) -> int | None:
        """Its character, if it is but one."""
        return self.glyphs[0].likeliest if len(self.glyphs) == 1 else None

    @property
    def text(self) -> str:
        """Its likeliest characters."""
        return "".join(v.character_of(glyph.likeliest) or "" for glyph in self.glyphs)

    @property
    def is_leader(self) -> bool:
        """Whether it is but dots, which lead to what stands beyond them."""
        return not self.text.strip(".")

    @property
    def begins_line(self) -> float:
        return float(self.kinds.sum())

    @property
    def is_known(self) -> bool:
        """Whether it has no character that cannot be read."""
        return all(glyph.likeliest != v.UNKNOWN for glyph in self.glyphs)

    @property
    def certainty(self) -> float:
        """Mean chance of its characters."""
        return fmean(glyph.certainty for glyph in self.glyphs)


class Evidence:
    """One page of rows x columns cells.

    is_text: whether what stands on the page looks like writing. is_legible: whether it is writing
    the tower knows; where it is not, there are no words.
    shows: chance of each character (0: none) in each column, [rows, 8 * columns, characters].
    ink: the likeliest character where there is likely to be one, else 0; [rows, 8 * columns].
    """

    def __init__(
        self, starts: Floats, columns: Floats, edges: Floats, inked: Bools | None = None
    ) -> None:
        """starts: log-probabilities [rows, columns, 16]; columns: [rows, columns, 8, characters];
        edges: chances [rows, columns, 8]; see `modeling.PageReading`. inked: see
        `partings.inked_columns`."""
        self._inked = inked
        self._begins = _put_right(starts)
        self._begins_word = self._begins[..., v.WORD_START] + self._begins[..., _KINDS].sum(-1)
        self.shows = _put_right(columns).reshape(len(columns), -1, columns.shape[-1])
        self._edges = edges.reshape(len(edges), -1)
        best = self.shows[..., 1:].argmax(-1) + 1
        self.ink: npt.NDArray[np.intp] = np.where(self.shows[..., 0] < LIKELY, best, 0)
        self._certainty = self.shows[..., 1:].max(-1) * (self.ink > 0)
        is_inked = self.ink > 0
        is_unknown = self.ink == v.UNKNOWN
        is_sure = (self._certainty > SURE) & ~is_unknown
        chances = self._certainty[is_inked]
        self.is_text = bool(chances.size) and float(chances.mean()) > LIKELY
        is_known = bool(chances.size) and float(is_unknown[is_inked].mean()) < _MOST_UNKNOWN
        is_known &= float(is_sure[is_inked].sum()) > _LEGIBLE_SHARE * chances.size
        self.is_legible = is_known or _legible_part(is_inked, is_sure) > _LEGIBLE_PART

    @property
    def words(self) -> list[Word]:
        """Every word once, row by row from left to right; none of a page that is not legible."""
        return self.possible_words if self.is_legible else []

    @cached_property
    def possible_words(self) -> list[Word]:
        """The same of any page. Text that stands across the edge of two rows is seen in both; it
        is taken where it is seen better."""
        kept = []
        taken = np.zeros(self.ink.shape, bool)
        for row in range(len(self.ink)):
            for word in self._words_of(row):
                span = slice(word.start, word.stop)
                is_above = bool(taken[row - 1, span].any()) and self._is_copy(word, row - 1)
                if is_above or self._is_better_below(word) or self._is_shade(word):
                    continue
                taken[row, span] = True
                kept.append(word)
        return self._without_echoes(kept)

    def _words_of(self, row: int) -> list[Word]:
        glyphs, pitches = self._glyphs[row]
        chances = self._word_chances(row)
        paper = [_MOST_PAPER, *(self._paper(a, b) for a, b in pairwise(glyphs))]
        first: dict[int, int] = {}  # which character of each cell has most paper before it
        for i, glyph in enumerate(glyphs):
            for cell in glyph.cells:
                if cell not in first or paper[i] > paper[first[cell]]:
                    first[cell] = i
        words: list[list[Glyph]] = []
        for i, glyph in enumerate(glyphs):
            cells = [cell for cell in glyph.cells if paper[i] > _SOME_PAPER or first[cell] == i]
            claim = max((float(chances[cell]) for cell in cells), default=0.0)
            odds = log_odds(claim) + _PAPER_WEIGHT * paper[i]
            is_space = paper[i] >= _MOST_PAPER or bool(odds > _NO_SPACE)
            if pitches[i] and words:
                step = (glyph.middle - words[-1][-1].middle) / pitches[i]
                is_space = is_space if _ONE < step < _TWO else step >= _TWO
            if is_space or not words:
                words.append([])
            words[-1].append(glyph)
        return [
            Word(tuple(word), self._kinds(row, word[0]), self._height(row, word)) for word in words
        ]

    def _paper(self, left: Glyph, right: Glyph) -> float:
        """Columns between two characters that show nothing, by their chances."""
        return float(self.shows[left.row, left.stop - 1 : right.start + 1, 0].sum())

    def _height(self, row: int, glyphs: Sequence[Glyph]) -> float:
        span = slice(glyphs[0].start, glyphs[-1].stop)
        shown = self.shows[row, span, 1:]
        weight, height = float(shown.sum()), 0.0
        for beside in self._beside(row):
            if self._are_parted(row, beside, span):
                continue
            alike = float(np.minimum(shown, self.shows[beside, span, 1:]).sum())
            height += alike * (beside - row)
            weight += alike
        return row + height / weight

    @cached_property
    def _glyphs(self) -> list[tuple[list[Glyph], list[float]]]:
        """The characters of every row, and where they are typewritten the columns from one to the
        next, else 0."""
        segments = page_segments(self.shows, self._edges, self.ink > 0, _USUAL, v.UNKNOWN)
        rows = [[self._glyph(row, one) for one in own] for row, own in enumerate(segments)]
        pitches = row_pitches([_as_row(glyphs) for glyphs in rows])
        return [self._mended(*row) for row in zip(rows, pitches, strict=True)]

    def _mended(
        self, glyphs: Sequence[Glyph], pitches: npt.NDArray[np.float64]
    ) -> tuple[list[Glyph], list[float]]:
        """The same with the pieces of typewritten letters put together; small figures, such as
        number lines, stand as near."""
        mended: list[Glyph] = []
        kept: list[float] = []
        for glyph, pitch in zip(glyphs, pitches.tolist(), strict=True):
            is_near = bool(mended) and glyph.middle - mended[-1].middle < _PIECES * pitch
            if is_near and (glyph.is_letter or mended[-1].is_letter):
                start = mended.pop().start
                shown = self.shows[glyph.row, start : glyph.stop, 1:].sum(0)
                whole = Segment(start, glyph.stop, int(shown.argmax()) + 1)
                mended.append(self._glyph(glyph.row, whole))
            else:
                mended.append(glyph)
                kept.append(pitch)
        return mended, kept

    def _glyph(self, row: int, segment: Segment) -> Glyph:
        start, stop, character = segment
        chances = self.shows[row, start:stop].sum(0)
        chances[0] = 0.0
        chances[character] = 1.001 * chances.max()  # the likeliest by all that is known
        return Glyph(row, start, stop, chances / chances.sum())

    def _word_chances(self, row: int) -> Floats:
        """Chance that a word or a line begins in each cell of a row. What stands across the edge
        of two rows may have been seen in either."""
        own = self._begins_word[row]
        for beside in self._beside(row):
            either = np.maximum(own, self._begins_word[beside])
            own = np.where(self._twins(row, beside), either, own)
        return np.append(own, 0.0)  # of the cell beyond the edge

    def _twins(self, row: int, beside: int) -> Bools:
        """Cells about which the row beside shows the same, [columns]."""
        own = self.ink[row]
        alike, whole = (
            sliding_window_view(np.pad(seen.reshape(-1, COLUMNS_PER_CELL).sum(1), 1), 3).sum(1)
            for seen in ((own == self.ink[beside]) & (own > 0), own > 0)
        )
        return alike > _COPY_SHARE * np.maximum(whole, COLUMNS_PER_CELL)

    def _kinds(self, row: int, glyph: Glyph) -> Floats:
        rows = [row, *(b for b in self._beside(row) if self._is_twin(row, b, glyph))]
        cells = [cell for cell in glyph.cells if cell < self._begins.shape[1]]
        found: Floats = self._begins[np.ix_(rows, cells)][..., _KINDS].max((0, 1))
        return found / max(1.0, float(found.sum()))

    def _beside(self, row: int) -> list[int]:
        return [one for one in (row - 1, row + 1) if 0 <= one < len(self.ink)]

    def _is_twin(self, row: int, beside: int, glyph: Glyph) -> bool:
        if self._are_parted(row, beside, slice(glyph.start, glyph.stop)):
            return False
        span = slice(glyph.start, glyph.stop + 2 * COLUMNS_PER_CELL)
        return self._share(row, beside, span) > _TWIN_SHARE

    def _are_parted(self, row: int, beside: int, span: slice) -> bool:
        return self._inked is not None and are_parted(self._inked, min(row, beside), span)

    def _is_better_below(self, word: Word) -> bool:
        below = word.row + 1
        if below == len(self.ink) or not self._is_copy(word, below):
            return False
        if self._is_rest(word, below):
            return True
        strip = _strip(word)
        alike = self.ink[word.row, strip] == self.ink[below, strip]
        gain = self._certainty[below, strip] - self._certainty[word.row, strip]
        return bool((gain * alike).sum() > 0)

    def _is_copy(self, word: Word, row: int) -> bool:
        """Whether another row shows the word as well, and something of what is beside it; one
        word alone may stand below its like."""
        span = slice(word.start, word.stop)
        if self._share(word.row, row, span) <= _COPY_SHARE or self._are_parted(word.row, row, span):
            return False
        return self._share(word.row, row, _strip(word)) > _TWIN_SHARE or self._is_rest(word, row)

    def _is_rest(self, word: Word, row: int) -> bool:
        """Whether it belongs to the little a row shows of a line that stands in another."""
        inked = np.flatnonzero(self.ink[row])
        at = int(inked.searchsorted(word.start))
        if at == len(inked):
            return False
        gaps = np.diff(inked, prepend=-_APART, append=self.ink.shape[1] + _APART) >= _APART
        first = int(np.flatnonzero(gaps[: at + 1])[-1])
        last = at + int(np.flatnonzero(gaps[at + 1 :])[0])
        line = slice(int(inked[first]), int(inked[last]) + 1)
        own, whole = (int(np.count_nonzero(self.ink[r, line])) for r in (word.row, row))
        return 2 * own < whole and self._share(word.row, row, line) > _COPY_SHARE

    def _is_shade(self, word: Word) -> bool:
        """Whether it is but the shade of what the row beside shows clearly."""
        span = slice(word.start, word.stop)
        blank = self.shows[..., 0]
        beside = min((float(blank[r, span].mean()) for r in self._beside(word.row)), default=1.0)
        is_faint = float(self._certainty[word.row, span].mean()) < _FAINT
        return is_faint and beside < _CLEAR < float(blank[word.row, span].mean())

    def _without_echoes(self, words: Sequence[Word]) -> list[Word]:
        """Words but for those that are a piece of one in the same place, seen in the row beside. In
        a line of its own a word may stand below its like."""
        start, stop, height = (
            np.array([(w.start, w.stop, w.height) for w in words]).reshape(-1, 3).T
        )
        shared = np.minimum(stop[:, None], stop) - np.maximum(start[:, None], start)
        is_on = (2 * shared > (stop - start)[:, None]) & (
            np.abs(height[:, None] - height) < _SAME_HEIGHT
        )
        echoes = {
            i
            for i, j in np.argwhere(is_on).tolist()
            if _is_piece(words[i].text, words[j].text)
            and (words[i].row == words[j].row or self._is_copy(words[i], words[j].row))
        }
        return [word for i, word in enumerate(words) if i not in echoes]

    @cached_property
    def _pairs(self) -> Floats:
        """What two columns show together, [rows, 4 * columns, characters] without nothing: the same
        letter may be seen half a pair further on in another row."""
        return self.shows[:, ::_PAIR, 1:] + self.shows[:, 1::_PAIR, 1:]

    def _share(self, row: int, other: int, span: slice) -> float:
        """How much of what a row shows another shows as well."""
        span = slice(span.start // _PAIR, -(-span.stop // _PAIR))
        own = self._pairs[row, span]
        return float(np.minimum(own, self._pairs[other, span]).sum() / own.sum())


def _is_piece(text: str, whole: str) -> bool:
    return text != whole and text in whole


def _legible_part(inked: Bools, is_sure: Bools) -> float:
    """Share of the ink that stands in legible stretches. inked, is_sure: [rows, columns]."""
    room = -inked.shape[1] % _STRETCH
    ink, sure = (
        np.pad(one, ((0, 0), (0, room))).reshape(len(one), -1, _STRETCH).sum(-1)
        for one in (inked, is_sure)
    )
    is_legible = (3 * ink >= _STRETCH) & (sure > _LEGIBLE_STRETCH * ink)
    return float(ink[is_legible].sum() / max(ink.sum(), 1))


def _as_row(glyphs: Sequence[Glyph]) -> Row:
    middles, are_letters = ([getattr(g, name) for g in glyphs] for name in ("middle", "is_letter"))
    return Row(np.array(middles), np.array(are_letters, bool))


def _strip(word: Word) -> slice:
    return slice(max(0, word.start - _STRIP), word.stop + _STRIP)


def _put_right(log_probabilities: Floats) -> Floats:
    """Class 0 back at its own frequency: [..., classes] log-probabilities to probabilities."""
    chances = np.exp(log_probabilities)
    chances[..., 0] /= NOTHING_WEIGHT
    total: Floats = chances / chances.sum(-1, keepdims=True)
    return total
