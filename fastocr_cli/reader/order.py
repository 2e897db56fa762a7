"""What the reader may write next, as far as the page tells.

The reader names the place of every line and word, and the tower saw what stands where; so a slip
of the decoder can be seen before it is written. The layout says which line and word comes next.
What kind of line it is, and which character, the decoder and the tower decide together.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy

import numpy as np

from fastocr_cli.reader import vocabulary as v
from fastocr_cli.reader.evidence import Evidence, Floats, Glyph
from fastocr_cli.reader.ink import Bools
from fastocr_cli.reader.kinds import line_kinds
from fastocr_cli.reader.layout import TextLine, lay_out
from fastocr_cli.reader.other_sizes import Sheet, words_of
from fastocr_cli.reader.quotes import paired
from fastocr_cli.reader.vocabulary import LineKind
from fastocr_cli.results import PageStatus

_KIND_WEIGHT = 2.0
"""How much the tower's and the layout's likelihood of a line's kind counts beside the decoder's."""
_TOWER_WEIGHT, _FLOOR = 2.5, 0.003
"""How much the tower's likelihood of a character counts beside the decoder's, and its floor."""
_HOPE = 0.5
"""A draft ends where it would be less likely than that to be right all along."""
_BULLETS = {v.character_id(mark) for mark in "•·–-*"}


class ReadingOrder:
    """One page's place, followed token by token.

    aided: whether the tower has a say in kinds and characters; without, it says only where the next
        word or character stands, and the decoder alone what it is.
    """

    def __init__(
        self,
        page: Evidence,
        sheets: Sequence[Sheet] = (),
        rules: Bools | None = None,
        *,
        aided: bool = True,
    ) -> None:
        """sheets: the page, or parts of it, where type of other sizes is to be read; rules: see
        `rules.upright_rules`."""
        self._aided = aided
        self._is_text = page.is_text
        self._lines = paired(lay_out(words_of(page, sheets), rules))
        self._kinds = line_kinds(self._lines)
        self._next_line = 0
        self._ahead: list[int | Glyph] = []  # of the line, what comes next at the end

    @property
    def empty_status(self) -> PageStatus:
        """A page without text is blank; one with writing that is none of ours has failed."""
        return PageStatus.FAILED if self._is_text else PageStatus.BLANK

    def add(self, token: int) -> None:
        if (kind := v.kind_of(token)) is not None and self._next_line < len(self._lines):
            line = self._lines[self._next_line]
            self._next_line += 1
            self._ahead = _steps(line, kind)[::-1]
        elif self._ahead:
            self._ahead.pop()

    def draft(self, most: int) -> list[int]:
        """What the layout and the tower expect next, while it is likelier than not to be right."""
        ahead = copy(self)
        ahead._ahead = self._ahead[:]
        tokens: list[int] = []
        chance = 1.0
        while len(tokens) < most and (expected := ahead._expected()) is not None:
            token, certainty = expected
            chance *= certainty
            if chance < _HOPE:
                break
            tokens.append(token)
            ahead.add(token)
        return tokens

    def _expected(self) -> tuple[int, float] | None:
        """The next token and how sure it is; None at the end of the page."""
        if self._ahead:
            step = self._ahead[-1]
            return (step.likeliest, step.certainty) if isinstance(step, Glyph) else (step, 1.0)
        if self._next_line == len(self._lines):
            return None
        chances = self._kinds[self._next_line]
        return int(chances.argmax()) + min(LineKind), float(chances.max() / chances.sum())

    def bias(self) -> Floats:
        """What to add to the logits of the next token, [vocabulary]; -inf for what the page does
        not bear out, never everywhere."""
        bias = np.full(v.VOCABULARY_SIZE, -np.inf, np.float32)
        if self._ahead:
            step = self._ahead[-1]
            if isinstance(step, Glyph):
                self._weigh_characters(bias, step)
            else:
                bias[step] = 0.0
        elif self._next_line == len(self._lines):
            bias[v.EOS] = 0.0
        else:
            self._weigh_kinds(bias)
        return bias

    def _weigh_kinds(self, bias: Floats) -> None:
        chances = self._kinds[self._next_line]
        weight = _KIND_WEIGHT if self._aided else 0.0
        possible = np.flatnonzero(chances)
        bias[possible + min(LineKind)] = weight * np.log(chances[possible])

    def _weigh_characters(self, bias: Floats, glyph: Glyph) -> None:
        weight = _TOWER_WEIGHT if self._aided else 0.0
        likelihood = np.log(glyph.chances[v.FIRST_CHARACTER :] + _FLOOR)
        bias[v.FIRST_CHARACTER : v.FIRST_COLUMN] = weight * likelihood
        bias[v.UNKNOWN] = weight * np.log(glyph.chances[v.UNKNOWN] + _FLOOR)


def _steps(line: TextLine, kind: LineKind) -> list[int | Glyph]:
    """What is written of a line after its kind: tokens that must follow, and characters."""
    words = line.words
    has_bullet = line.has_bullet or words[0].mark in _BULLETS
    if kind is LineKind.ITEM and len(words) > 1 and has_bullet:
        words = words[1:]
    steps: list[int | Glyph] = [v.row_id(words[0].row)]
    for i, word in enumerate(words):
        if i and i in line.cells:
            steps.append(v.CELL)
        cell = word.cell if i or line.first_cell is None else line.first_cell
        steps += [v.column_id(cell), *word.glyphs]
    return steps
