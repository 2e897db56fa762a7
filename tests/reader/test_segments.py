"""The likeliest characters of a run of columns."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastocr_cli.reader.segments import (
    _DOUBT,
    _LIKE,
    _OTHER,
    _SUREST,
    NOTHING,
    Run,
    Segment,
    page_segments,
    segments,
)

F, I, N, UNKNOWN = 1, 2, 3, 4  # noqa: E741
WIDTHS = np.array([9.0, 1.7, 1.2, 2.6, 2.3])
SPREADS = np.full(5, 0.65)


def chances(*columns: dict[int, float]) -> np.ndarray:
    """What each column shows; what is left of its chance is spread evenly."""
    shows = np.zeros((len(columns), len(WIDTHS)))
    for row, told in zip(shows, columns, strict=True):
        row[:] = (1 - sum(told.values())) / len(row)
        for character, chance in told.items():
            row[character] += chance
    return shows


def read(shows: np.ndarray, edges: Sequence[float]) -> list[tuple[int, int, int]]:
    (found,) = segments([Run(shows, np.array(edges))], WIDTHS, SPREADS, UNKNOWN)
    return [tuple(one) for one in found]


def test_a_character_that_is_plainly_shown_needs_no_edge() -> None:
    """A ligature: no character begins within its ink."""
    shows = chances({F: 1}, {F: 0.84, I: 0.15}, {I: 0.96}, {N: 1}, {N: 1}, {N: 1})
    assert read(shows, [1, 0.02, 0.01, 1, 0, 0]) == [(0, 2, F), (2, 3, I), (3, 6, N)]


@pytest.mark.parametrize(
    ("columns", "edges", "count"),
    [
        (2, [1, 0.9], 1),  # an n is wider than one column
        (3, [1, 0.3, 0.3], 1),
        (5, [1, 0.02, 0.2, 0.5, 0.02], 2),
        (5, [1, 0.02, 0.02, 0.02, 0.02], 2),  # far too wide for one
        (8, [1, 0, 0.1, 0.9, 0, 0.9, 0.1, 0], 3),
    ],
)
def test_one_character_stands_there_as_often_as_it_has_room(
    columns: int, edges: list[float], count: int
) -> None:
    found = read(chances(*[{N: 0.98}] * columns), edges)
    assert [character for _, _, character in found] == [N] * count


def test_one_mark_stands_for_all_that_cannot_be_read() -> None:
    shows = chances({F: 1}, {F: 1}, *[{UNKNOWN: 1}] * 40)
    assert read(shows, [1, 0] + [0.9] * 40) == [(0, 2, F), (2, 42, UNKNOWN)]


def test_a_column_that_shows_nothing_for_certain_is_a_seam() -> None:
    shows = chances({N: 1}, {N: 1}, {NOTHING: 0.45, F: 0.3}, {N: 1}, {N: 1})
    assert read(shows, [1, 0, 0.3, 0.9, 0]) == [(0, 2, N), (3, 5, N)]


def test_a_run_too_faint_for_any_character_is_not_read() -> None:
    assert read(np.full((2, len(WIDTHS)), 0.09), [0.5, 0.5]) == []


def every_path(columns: int, states: Sequence[int]) -> Iterator[tuple[Segment, ...]]:
    if not columns:
        yield ()
    for stop in range(columns):
        for path in every_path(stop, states):
            for state in states:
                yield (*path, Segment(stop, columns, state))


def score(path: Sequence[Segment], shows: np.ndarray, edges: Sequence[float]) -> float:
    total = 0.0
    before = None
    for start, stop, state in path:
        total += float(np.log(shows[start:stop, state] + _DOUBT).sum())
        if state not in (NOTHING, UNKNOWN):
            total -= (stop - start - WIDTHS[state]) ** 2 / (2 * SPREADS[state] ** 2)
        if before is not None and state == before and state in (NOTHING, UNKNOWN):
            return -math.inf
        if before is not None and NOTHING not in (before, state):
            weight, least = _LIKE if state == before else _OTHER
            odds = math.log((edges[start] + _SUREST) / (1 - edges[start] + _SUREST))
            total += weight * odds + least
        before = state
    return total


@given(data=st.data())
def test_no_other_segmentation_is_likelier(data: st.DataObject) -> None:
    columns = data.draw(st.integers(1, 4))
    weights = st.lists(st.floats(0.2, 1), min_size=5, max_size=5)
    shows = np.array([data.draw(weights) for _ in range(columns)])
    shows /= shows.sum(1, keepdims=True)
    edges = [data.draw(st.floats(0, 1)) for _ in range(columns)]
    likeliest = shows.max(0)
    states = [NOTHING, *(c for c in (F, I, N, UNKNOWN) if likeliest[c] > 0.1)]
    best = max(score(path, shows, edges) for path in every_path(columns, states))
    (found,) = segments([Run(shows, np.array(edges))], WIDTHS, SPREADS, UNKNOWN)
    whole: list[Segment] = []  # with what shows nothing between
    for one in found:
        if one.start > (reached := whole[-1].stop if whole else 0):
            whole.append(Segment(reached, one.start, NOTHING))
        whole.append(one)
    if (reached := whole[-1].stop if whole else 0) < columns:
        whole.append(Segment(reached, columns, NOTHING))
    assert score(whole, shows, edges) == pytest.approx(best)


@given(data=st.data())
def test_runs_are_read_together_as_each_alone(data: st.DataObject) -> None:
    """Whatever a longer run, or one of more characters, adds to the others."""
    runs = []
    for _ in range(data.draw(st.integers(2, 4))):
        columns = data.draw(st.integers(1, 9))
        weights = st.lists(st.floats(0, 1), min_size=5, max_size=5)
        shows = np.array([data.draw(weights) for _ in range(columns)]) + 1e-3
        edges = np.array([data.draw(st.floats(0, 1)) for _ in range(columns)])
        scale = data.draw(st.floats(0.5, 2))
        runs.append(Run(shows / shows.sum(1, keepdims=True), edges, scale))
    together = segments(runs, WIDTHS, SPREADS, UNKNOWN)
    assert together == [segments([run], WIDTHS, SPREADS, UNKNOWN)[0] for run in runs]


def test_a_page_tells_how_wide_it_writes() -> None:
    """Six columns are one n where all are that wide, and two where they are half of it."""
    wide = [{N: 1.0}] * 6 + [{NOTHING: 1.0}]
    narrow = [{F: 1.0}] * 2 + [{N: 1.0}] * 3 + [{NOTHING: 1.0}]
    usual = 2 * WIDTHS
    for line, count in ((wide * 8, 9), (narrow * 8, 18)):
        shows = chances(*line, *wide)
        inked = shows[:, NOTHING] < 0.5
        edges = np.where(np.arange(len(shows)) % 3 == 0, 0.5, 0.1)
        (row,) = page_segments(shows[None], edges[None], inked[None], usual, UNKNOWN)
        assert len(row) == count


def test_a_page_in_two_faces_leaves_widths_more_room() -> None:
    """An i is twice as wide in one as in the other, as beside typewriter text; ii is none of it."""
    narrow = [{I: 1.0}] * 2 + [{N: 1.0}] * 5 + [{NOTHING: 1.0}]
    wide = [{I: 1.0}] * 5 + [{N: 1.0}] * 5 + [{NOTHING: 1.0}]
    shows = chances(*narrow * 60, *wide * 30)
    edges = np.full(len(shows), 0.2)
    inked = shows[:, NOTHING] < 0.5
    (row,) = page_segments(shows[None], edges[None], inked[None], 2 * WIDTHS, UNKNOWN)
    assert [character for _, _, character in row] == [I, N] * 90


def test_a_wide_letter_is_one_in_code_and_two_in_prose() -> None:
    """Where six columns show I, an edge in their middle is in doubt."""
    usual = np.array([9.0, 3.0, 3.0, 5.8, 5.8])
    prose = [*[(N, 6), (I, 3), (F, 3)] * 4, (N, 6), (I, 3), (I, 3), (N, 6)]
    code = [(N, 7), (I, 6), (F, 7), (N, 7), (F, 7), (I, 7), (N, 6), (I, 7)]
    shows, edges = [], []
    for character, width in [*prose, (NOTHING, 12), *code]:
        shows += [{character: 1.0}] * width
        edges += [0.9] + [0.0] * (width - 1)
    for at in range(3, len(shows) - 3):
        if shows[at - 3 : at + 3] == [{I: 1.0}] * 6 and edges[at - 1] == 0:
            edges[at] = 0.15
    rows = 12
    page = np.stack([chances(*shows)] * rows)
    inked = page[..., NOTHING] < 0.5
    found = page_segments(page, np.array([edges] * rows), inked, usual, UNKNOWN)
    for row in found:
        assert [character for _, _, character in row] == [c for c, _ in prose + code]
