"""The measured size of text, and the page brought to it."""

from __future__ import annotations

import numpy as np
import pymupdf
import pytest
from PIL import Image

from fastocr_cli.reader.scale import EASY_EM_PX, text_em, to_reading_size

SENTENCE = "The quick brown fox jumps over the lazy dog and reads every page of it again. "


def page_of(font: str, points: float, dpi: int) -> Image.Image:
    document = pymupdf.open()
    page = document.new_page()
    words = SENTENCE * max(6, round(200 / points))  # a text box too small for its text stays empty
    left = page.insert_textbox((60, 60, 535, 780), words, fontsize=points, fontname=font)
    assert left >= 0
    pixmap = page.get_pixmap(dpi=dpi)
    return Image.frombytes("RGB", (pixmap.width, pixmap.height), pixmap.samples)


@pytest.mark.parametrize("font", ["helv", "tiro", "cour"])
@pytest.mark.parametrize(("points", "dpi"), [(8, 100), (10, 144), (12, 300), (18, 72)])
def test_em_is_measured(font: str, points: float, dpi: int) -> None:
    measured = text_em(np.asarray(page_of(font, points, dpi).convert("L")))
    assert measured == pytest.approx(points * dpi / 72, rel=0.22)


@pytest.mark.parametrize(("points", "dpi"), [(10, 72), (10, 144), (10, 300), (14, 200)])
def test_page_comes_to_reading_size(points: float, dpi: int) -> None:
    page = to_reading_size(page_of("tiro", points, dpi), most_cells=50_000)
    assert page.width % 16 == page.height % 16 == 0
    measured = text_em(np.asarray(page))
    assert measured is not None
    assert EASY_EM_PX[0] * 0.9 <= measured <= EASY_EM_PX[1] * 1.1


def test_no_text_no_em() -> None:
    assert text_em(np.full((400, 300), 250, np.uint8)) is None
    gradient = np.linspace(200, 230, 400 * 300).reshape(400, 300).astype(np.uint8)
    assert text_em(gradient) is None


def test_cells_are_bounded() -> None:
    page = to_reading_size(page_of("helv", 4, 144), most_cells=2000)
    assert page.width * page.height / 256 <= 2000 * 1.1


def test_tiny_image() -> None:
    assert to_reading_size(Image.new("RGB", (1, 1)), most_cells=100).size == (16, 16)
