"""Mean and worst window of the token probabilities."""

import math

import numpy as np
import pytest

from fastocr_cli.text.confidence import WINDOW_TOKENS, confidence_of


def test_nothing_generated_has_no_confidence() -> None:
    assert confidence_of(()) is None


def test_the_worst_window_shows_what_the_mean_hides() -> None:
    logprobs = [0.0] * 1000 + [math.log(0.2)] * WINDOW_TOKENS + [0.0] * 1000
    confidence = confidence_of(logprobs)
    assert confidence is not None
    assert confidence.mean > 0.98
    assert confidence.worst_window == pytest.approx(0.2)
    assert (confidence.worst_start, confidence.worst_tokens) == (1000, WINDOW_TOKENS)


@pytest.mark.parametrize("count", [1, 2, 31, 32, 33, 200])
def test_against_the_plain_definition(count: int) -> None:
    logprobs = -np.random.default_rng(count).exponential(0.5, count)
    probabilities = np.exp(logprobs)
    size = min(count, WINDOW_TOKENS)
    means = [probabilities[i : i + size].mean() for i in range(count - size + 1)]
    confidence = confidence_of(logprobs.tolist())
    assert confidence is not None
    assert confidence.mean == pytest.approx(probabilities.mean())
    assert confidence.worst_window == pytest.approx(min(means))
    assert confidence.worst_start == int(np.argmin(means))
    assert confidence.worst_tokens == size


def test_impossible_tokens_count_as_zero() -> None:
    confidence = confidence_of([-math.inf, 0.0])
    assert confidence is not None
    assert confidence.mean == 0.5
