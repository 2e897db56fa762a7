"""How sure the model was of its own words, from the log-probabilities of the tokens it chose.

Not calibrated: 0.9 does not mean nine in ten are right. Useful to compare pages read by one model
and to find the place to look at, for a page's mean hides a single garbled region and the worst
window shows it. Knows numbers only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

WINDOW_TOKENS = 32


@dataclass(frozen=True, slots=True)
class Confidence:
    """Mean token probability of a page, and of its least sure run of tokens.

    worst_start: index of the window's first token; worst_tokens: its length, WINDOW_TOKENS or the
    whole of a shorter page.
    """

    mean: float
    worst_window: float
    worst_start: int
    worst_tokens: int


def confidence_of(logprobs: Sequence[float]) -> Confidence | None:
    """Confidence over the generated tokens; None where there are none."""
    if not len(logprobs):
        return None
    probabilities = np.exp(np.asarray(logprobs, dtype=np.float64))
    size = min(WINDOW_TOKENS, len(probabilities))
    sums = np.concatenate([[0.0], np.cumsum(probabilities)])
    means = (sums[size:] - sums[:-size]) / size
    worst = int(means.argmin())
    return Confidence(float(probabilities.mean()), float(means[worst]), worst, size)
