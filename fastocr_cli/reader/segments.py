"""Columns of a page to characters: the likeliest segmentation of every run of ink.

The tower tells every column apart from the others: what it shows, and how likely a character
begins there. A character is a few columns that agree, about as wide as the page writes it. Both
together make a hidden semi-Markov model (K. Murphy, "Hidden semi-Markov models", 2002), whose
states are the characters that may be seen in the run, and nothing; its likeliest path is found by
dynamic programming, for many runs at once. How wide the page writes is not known beforehand: a
first pass, which leaves widths much room, measures it, for monospaced text apart from other. Knows
numbers of characters and no letters.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from statistics import fmean
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

NOTHING = 0
_LEAST = 0.1
"""A character must be that likely in some column to be thought of."""
_DOUBT = 0.001
"""The tower is wrong about a column that often, whatever it says."""
_UNMEASURED, _MEASURED = 2.2, 0.65
"""Columns by which the width of a character usually differs from what is expected, before and after
a page in one face was measured."""
_LIKE, _OTHER = (0.7, -0.5), (0.4, -0.2)
"""Where a character follows another at once: how much the log-odds that one begins there count, and
what they must make up for, if it is the same again and if not."""
_SUREST = 1e-3
"""Chances are never surer than that."""
_FEW_SEEN = 2.0
"""How many characters of the usual width those seen on the page are weighed against."""
_SPREADS_SEEN = 40.0
"""The same of how much they differ: in several faces by more than in one."""
_MONOSPACED = 6.9
"""Columns of every character in a monospaced face."""
_MONO_GAIN, _FEWEST_MONO = 4.0, 20
"""Of a first reading: squared columns by which a monospaced run fits equal widths better, at least;
characters of such runs, of which there are none on most pages."""
_BESIDE, _SUREST_GAIN = 0.5, 8.0
"""How much the runs beside count in whether one is monospaced, and how much any can say."""
_NARROWEST = 2
"""Columns of ink; less is a speck."""
_WIDEST, _ROOM = 2, 4
"""No character is wider than so many times the widest of its run, and so many columns."""
_TOGETHER = 64
"""Runs that are segmented at once."""

Floats = npt.NDArray[np.floating]
Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int_]


class Run(NamedTuple):
    """Neighbouring columns of ink.

    shows: chances [columns, characters], NOTHING among them; edges: chance that a character begins
    in each column, [columns]; scale: how many times as wide as expected characters are.
    """

    shows: Floats
    edges: Floats
    scale: float = 1.0


class Segment(NamedTuple):
    """Columns start..stop, which show one character."""

    start: int
    stop: int
    character: int


class _Faces:
    """The page's text in two kinds of face: as wide as each character usually is, and monospaced.

    Code and the names of commands stand among prose, and what is an `i` there is half an `i` here.
    """

    def __init__(self, guessed: Sequence[Sequence[Segment]], in_row: Ints, usual: Floats) -> None:
        """guessed: a first reading of each run; in_row: the row each stands in; usual: columns of
        each character on most pages, [characters]."""
        self._in_row = in_row
        self._widths = usual, np.full_like(usual, _MONOSPACED)
        gains = np.array([_monospacing(own, usual) for own in guessed])
        is_mono = self._with_beside(gains) > _MONO_GAIN
        lengths = np.array([len(own) for own in guessed], int)
        mono = int(lengths[is_mono].sum())
        self.are_both = mono >= _FEWEST_MONO
        if not self.are_both:
            is_mono[:] = False
        self._most_odds = math.log((lengths.sum() - mono + 1) / (mono + 1))
        face_of: list[int] = is_mono.astype(int).tolist()
        shares = [
            [(stop - start) / self._widths[face][character] for start, stop, character in own]
            for face, own in zip(face_of, guessed, strict=True)
        ]
        self.scales = _row_scales(shares, in_row)[in_row]
        self._seen: tuple[list[tuple[int, float]], ...] = [], []
        for own, some, face, scale in zip(guessed, shares, face_of, self.scales, strict=True):
            pairs = zip(own, some, strict=True)
            self._seen[face].extend((segment.character, share / scale) for segment, share in pairs)

    def measured(self, *, mono: bool) -> tuple[Floats, Floats]:
        """Columns of each character in one face, and by how many it differs, [characters]."""
        seen: list[list[float]] = [[] for _ in self._widths[mono]]
        for character, share in self._seen[mono]:
            seen[character].append(share)
        return _measured(seen, self._widths[mono])

    def are_mono(self, gains: Floats) -> Bools:
        """Which runs are monospaced. gains: how much better each then fits, by log-likelihood."""
        surest = np.clip(gains, -_SUREST_GAIN, _SUREST_GAIN)
        return self._with_beside(surest) > self._most_odds

    def _with_beside(self, gains: Floats) -> Floats:
        """What each run and those beside it say: words in another face seldom stand alone."""
        is_same = self._in_row[1:] == self._in_row[:-1]
        total = gains.copy()
        total[1:] += _BESIDE * gains[:-1] * is_same
        total[:-1] += _BESIDE * gains[1:] * is_same
        return total


def page_segments(
    shows: Floats, edges: Floats, inked: Bools, usual: Floats, never_twice: int
) -> list[list[Segment]]:
    """The characters of each row of a page, from left to right.

    shows, edges: as in `Run`, of every row; inked: which columns show anything, [rows, columns];
    usual: columns that each character has on most pages, [characters]; never_twice: see `segments`.
    """
    places = [
        (row, first, stop)
        for row, ink in enumerate(np.pad(inked, ((0, 0), (1, 1))))
        for first, stop in np.flatnonzero(np.diff(ink)).reshape(-1, 2).tolist()
        if stop - first >= _NARROWEST
    ]
    runs = [Run(shows[row, first:stop], edges[row, first:stop]) for row, first, stop in places]
    guessed = segments(runs, usual, np.full_like(usual, _UNMEASURED), never_twice)
    faces = _Faces(guessed, np.array([row for row, _, _ in places], int), usual)
    rows: list[list[Segment]] = [[] for _ in inked]
    for (row, first, _), own in zip(places, _read(runs, faces, never_twice), strict=True):
        rows[row] += [Segment(first + a, first + b, character) for a, b, character in own]
    return rows


def _read(runs: Sequence[Run], faces: _Faces, never_twice: int) -> list[list[Segment]]:
    """The characters of each run, in the face it fits better."""
    scales = faces.scales.tolist()
    runs = [run._replace(scale=scale) for run, scale in zip(runs, scales, strict=True)]
    usual = _scored(runs, *faces.measured(mono=False), never_twice)
    if not faces.are_both:
        return [path for _, path in usual]
    mono = _scored(runs, *faces.measured(mono=True), never_twice)
    gains = [here - there for (here, _), (there, _) in zip(mono, usual, strict=True)]
    are_mono = faces.are_mono(np.array(gains)).tolist()
    return [
        of_mono if is_mono else of_usual
        for is_mono, (_, of_mono), (_, of_usual) in zip(are_mono, mono, usual, strict=True)
    ]


def _monospacing(own: Sequence[Segment], usual: Floats) -> float:
    """How much better the characters of a run fit widths that are all the same than the usual
    ones, by the sums of squared columns."""
    if not own:
        return 0.0
    widths = np.array([stop - start for start, stop, _ in own], float)
    expected = usual[[segment.character for segment in own]]
    misfit = widths - expected * (widths.sum() / expected.sum())
    return float((misfit**2).sum() - ((widths - widths.mean()) ** 2).sum())


def _row_scales(shares: Sequence[Sequence[float]], in_row: Ints) -> Floats:
    """How many times as wide as expected text is in each row, [rows]. shares: the same of each
    character of each run."""
    rows: list[list[float]] = [[] for _ in range(in_row.max(initial=-1) + 1)]
    for row, some in zip(in_row.tolist(), shares, strict=True):
        rows[row] += some
    return np.array([_weighed(float(np.median(own)), len(own)) if own else 1.0 for own in rows])


def _measured(seen: Sequence[Sequence[float]], usual: Floats) -> tuple[Floats, Floats]:
    """Columns of each character where text has the usual size, and by how many it differs,
    [characters]. seen: shares of the usual that each was seen to have."""
    found = np.array([_weighed(fmean(own), len(own)) if own else 1.0 for own in seen])
    misfits = [((np.array(own) - share) ** 2).sum() for own, share in zip(seen, found, strict=True)]
    squares = usual**2 * np.array(misfits) + _SPREADS_SEEN * _MEASURED**2
    spreads = np.sqrt(squares / (np.array([len(own) for own in seen]) + _SPREADS_SEEN))
    return usual * found, spreads


def _weighed(share: float, count: int) -> float:
    """A share of the usual that `count` characters showed, with as many as are few of the usual."""
    return (share * count + _FEW_SEEN) / (count + _FEW_SEEN)


def segments(
    runs: Sequence[Run], widths: Floats, spreads: Floats, never_twice: int
) -> list[list[Segment]]:
    """The characters of each run, from left to right.

    widths, spreads: columns that each character is expected to have, and by how many it usually
    differs, [characters]; never_twice: one that does not follow itself, however wide it is.
    """
    return [path for _, path in _scored(runs, widths, spreads, never_twice)]


def _scored(
    runs: Sequence[Run], widths: Floats, spreads: Floats, never_twice: int
) -> list[tuple[float, list[Segment]]]:
    """The same, and how likely it is: unnormalised log-likelihoods."""
    found: list[tuple[float, list[Segment]]] = [(0.0, [])] * len(runs)
    by_length = sorted(range(len(runs)), key=lambda i: len(runs[i].shows))
    for first in range(0, len(runs), _TOGETHER):
        some = by_length[first : first + _TOGETHER]
        paths = _likeliest_paths([runs[i] for i in some], widths, spreads, never_twice)
        for i, path in zip(some, paths, strict=True):
            found[i] = path
    return found


def _likeliest_paths(
    runs: Sequence[Run], widths: Floats, spreads: Floats, never_twice: int
) -> Iterator[tuple[float, list[Segment]]]:
    """Runs are padded to the columns of the longest and the states of the richest; what is added
    to a run at its end comes after all that its path depends on, a state added costs all chances.
    """
    seen = [[NOTHING, *np.flatnonzero(run.shows[:, 1:].max(0) > _LEAST) + 1] for run in runs]
    lengths = [len(run.shows) for run in runs]
    shape = len(runs), max(lengths) + 1, max(map(len, seen))
    states = np.full((shape[0], shape[2]), NOTHING)
    is_added = np.ones(states.shape, bool)
    told, odds = np.zeros(shape), np.zeros(shape[:2])
    for i, (run, own) in enumerate(zip(runs, seen, strict=True)):
        states[i, : len(own)], is_added[i, : len(own)] = own, False
        told[i, 1 : lengths[i] + 1, : len(own)] = np.log(run.shows[:, own] + _DOUBT)
        odds[i, : lengths[i]] = log_odds(run.edges)
    told = told.cumsum(1)
    is_free = (states == NOTHING) | (states == never_twice)
    expected = widths[states] * np.array([[run.scale] for run in runs])
    longest = shape[1] - 1
    if not (states == never_twice).any():
        longest = min(longest, int(_WIDEST * expected.max()) + _ROOM)
    misfit = (np.arange(longest + 1)[:, None] - expected[:, None]) ** 2
    misfit /= 2 * spreads[states][:, None] ** 2
    misfit = np.where(is_free[:, None], 0.0, misfit)
    misfit = np.where(is_added[:, None], np.inf, misfit)
    weight, least = _transitions(is_free)

    rows, every = np.arange(shape[0])[:, None], np.arange(shape[2])
    entered = -told  # best score of what ends where a state begins, less what is told up to there
    came_from, began = np.zeros((2, *shape), int)
    best = np.zeros(shape)
    for stop in range(1, shape[1]):
        first = max(0, stop - longest)
        scores = entered[:, first:stop] - misfit[:, stop - first : 0 : -1]
        chosen = scores.argmax(1)
        began[:, stop] = first + chosen
        best[:, stop] = scores[rows, chosen, every] + told[:, stop]
        changes = best[:, stop, :, None] + odds[:, stop, None, None] * weight + least
        chosen = came_from[:, stop] = changes.argmax(1)
        entered[:, stop] += changes[rows, chosen, every]
    for i, stop in enumerate(lengths):
        pieces = _path(stop, best[i, stop], began[i], came_from[i])
        found = [Segment(a, b, int(states[i, state])) for a, b, state in pieces]
        path = [segment for segment in reversed(found) if segment.character != NOTHING]
        yield float(best[i, stop].max()), path


def _path(
    stop: int, best: Floats, began: npt.NDArray[np.intp], came_from: npt.NDArray[np.intp]
) -> Iterator[tuple[int, int, int]]:
    """Start, stop and state of each piece, from the last to the first."""
    state = int(best.argmax())
    while stop:
        start = int(began[stop, state])
        yield start, stop, state
        stop, state = start, int(came_from[start, state])


def log_odds(chances: Floats | float) -> Floats:
    """Of something against its contrary, elementwise; none is sure."""
    odds: Floats = np.log((chances + _SUREST) / (1 - chances + _SUREST))
    return odds


def _transitions(is_free: Bools) -> tuple[Floats, Floats]:
    """From each state to each: the weight of the edge's log-odds, [states, states], and what is
    added to them, [runs, states, states]. is_free: which states have any width, [runs, states],
    the first being NOTHING; they do not follow themselves."""
    is_like = np.eye(is_free.shape[1], dtype=bool)
    weight, least = (np.where(is_like, *pair) for pair in zip(_LIKE, _OTHER, strict=True))
    weight[0] = weight[:, 0] = least[0] = least[:, 0] = 0.0
    return weight, np.where(is_like & is_free[:, None], -np.inf, least)
