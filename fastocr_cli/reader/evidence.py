"""What the tower alone saw of a page: where lines and words begin, and what each column shows.

The two are used together as the frame-wise and
the attention branch are in hybrid CTC/attention speech recognition (Watanabe et al., 2017), whose
attention branch likewise loses its place on long inputs when it is left alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fastocr_cli.reader import vocabulary as v
from fastocr_cli.reader.eye import width_of
from fastocr_cli.reader.vocabulary import LineKind

COLUMNS_PER_CELL = 4
NOTHING_WEIGHT = 0.1
"""Training counts cells and columns in which nothing is that much; chances are put right by it."""

DOUBTFUL, POSSIBLE, LIKELY, SURE = 0.05, 0.15, 0.5, 0.9
_KINDS = slice(min(LineKind), max(LineKind) + 1)

_WIDEST = 12
"""Columns a character may take."""
_LEGIBLE_SHARE = 0.6
"""Inked columns that must show one character for sure. Printed Latin text has 0.9 of them, Cyrillic
0.5, other scripts and pictures less than 0.3."""
_ONE_COLUMN = 12
"""Cells between the beginnings of two lines of one column of text, at most."""
_TELLING = 320
"""Columns that tell the size of a line's type."""
_USUAL_WIDTHS = np.array([0.0] * v.FIRST_CHARACTER + [width_of(i) for i in v.CHARACTER_IDS])

Floats = npt.NDArray[np.float32]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Glyph:
    """The columns start..stop of a row, which show one character: chances [characters], 0 for the
    class that stands for none."""

    start: int
    stop: int
    chances: Floats

    @property
    def likeliest(self) -> int:
        return int(self.chances.argmax())


@dataclass(frozen=True)
class Word:
    """A word that may begin in a cell; start: the first column of its ink."""

    cell: int
    start: int
    chance: float


class Evidence:
    """One page of rows x columns cells; the arrays of lines change as lines are read.

    kinds: chance that an unread line of each `LineKind` begins in a cell, [rows, columns, kinds].
    line: that one of any kind does; word: that a word or a line does; [rows, columns].
    is_text: whether what stands on the page looks like writing. is_legible: whether it is writing
    the tower knows; where it is not, no line begins anywhere.
    shows: chance of each character (0: none) in each column, [rows, 4 * columns, characters].
    ink: the likeliest character where there is likely to be one, else 0; [rows, 4 * columns].
    """

    def __init__(self, starts: Floats, columns: Floats) -> None:
        """starts: log-probabilities [rows, columns, 16]; columns: [rows, columns, 4, characters];
        see `modeling.PageReading`."""
        begins = _put_right(starts)
        self._words: dict[int, list[Word]] = {}
        self.kinds = begins[..., _KINDS].copy()
        self.line = self.kinds.sum(-1)
        self.word = self.line + begins[..., v.WORD_START]
        self.shows = _put_right(columns).reshape(len(columns), -1, columns.shape[-1])
        best = self.shows[..., 1:].argmax(-1) + 1
        self.ink: npt.NDArray[np.intp] = np.where(self.shows[..., 0] < LIKELY, best, 0)
        chances = self.shows[self.ink > 0].max(-1, initial=0.0)
        self.is_text = bool(chances.size) and float(chances.mean()) > LIKELY
        self.is_legible = bool(chances.size) and float((chances > SURE).mean()) > _LEGIBLE_SHARE
        if not self.is_legible:
            self.line[:] = self.kinds[:] = self.word[:] = 0.0

    @property
    def rows(self) -> int:
        return self.line.shape[0]

    @property
    def columns(self) -> int:
        return self.line.shape[1]

    def glyph(self, row: int, start: int, stop: int) -> Glyph | None:
        """The first character in the columns start..stop of a row; it may reach beyond them.

        A single column that shows nothing for certain is the seam between two characters.
        """
        ink = self.ink[row]
        at = start
        while at < stop and at < len(ink):
            if not ink[at]:
                at += 1
                continue
            end = at + self._run(row, at, _WIDEST)
            chances = self.shows[row, at:end].mean(0)
            chances[0] = 0.0
            if end - at > 1 or chances.max() > LIKELY:
                return Glyph(at, end, chances / chances.sum())
            at = end
        return None

    def words(self, row: int) -> list[Word]:
        """The words of a row, from left to right. Two cells may both claim a word that stands
        across their edge, and two short words may begin in one cell."""
        if row not in self._words:
            cells = np.flatnonzero(self.word[row] > POSSIBLE).tolist()
            words = [
                Word(cell, start, float(self.word[row, cell]))
                for cell in cells
                for start in self._begins(row, cell)
            ]
            self._words[row] = sorted(words, key=lambda word: word.start)
        return self._words[row]

    def begin(self, row: int, cell: int, least: float = 0.0) -> int:
        """The column where a word of a cell begins, at `least` or behind if there is one."""
        begins = self._begins(row, cell)
        return next((start for start in begins if start >= least), begins[-1])

    def _begins(self, row: int, cell: int) -> list[int]:
        """Columns where characters begin whose middle lies in a cell; best behind a gap."""
        ink, edge = self.ink[row], cell * COLUMNS_PER_CELL
        first, stop = max(0, edge - COLUMNS_PER_CELL), min(edge + COLUMNS_PER_CELL, len(ink))
        begins = [at for at in range(first, stop) if ink[at] and (not at or ink[at - 1] != ink[at])]
        middles = {at: at + self._run(row, at, 2 * COLUMNS_PER_CELL) / 2 for at in begins}
        behind_gap = [at for at in begins if not at or not ink[at - 1]]
        for among, slack in ((behind_gap, 0.0), (behind_gap, 1.0), (begins, 0.0)):
            inside = [
                at for at in among if edge <= middles[at] + slack <= edge + COLUMNS_PER_CELL + slack
            ]
            if inside:
                return inside
        return [edge]

    def _run(self, row: int, at: int, most: int) -> int:
        """Columns from `at` on that show the same as that one."""
        ink = self.ink[row, at : at + most]
        return int(np.logical_and.accumulate(ink == ink[0]).sum())

    def type_size(self, row: int, start: int) -> float:
        """How wide characters are in a row from column `start` on, over their usual width."""
        ink = self.ink[row, start : start + _TELLING]
        edges = np.flatnonzero(np.diff(ink, prepend=0, append=0))
        lengths = np.diff(edges)
        shown = ink[edges[:-1]]
        is_character = shown >= v.FIRST_CHARACTER
        if not is_character.any():
            return 1.0
        usual = COLUMNS_PER_CELL * _USUAL_WIDTHS[shown[is_character]]
        return float(np.median(lengths[is_character] / usual))

    def mark_read(self, row: int, column: int) -> None:
        """A word or a line was read there."""
        first = column * COLUMNS_PER_CELL
        span = slice(max(0, first - COLUMNS_PER_CELL), first + 12 * COLUMNS_PER_CELL)
        for one in (row, *self.twins(row, span)):
            self.kinds[one, max(0, column - 1) : column + 2] = 0.0
            self.line[one, max(0, column - 1) : column + 2] = 0.0

    def next_lines(self) -> npt.NDArray[np.intp]:
        """Cells (row, column) where an unread line begins that may be read next, [n, 2]: what
        stands above it, in its own column of text or further left, has been read."""
        strongest = float(self.line.max(initial=0.0))
        found = np.argwhere(self.line > (LIKELY if strongest > LIKELY else DOUBTFUL))
        down = found[:, None, 0] - found[None, :, 0]
        right = found[:, None, 1] - found[None, :, 1]
        return found[~((down > 0) & (right >= -_ONE_COLUMN)).any(1)]

    def twins(self, row: int, span: slice, share: float = 0.25) -> list[int]:
        """Rows beside `row` that show the same line in the columns `span`: text that stands across
        the edge of two rows may be read in either.

        share: how much of what the other row shows must be the same.
        """
        beside = [one for one in (row - 1, row + 1) if 0 <= one < self.rows]
        ink = self.ink[beside, span]
        alike = np.count_nonzero((ink == self.ink[row, span]) & (ink > 0), axis=1)
        inked = np.count_nonzero(ink, axis=1)
        enough = alike > np.maximum(1, share * inked)
        return [one for one, is_twin in zip(beside, enough, strict=True) if is_twin]


def _put_right(log_probabilities: Floats) -> Floats:
    """Class 0 back at its own frequency: [..., classes] log-probabilities to probabilities."""
    chances = np.exp(log_probabilities)
    chances[..., 0] /= NOTHING_WEIGHT
    total: Floats = chances / chances.sum(-1, keepdims=True)
    return total
