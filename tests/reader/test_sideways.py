"""Lines that run up or down a page are set level below it; nothing else is moved."""

from __future__ import annotations

import numpy as np
import pymupdf
import pytest
import torch
from PIL import Image, ImageChops

from fastocr_cli.models.embedded import _moved_back, _on_page
from fastocr_cli.reader.ink import Ink
from fastocr_cli.reader.scale import upright
from fastocr_cli.reader.sideways import Moved, set_below

PROSE = "Nobody had weighed the herring since 1987, although the rules were clear about it. "
STAMP = "arXiv:2405.01234v2  [cs.CL]  14 May 2024"
LABEL = "Relative intensity (arbitrary units)"


def page_of_text() -> pymupdf.Page:
    page = pymupdf.open().new_page()
    page.insert_textbox((90, 70, 530, 700), PROSE * 16, fontsize=11, fontname="tiro")
    return page


def drawn(page: pymupdf.Page, dpi: int = 216) -> Image.Image:
    pixmap = page.get_pixmap(dpi=dpi, colorspace=pymupdf.csGRAY)
    return Image.frombytes("L", (pixmap.width, pixmap.height), pixmap.samples)


def moved_of(image: Image.Image) -> tuple[Image.Image, tuple[Moved, ...]]:
    return set_below(image, Ink.of(np.asarray(image)))


@pytest.mark.parametrize("dpi", [144, 216, 300])
@pytest.mark.parametrize(("text", "size"), [(STAMP, 18), (LABEL, 9)])
@pytest.mark.parametrize(("rotate", "x", "y"), [(90, 45, 560), (270, 560, 200)])
def test_a_line_that_runs_up_or_down_is_set_level_below(
    text: str, size: int, rotate: int, x: int, y: int, dpi: int
) -> None:
    page = page_of_text()
    without = drawn(page, dpi)
    page.insert_text((x, y), text, fontsize=size, rotate=rotate, fontname="tiro")
    sheet, (moved,) = moved_of(drawn(page, dpi))
    rest = sheet.crop((0, 0, *without.size))
    rest.paste(255, moved.there)
    assert np.asarray(ImageChops.difference(rest, without)).max() == 0
    level = pymupdf.open().new_page()
    level.insert_text((45, 560), text, fontsize=size, fontname="tiro")
    expected, shown = (_inked_part(one) for one in (drawn(level, dpi), sheet.crop(moved.there)))
    assert shown.shape == pytest.approx(expected.shape, abs=2)
    common = tuple(slice(min(pair)) for pair in zip(shown.shape, expected.shape, strict=True))
    assert np.corrcoef(shown[common].ravel(), expected[common].ravel())[0, 1] > 0.7


def _inked_part(image: Image.Image) -> np.ndarray:
    grey = np.asarray(image)
    rows, columns = (np.flatnonzero((grey < 128).any(axis)) for axis in (1, 0))
    return grey[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]


def test_a_page_grows_where_there_is_no_room_below() -> None:
    page = page_of_text()
    page.insert_text((90, 835), PROSE[:60], fontsize=11, fontname="tiro")
    page.insert_text((45, 560), STAMP, fontsize=18, rotate=90)
    image = drawn(page)
    sheet, (moved,) = moved_of(image)
    assert sheet.width == image.width
    assert sheet.height > image.height
    assert moved.there[1] > image.height - 20


@pytest.mark.parametrize("column", ["{}", "{}0", "{}.50"])
def test_numbers_below_each_other_stay_where_they_are(column: str) -> None:
    page = page_of_text()
    for i in range(30):
        page.insert_text((50, 85 + 14 * i), column.format(i + 1), fontsize=9)
    image = drawn(page)
    assert moved_of(image) == (image, ())


def test_rules_and_boxes_stay_where_they_are() -> None:
    page = page_of_text()
    page.draw_line((50, 80), (50, 700), width=1)
    page.draw_rect((545, 80, 560, 700), width=0.5)
    page.draw_line((575, 80), (575, 700), width=4, dashes="[6 3]")
    image = drawn(page)
    assert moved_of(image) == (image, ())


@pytest.mark.parametrize("rotate", [90, 270])
def test_a_page_that_lies_on_its_side_is_left_to_be_turned(rotate: int) -> None:
    page = pymupdf.open().new_page()
    page.insert_textbox((60, 60, 530, 780), PROSE * 20, fontsize=11, rotate=rotate)
    image = drawn(page)
    assert moved_of(image) == (image, ())


@pytest.mark.parametrize("size", [(1, 1), (3, 900), (900, 3), (600, 800)])
def test_odd_and_empty_images_are_left_alone(size: tuple[int, int]) -> None:
    image = Image.new("L", size, 255)
    assert moved_of(image) == (image, ())


def test_its_words_are_told_to_stand_where_the_line_stood() -> None:
    page = page_of_text()
    page.insert_text((45, 560), STAMP, fontsize=18, rotate=90)
    image = drawn(page)
    read = upright(image)
    (moved,) = read.moved
    assert read.size == image.size
    rows, columns = (side // 16 for side in reversed(read.grey.size))
    left, top, right, bottom = read.box
    edges_x, edges_y = (
        torch.linspace(a, b, n + 1) for a, b, n in ((left, right, columns), (top, bottom, rows))
    )
    y, x = torch.meshgrid(torch.arange(rows), torch.arange(columns), indexing="ij")
    boxes = torch.stack([edges_x[x], edges_y[y], edges_x[x + 1], edges_y[y + 1]], dim=-1)
    cells = _moved_back(boxes.view(-1, 4), read).view(rows, columns, 4)
    size = (float(edges_x[1] - edges_x[0]), float(edges_y[1] - edges_y[0]))
    middle = [(moved.there[i] + moved.there[i + 2]) / 2 / image.size[i] for i in (0, 1)]
    row = int((middle[1] - top) / size[1])
    column = int((middle[0] - left) / size[0])
    word = (column / columns, row / rows, (column + 3) / columns, (row + 1) / rows)
    here = [edge / side for edge, side in zip(moved.here, image.size * 2, strict=True)]
    assert _on_page(word, cells, size) == pytest.approx(here, abs=1e-4)
    unmoved = _on_page((0.5, 2 / rows, 0.6, 3 / rows), cells, size)
    assert unmoved[0] == pytest.approx(left + 0.5 * (right - left), abs=1e-3)
