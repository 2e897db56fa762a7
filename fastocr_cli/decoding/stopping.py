"""Noticing that a page's text has begun to repeat itself without end.

Works on token ids; asks for text only when a repetition is found, to tell a stuck model from a
page that really repeats: dotted leaders, ruled forms, empty table cells.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

CHECK_EVERY = 16
"""Tokens between looks; a loop is noticed at most that much late, and a look costs ~20 us."""

_PROBE = 8
"""Tokens that must repeat before a period is worth measuring."""

_TAG = re.compile(r"<[^<>]{0,40}>|&nbsp;|\\(?:hline|cline|quad|dots|ldots)")
_WORD = re.compile(r"[^\W_]")
_CELLS = re.compile(r"\||</?t[dhr]\b|\\hline|&")


@dataclass(frozen=True)
class RepetitionLimits:
    """How much repetition is a loop. All counts are in tokens unless they say otherwise.

    min_span: the repeated stretch, first occurrence included, must be at least this long,
    min_repeats: and hold at least this many occurrences of its period;
    long_period, long_repeats: from this period on that many occurrences are enough.
    table_factor, filler_factor: multiply the limits where the period is table markup or holds no
        letter and no digit.
    max_period: longest period looked for.
    """

    min_span: int = 240
    min_repeats: int = 6
    long_period: int = 256
    long_repeats: int = 3
    table_factor: int = 3
    filler_factor: int = 5
    max_period: int = 1024

    def is_loop(self, period: int, span: int, factor: int = 1) -> bool:
        repeats = self.long_repeats if period >= self.long_period else self.min_repeats
        return span >= factor * max(self.min_span, repeats * period)


class RepetitionGuard:
    """Fed one page's tokens as they come; says when they have become a loop.

    describe: token ids to text.
    """

    def __init__(
        self,
        describe: Callable[[Sequence[int]], str],
        limits: RepetitionLimits | None = None,
    ):
        self._describe = describe
        self._limits = limits or RepetitionLimits()

    def find_loop(self, tokens: Sequence[int]) -> int | None:
        """The length to which a looping text should be cut, one period left; None if no loop."""
        if len(tokens) % CHECK_EVERY or len(tokens) < self._limits.min_span:
            return None
        period, matched = suffix_period(tokens, self._limits.max_period)
        span = matched + period
        if not period or not self._limits.is_loop(period, span):
            return None
        factor = self._leniency(self._describe(tokens[-period:]))
        return len(tokens) - matched if self._limits.is_loop(period, span, factor) else None

    def _leniency(self, period_text: str) -> int:
        if not _WORD.search(_TAG.sub("", period_text)):
            return self._limits.filler_factor
        return self._limits.table_factor if _CELLS.search(period_text) else 1


def suffix_period(tokens: Sequence[int], max_period: int) -> tuple[int, int]:
    """The period of the longest repetition at the end of `tokens`, and how far it reaches.

    Returns (p, m): the last m tokens each equal the token p before them; the p <= max_period with
    the largest m + p, the smallest such p on a tie; (0, 0) if no token repeats.
    """
    # Mostly nothing repeats, and then the last stretch says so without a look at the whole page.
    candidates = _candidates(np.asarray(tokens[-(max_period + _PROBE) :], np.int64), max_period)
    if not candidates:
        return 0, 0
    everything = np.asarray(tokens, np.int64)
    matched = [_matched(everything, period) for period in candidates]
    best = max(range(len(candidates)), key=lambda i: matched[i] + candidates[i])
    return candidates[best], matched[best]


def _candidates(tokens: npt.NDArray[np.int64], max_period: int) -> list[int]:
    """Periods, ascending, at which the last `_PROBE` tokens already match."""
    count = len(tokens)
    probe = min(_PROBE, count - 1)
    last = min(max_period, count - probe)
    if last < 1:
        return []
    windows = np.lib.stride_tricks.sliding_window_view(tokens, probe)
    # Window w ends at token w + probe - 1; period p means the one that starts p earlier.
    starts = count - probe - np.arange(1, last + 1)
    matches = (windows[starts] == tokens[count - probe :]).all(axis=1)
    return [int(period) + 1 for period in np.flatnonzero(matches)]


def _matched(tokens: npt.NDArray[np.int64], period: int) -> int:
    """How many tokens, from the last one back, equal the token `period` before them."""
    differs = np.flatnonzero(tokens[period:] != tokens[:-period])
    return len(tokens) - period - (int(differs[-1]) + 1 if len(differs) else 0)
