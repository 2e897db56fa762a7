"""The upright rules of a page: whatever stands on both sides of one is never one line of text.

They are told from the ink and taken off the page before it is read, for close to text they look
like brackets and bars.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from fastocr_cli.reader.evidence import Word
from fastocr_cli.reader.ink import Bools, Grey, Ink, tall_runs
from fastocr_cli.reader.vocabulary import CELL_PX, COLUMN_PX

_SHORTEST = 1.5
"""Ems; letters and brackets of text are less tall."""
_THROUGH = 0.75
"""Share of a row's height that a rule goes through, at least."""
_SHORTEST_ERASED = 3.0
"""Ems; letters of headlines are less tall, or not as slender."""
_BESIDE_PX = 4
"""From a rule to the paper beside it: thicker ones stay."""


def upright_rules(ink: Ink) -> Bools:
    """Where one goes through a row of cells, [rows, columns of 2 px]. ink: sides are multiples of a
    cell."""
    height, width = ink.mask.shape
    rows, columns = height // CELL_PX, width // COLUMN_PX
    if ink.em is None:
        return np.zeros((rows, columns), bool)
    tall = tall_runs(ink.mask, _SHORTEST * ink.em)
    through = tall.reshape(rows, CELL_PX, width).mean(1) >= _THROUGH
    found: Bools = through.reshape(rows, columns, COLUMN_PX).any(axis=2)
    return found


def rules_erased(grey: Grey, ink: Ink) -> Grey:
    """The page with what is beside its upright rules in their place. grey: uint8 [H, W]; ink: its
    own."""
    if ink.em is None:
        return grey
    rules = ink.slender_runs(_SHORTEST_ERASED * ink.em)
    if not rules.any():
        return grey
    soft = rules.copy()  # with their edges
    soft[:, 1:] |= rules[:, :-1]
    soft[:, :-1] |= rules[:, 1:]
    padded = np.pad(grey, ((0, 0), (_BESIDE_PX, _BESIDE_PX)), mode="edge")
    beside = np.maximum(padded[:, : -2 * _BESIDE_PX], padded[:, 2 * _BESIDE_PX :])
    return np.where(soft, beside, grey)


def behind_rules(levels: Sequence[Sequence[Word]], rules: Bools) -> set[Word]:
    """The words that have a rule between them and the word before. levels: all words that stand on
    each, from left to right."""
    return {
        word
        for words in levels
        for before, word in pairwise(words)
        if rules[_row(before, word, rules), before.stop - 1 : word.start + 1].any()
    }


def _row(before: Word, word: Word, rules: Bools) -> int:
    return min(max(0, round((before.height + word.height) / 2)), len(rules) - 1)
