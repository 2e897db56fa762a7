"""Words as the tower would have seen them, set in a proportional or a monospaced face."""

from __future__ import annotations

import re

import numpy as np

from fastocr_cli.reader import vocabulary as v
from fastocr_cli.reader.evidence import Glyph, Word
from fastocr_cli.reader.eye import width_of
from fastocr_cli.reader.vocabulary import COLUMNS_PER_CELL, LineKind

UNSURE = np.full(len(LineKind), 0.02, np.float32)
UNSURE[[LineKind.LINE - min(LineKind), LineKind.PARAGRAPH - min(LineKind)]] = 0.4
"""The chances of a word that the tower cannot tell whether it goes on or begins something."""
PITCH, _SPACE = 5.6, 2.8
"""Columns of every character in the monospaced face, and of a space in the other."""


def set_words(
    row: float, text: str, *, start: int = 40, size: float = 1.0, even: bool = False
) -> tuple[Word, ...]:
    """even: in the monospaced face, where more spaces make wider gaps."""
    words, at = [], float(start)
    for space, letters in re.findall(r"( *)(\S+)", text):
        at += (PITCH if even else _SPACE) * len(space) * size
        glyphs = []
        for letter in letters:
            token = v.character_id(letter)
            chances = np.zeros(v.FIRST_COLUMN, np.float32)
            chances[token] = 1.0
            stop = at + (PITCH if even else COLUMNS_PER_CELL * width_of(token)) * size
            glyphs.append(Glyph(int(row), round(at), round(stop), chances))
            at = stop
        words.append(Word(tuple(glyphs), UNSURE, row))
    return tuple(words)
