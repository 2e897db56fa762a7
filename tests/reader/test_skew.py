"""Pages that lie askew: how far, and where things stood before they were put straight."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from PIL import Image

from fastocr_cli.models.base import VisualLayout
from fastocr_cli.models.embedded import turned
from fastocr_cli.reader.ink import Ink
from fastocr_cli.reader.scale import upright
from fastocr_cli.reader.skew import skew_of
from tests.reader.test_scale import page_of


@pytest.mark.parametrize("degrees", [-4.0, -1.3, -0.2, 0.0, 0.7, 3.0])
@pytest.mark.parametrize("font", ["helv", "tiro"])
def test_skew_is_measured(degrees: float, font: str) -> None:
    page = page_of(font, 11, 110).convert("L").rotate(degrees, fillcolor=255)
    assert skew_of(Ink.of(np.asarray(page)).mask) == pytest.approx(degrees, abs=0.1)


def test_what_has_no_lines_lies_straight() -> None:
    assert skew_of(np.zeros((200, 300), bool)) == 0.0
    for seed, size in enumerate([(800, 600), (1400, 1000), (300, 900)]):
        assert skew_of(np.random.default_rng(seed).random(size) < 0.1) == 0.0


def test_a_page_is_put_straight() -> None:
    straight = page_of("tiro", 12, 145)
    page = upright(straight.rotate(2, Image.Resampling.BICUBIC, fillcolor="white"))
    assert page.degrees == pytest.approx(2, abs=0.1)
    assert skew_of(page.ink.mask) == pytest.approx(0, abs=0.1)
    same = upright(straight)
    assert same.degrees == 0.0
    (x, y), (width, height) = same.corner, same.grey.size
    assert np.array_equal(same.grey, straight.convert("L").crop((x, y, x + width, y + height)))


@pytest.mark.parametrize("degrees", [-3.0, 1.5])
def test_boxes_go_back_to_where_they_were(degrees: float) -> None:
    rows, columns, cell = 40, 30, 16
    boxes = VisualLayout.raster(torch.arange(rows * columns), rows, columns).boxes
    there = turned(boxes, degrees, (columns * cell, rows * cell))
    for row, column in ((5, 4), (20, 15), (33, 27)):
        dot = np.zeros((rows * cell, columns * cell), np.uint8)
        dot[row * cell : (row + 1) * cell, column * cell : (column + 1) * cell] = 255
        y, x = np.nonzero(np.asarray(Image.fromarray(dot).rotate(degrees)))
        left, top, right, bottom = there[row * columns + column].tolist()
        assert (left + right) / 2 * columns * cell == pytest.approx(x.mean() + 0.5, abs=1)
        assert (top + bottom) / 2 * rows * cell == pytest.approx(y.mean() + 0.5, abs=1)
    assert torch.equal(turned(boxes, 0.0, (10, 10)), boxes)
