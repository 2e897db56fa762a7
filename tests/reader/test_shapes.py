"""Pages whose letters take another shape: their places go with them."""

from __future__ import annotations

import random

import numpy as np
import pytest

from fastocr_cli.reader.training.pages import Line, Page
from fastocr_cli.reader.training.shapes import reshaped
from fastocr_cli.reader.vocabulary import LineKind

SIDE = 12


def page_of_squares() -> Page:
    """A black square for every character of ten lines, 40 px apart."""
    grey = np.full((440, 600), 255, np.uint8)
    left = np.arange(30, 560, 40, dtype=np.float32)
    lines = []
    for row in range(10):
        top = 20 + 40 * row
        for x in left.astype(int):
            grey[top : top + SIDE, x : x + SIDE] = 0
        middle = np.full_like(left, top + SIDE / 2)
        text = "x" * len(left)
        lines.append(Line(text, left, left + SIDE, middle, 20.0, LineKind.PARAGRAPH, row))
    return Page(grey, tuple(lines))


@pytest.mark.parametrize("seed", range(12))
def test_places_follow_the_shapes(seed: int) -> None:
    page = reshaped(random.Random(seed), page_of_squares())
    for line in page.lines:
        for left, right, middle in zip(line.left, line.right, line.middle, strict=True):
            x, y = (left + right) / 2, middle
            top, start = max(0, round(y) - 15), max(0, round(x) - 18)
            ink = 255.0 - page.grey[top : round(y) + 16, start : round(x) + 19]
            rows, columns = np.indices(ink.shape) + 0.5
            assert top + (rows * ink).sum() / ink.sum() == pytest.approx(y, abs=1)
            assert start + (columns * ink).sum() / ink.sum() == pytest.approx(x, abs=1)
            width = np.count_nonzero(ink.max(0) > 127)  # bolder strokes are up to 2 px wider
            assert width == pytest.approx(right - left, abs=3)


def test_some_pages_stay_as_they_were_set() -> None:
    page = page_of_squares()
    pages = [reshaped(random.Random(seed), page) for seed in range(40)]
    assert 5 < sum(one is page for one in pages) < 25
    assert len({one.grey.shape[1] for one in pages}) > 5, "wider and narrower ones"
    assert {one.grey.shape[0] for one in pages} == {440}
