"""Whether a line is set in a face whose characters are all as wide."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from fastocr_cli.reader.evidence import Word
from fastocr_cli.reader.eye import width_of

FEW_STEPS = 8
"""Steps from character to character by fewer of which it cannot be told."""
EVEN, _BETTER = 0.085, 0.85
"""Share of the pitch by which steps in a monospaced face differ from it, on the mean, at most, in
prose by 0.1 and more; and share of how much they differ from steps as wide as the characters
usually are, at most, for digits are as wide as each other in most faces."""
_TYPICAL = 0.2
"""Share of their median by which most steps differ from it, at most."""


class Spacing:
    """How the characters of a line's words follow each other.

    steps: how many there are from character to character; pitch: the columns of most, 0 without
    any; misfit: the share of it by which they differ from it, on the mean; is_even: whether the
    face is monospaced, for certain.
    """

    def __init__(self, words: Sequence[Word]) -> None:
        pairs = [pair for word in words for pair in pairwise(word.glyphs)]
        self.steps = len(pairs)
        self.pitch = self.misfit = 0.0
        self.is_even = False
        if not pairs:
            return
        steps = np.array([right.middle - left.middle for left, right in pairs])
        usually = float(np.quantile(steps, 0.5, method="lower"))
        self.pitch = float(steps[np.abs(steps - usually) <= _TYPICAL * usually].mean())
        away = np.abs(steps - self.pitch)
        self.misfit = float(away.mean()) / self.pitch
        if self.steps >= FEW_STEPS and self.misfit <= EVEN:
            usual = np.array([width_of(a.likeliest) + width_of(b.likeliest) for a, b in pairs])
            fitted = usual * (steps @ usual) / (usual @ usual)
            self.is_even = float(away.sum()) < _BETTER * float(np.abs(steps - fitted).sum())


def is_monospaced(words: Sequence[Word]) -> bool | None:
    """None where there are too few characters to tell."""
    spacing = Spacing(words)
    return spacing.is_even if spacing.steps >= FEW_STEPS else None
