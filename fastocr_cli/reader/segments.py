"""Columns of a row to characters: the likeliest segmentation of a run of ink.

The tower tells every 4 px column apart from the others: what it shows, and how likely a character
begins there. A character is a few columns that agree, about as wide as the page writes it. Both
together make a hidden semi-Markov model (K. Murphy, "Hidden semi-Markov models", 2002), whose
states are the characters that may be seen in the run, and nothing; its likeliest path is found by
dynamic programming. Knows numbers of characters and nothing of pages.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

NOTHING = 0
_LEAST = 0.1
"""A character must be that likely in some column to be thought of."""
_DOUBT = 0.01
"""The tower is wrong about a column that often, whatever it says."""
_SPREAD = 0.65
"""Columns by which the width of a character usually differs from what the page leads to expect."""
_LIKE, _OTHER = (1.0, -1.7), (0.4, -0.5)
"""Where a character follows another at once: how much the log-odds that one begins there count, and
what they must make up for, if it is the same again and if not."""
_SUREST = 1e-3
"""Chances are never surer than that."""

Floats = npt.NDArray[np.floating]


class Segment(NamedTuple):
    """Columns start..stop, which show one character."""

    start: int
    stop: int
    character: int


def segments(shows: Floats, edges: Floats, widths: Floats, never_twice: int) -> list[Segment]:
    """The characters of a run of columns, from left to right.

    shows: chances [columns, characters], NOTHING among them; edges: chance that a character begins
    in each column, [columns]; widths: columns that each character is expected to have,
    [characters]. never_twice: a character that does not follow itself, however wide it is.
    """
    seen = np.flatnonzero(shows.max(0) > _LEAST)
    states = np.union1d([NOTHING], seen)
    if len(states) == 1:
        return []
    columns, count = len(shows), len(states)
    told = np.log(shows[:, states] + _DOUBT).cumsum(0)
    told = np.concatenate([np.zeros((1, count)), told])
    is_free = (states == NOTHING) | (states == never_twice)
    longest = columns if is_free[1:].any() else min(columns, int(4 * widths[states].max()) + 4)
    misfit = (np.arange(longest + 1)[:, None] - widths[states]) ** 2 / (2 * _SPREAD**2)
    misfit[:, is_free] = 0.0
    odds = log_odds(edges)
    weight, least = _transitions(is_free)

    every = np.arange(count)
    entered = np.zeros((columns, count))  # best score of what ends where a state begins
    came_from = np.zeros((columns, count), int)
    best = np.zeros((columns + 1, count))
    began = np.zeros((columns + 1, count), int)
    for stop in range(1, columns + 1):
        first = max(0, stop - longest)
        lengths = np.arange(stop - first, 0, -1)
        scores = entered[first:stop] - told[first:stop] - misfit[lengths]
        chosen = scores.argmax(0)
        began[stop] = first + chosen
        best[stop] = scores[chosen, every] + told[stop]
        if stop < columns:
            changes = best[stop][:, None] + odds[stop] * weight + least
            came_from[stop] = changes.argmax(0)
            entered[stop] = changes[came_from[stop], every]

    found: list[Segment] = []
    stop, state = columns, int(best[columns].argmax())
    while stop:
        start = int(began[stop, state])
        found.append(Segment(start, stop, int(states[state])))
        stop, state = start, int(came_from[start, state])
    return [segment for segment in reversed(found) if segment.character != NOTHING]


def log_odds(chances: Floats | float) -> Floats:
    """Of something against its contrary, elementwise; none is sure."""
    odds: Floats = np.log((chances + _SUREST) / (1 - chances + _SUREST))
    return odds


def _transitions(is_free: npt.NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """From each state to each: the weight of the edge's log-odds, and what is added to them.
    is_free: which states have any width, the first being NOTHING; they do not follow themselves."""
    is_like = np.eye(len(is_free), dtype=bool)
    weight, least = (np.where(is_like, *pair) for pair in zip(_LIKE, _OTHER, strict=True))
    weight[0] = weight[:, 0] = least[0] = least[:, 0] = 0.0
    least[is_like & is_free] = -np.inf
    return weight, least
