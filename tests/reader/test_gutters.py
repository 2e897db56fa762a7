"""Strips of paper that part columns, and gaps that do not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fastocr_cli.reader.evidence import Word
from fastocr_cli.reader.gutters import behind_gutters
from fastocr_cli.reader.vocabulary import LineKind
from tests.reader.test_layout import HALF, words

PROSE = "the quick brown fox jumps over"
PITCH = 1.4


def columns(count: int, gap: int, *, begins: bool) -> list[list[Word]]:
    lines = []
    for i in range(count):
        row = 4 + PITCH * i
        left = words(row, 10, PROSE)
        kind = LineKind.LINE if begins else None
        right = words(row, left[-1].stop // HALF + gap, PROSE, kind)
        lines.append(left + right)
    return lines


@pytest.mark.parametrize(("gap", "begins"), [(7, False), (3, True)])
def test_columns_are_parted(gap: int, begins: bool) -> None:
    """By a wide gap whatever the tower says, by one like a space if the tower saw a beginning."""
    lines = columns(8, gap, begins=begins)
    assert behind_gutters(lines) == {line[6] for line in lines}


@pytest.mark.parametrize(
    ("count", "gap", "begins"),
    [(3, 7, False), (5, 3, True), (8, 3, False), (8, 2, True)],
    ids=["few lines", "few lines, narrow", "narrow and unseen", "a space"],
)
def test_other_gaps_are_not(count: int, gap: int, begins: bool) -> None:
    assert not behind_gutters(columns(count, gap, begins=begins))


def test_text_across_ends_a_gutter() -> None:
    lines = columns(8, 7, begins=False)
    across = words(4 + PITCH * 3, 10, " ".join([PROSE] * 2))
    lines[3] = across
    found = behind_gutters(lines)
    assert found == {line[6] for line in lines[4:]}


def test_a_gutter_runs_on_beside_a_table() -> None:
    """As long as the other column is filled; a table of both sides' width is read across."""
    below = columns(8, 7, begins=False)
    beside = [
        words(4 + PITCH * i, 10, PROSE) + words(4 + PITCH * i, 80, f"{i} of them", None)
        for i in range(-8, 0, 2)
    ]
    table = [
        words(4 + PITCH * i, 10, f"{i} of them") + words(4 + PITCH * i, 80, f"{i} left", None)
        for i in range(-16, -8)
    ]
    found = behind_gutters([*table, *beside, *below])
    assert {line[6] for line in (*beside, *below)} <= found
    assert not found & {word for line in table[:5] for word in line}


def test_no_gutter_runs_on_through_a_headline() -> None:
    """Its words stand further apart, and it may be as wide as a column of text."""
    below = columns(8, 7, begins=False)
    row = 4 - PITCH * 4
    headline = [
        replace(word, scale=2.0)
        for word in (*words(row, 60, "What"), *words(row, 80, "the quick brown fox jumped over"))
    ]
    assert behind_gutters([headline, *below]) == {line[6] for line in below}


def test_labels_and_values_are_no_columns() -> None:
    """Running text fills its column; what stands in forms and tables has any width."""
    labels = ["name", "date and place of birth", "sex", "present occupation", "no", "address"]
    lines = [
        words(4 + PITCH * i, 10, label) + words(4 + PITCH * i, 80, "some words of value here", None)
        for i, label in enumerate(labels)
    ]
    assert not behind_gutters(lines)


def test_a_leaning_gutter() -> None:
    """A sheet laid askew by one degree moves it a column in thirteen lines."""
    lines = [
        words(4 + PITCH * i, 10 + i // 13, PROSE) + words(4 + PITCH * i, 80 + i // 13, PROSE, None)
        for i in range(26)
    ]
    assert behind_gutters(lines) == {line[6] for line in lines}


def test_leaders_leave_no_gutter() -> None:
    """However exactly their dots stand below each other, a table of contents is read across."""
    dots = " ".join(["."] * 12)
    lines = [
        [*words(4 + PITCH * i, 10, PROSE), *words(4 + PITCH * i, 100, f"{dots} 17", None, gap=3)]
        for i in range(8)
    ]
    assert not behind_gutters(lines)
