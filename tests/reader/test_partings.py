"""One line across the edge of two rows of cells, and two lines that say the same."""

from __future__ import annotations

import numpy as np
import pymupdf
import pytest

from fastocr_cli.reader.ink import Ink
from fastocr_cli.reader.partings import are_parted, inked_columns
from fastocr_cli.reader.vocabulary import CELL_PX, COLUMN_PX
from tests.reader.test_evidence import words_of
from tests.reader.test_order import page_of

EM_PX, LEFT_PX = 24, 40
ROW, PITCH = 3, 1.75


def inked(*lines: tuple[float, str]) -> np.ndarray:
    """Of a page with lines at reading size, the middles of whose small letters are at these rows
    of cells."""
    document = pymupdf.open()
    page = document.new_page(width=240, height=160)
    for middle, text in lines:
        baseline = middle * CELL_PX + 0.22 * EM_PX
        page.insert_text((LEFT_PX, baseline), text, fontsize=EM_PX, fontname="tiro")
    pixmap = page.get_pixmap(colorspace=pymupdf.csGRAY)
    grey = np.frombuffer(pixmap.samples, np.uint8).reshape(pixmap.height, pixmap.width)
    return inked_columns(Ink.of(grey))


def span(text: str) -> slice:
    width = pymupdf.get_text_length(text, "tiro", EM_PX)
    return slice(LEFT_PX // COLUMN_PX, int((LEFT_PX + width) / COLUMN_PX) + 1)


@pytest.mark.parametrize("below", [-0.25, 0.0, 0.25])
@pytest.mark.parametrize(
    "text", ["100", "none", "Layoff", "going", "if", "is", "1", "=", "i:", "B & j"]
)
def test_one_line_is_not_parted(text: str, below: float) -> None:
    """Whatever stands above and below it."""
    middle = ROW + 1 + below
    page = inked(*((middle + PITCH * i, f"They{i}" if i else text) for i in range(-2, 4)))
    assert not are_parted(page, ROW, span(text))


@pytest.mark.parametrize("above", [0.0, 0.2, 0.4])
@pytest.mark.parametrize("text", ["100", "none", "Layoff", "going", "if", "1", "06/30"])
def test_two_lines_are(text: str, above: float) -> None:
    page = inked(*((ROW + above + PITCH * i, f"{text}      beside") for i in range(-1, 5)))
    assert are_parted(page, ROW, span(text))


def test_the_same_below_itself_is_read_twice() -> None:
    seen = page_of((ROW, 3, "ab ab"), (ROW + 1, 3, "ab ab"))
    assert words_of(seen) == ["ab", "ab"], "without pixels it is one line"
    paper = np.zeros((len(seen.ink) * CELL_PX, seen.ink.shape[1]), bool)
    for row in (ROW, ROW + 1):
        paper[row * CELL_PX + 2 : (row + 1) * CELL_PX - 3] = True
    seen = page_of((ROW, 3, "ab ab"), (ROW + 1, 3, "ab ab"), inked=paper)
    assert words_of(seen) == ["ab", "ab", "ab", "ab"]
