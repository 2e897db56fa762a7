"""Light print on dark grounds is turned round; nothing else is."""

from __future__ import annotations

import numpy as np
import pymupdf
import pytest
from PIL import Image, ImageChops, ImageOps

from fastocr_cli.reader.polarity import dark_on_light
from fastocr_cli.reader.scale import upright

WHITE, BLACK, NAVY = (1, 1, 1), (0, 0, 0), (0.07, 0.12, 0.25)
TEXT = "Nobody had weighed them since 1987, although the rules were quite clear."


def drawn(page: pymupdf.Page) -> Image.Image:
    pixmap = page.get_pixmap(dpi=216, colorspace=pymupdf.csGRAY)
    return Image.frombytes("L", (pixmap.width, pixmap.height), pixmap.samples)


def page_with(*grounds: tuple[pymupdf.Rect, tuple[float, float, float]]) -> pymupdf.Page:
    page = pymupdf.open().new_page()
    for rect, colour in grounds:
        page.draw_rect(rect, color=None, fill=colour)
    return page


def test_a_page_without_dark_grounds_is_the_same_image() -> None:
    page = page_with((pymupdf.Rect(50, 300, 545, 340), (0.9, 0.9, 0.8)))
    page.insert_text((60, 80), "Large Headline", fontsize=64, fontname="hebo")
    page.draw_line((60, 95), (540, 95), width=3)
    page.draw_line((60, 125), (540, 125), width=3)
    page.insert_text((60, 115), TEXT, fontname="hebo")
    page.insert_text((60, 325), TEXT)
    image = drawn(page)
    assert dark_on_light(image) is image


@pytest.mark.parametrize("size", [11, 24, 60])
def test_a_dark_page_becomes_what_it_is_in_black_on_white(size: int) -> None:
    line = TEXT[: 600 // size]
    dark, light = page_with((pymupdf.Rect(0, 0, 595, 842), BLACK)), page_with()
    dark.insert_text((40, 200), line, fontsize=size, color=WHITE)
    light.insert_text((40, 200), line, fontsize=size, color=BLACK)
    difference = ImageChops.difference(dark_on_light(drawn(dark)), drawn(light))
    assert np.asarray(difference).mean() < 0.2


def test_the_head_of_a_table_becomes_black_on_white_and_the_rest_stays() -> None:
    page = page_with((pymupdf.Rect(50, 100, 500, 118), NAVY))
    page.insert_text((60, 113), "Port  Boats  Tons", fontname="hebo", color=WHITE)
    for i in range(12):
        page.insert_text((60, 135 + 15 * i), TEXT)
    before, after = np.asarray(drawn(page)), np.asarray(dark_on_light(drawn(page)))
    head, rest = slice(3 * 100 + 2, 3 * 118 - 2), slice(3 * 121, None)
    assert (after[rest] == before[rest]).all()
    assert np.median(after[head, 3 * 60 : 3 * 490]) == 255
    assert (after[head, 3 * 52 : 3 * 498] < 64).any()
    assert upright(drawn(page)).ink.em == pytest.approx(24, rel=0.15)


def test_dark_paper_with_darker_print_stays_as_it_is() -> None:
    page = page_with((pymupdf.Rect(0, 0, 500, 842), (0.4, 0.4, 0.4)))
    for i in range(30):
        page.insert_text((60, 80 + 15 * i), TEXT)
    image = drawn(page)
    assert dark_on_light(image) is image


def test_a_dark_picture_without_print_stays_as_it_is() -> None:
    page = page_with((pymupdf.Rect(100, 300, 400, 500), NAVY))
    page.insert_text((60, 80), TEXT)
    image = drawn(page)
    assert dark_on_light(image) is image


@pytest.mark.parametrize("size", [(1, 1), (3, 2000), (2000, 3), (700, 900)])
def test_odd_and_empty_images_are_left_alone(size: tuple[int, int]) -> None:
    for level in (0, 128, 255):
        image = Image.new("L", size, level)
        assert dark_on_light(image) is image


def test_noise_is_not_taken_for_a_ground() -> None:
    noise = np.random.default_rng(0).integers(0, 256, (900, 700), np.uint8)
    for image in (Image.fromarray(noise), ImageOps.invert(Image.fromarray(noise))):
        assert dark_on_light(image) is image
