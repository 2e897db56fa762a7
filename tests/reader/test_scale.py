"""The measured size of text, and the page brought to it."""

from __future__ import annotations

import numpy as np
import pymupdf
import pytest
from PIL import Image

from fastocr_cli.reader import vocabulary as v
from fastocr_cli.reader.ink import Ink
from fastocr_cli.reader.scale import (
    EASY_EM_PX,
    MOST_CELLS,
    tallest,
    upright,
)

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
    measured = Ink.of(np.asarray(page_of(font, points, dpi).convert("L"))).em
    assert measured == pytest.approx(points * dpi / 72, rel=0.22)


def test_thin_strokes_are_ink() -> None:
    """Of a light face what rises and descends may be grey all along."""
    document = pymupdf.open()
    page = document.new_page()
    times = pymupdf.Font("tiro")
    black, grey_ink = (pymupdf.TextWriter(page.rect, color=3 * (shade,)) for shade in (0.0, 0.61))
    for row in range(30):
        end = pymupdf.Point(60, 80 + 18 * row)
        for letter in "humble people play the long flute by the old dyke " * 2:
            writer = grey_ink if letter in "hbdlptyfgk" else black
            _, end = writer.append(end, letter, times, 10)
    for writer in (black, grey_ink):
        writer.write_text(page)
    pixmap = page.get_pixmap(dpi=216, colorspace=pymupdf.csGRAY)
    grey = np.frombuffer(pixmap.samples, np.uint8).reshape(pixmap.height, pixmap.width)
    assert Ink.of(grey).em == pytest.approx(30, rel=0.15)


def test_a_table_alone_on_its_page_is_measured_by_its_text() -> None:
    """Its rules are most of what is inked, and as tall as the table once they are smeared."""
    document = pymupdf.open()
    page = document.new_page()
    for row in range(8):
        page.draw_line((170, 100 + 13 * row), (430, 100 + 13 * row), width=0.4)
    for column in range(5):
        x = 170 + 65 * column
        page.draw_line((x, 100), (x, 191), width=0.4)
        for row in range(7 if column < 4 else 0):
            page.insert_text((x + 20, 110 + 13 * row), f"{column}.{row}", fontsize=10)
    pixmap = page.get_pixmap(dpi=216, colorspace=pymupdf.csGRAY)
    grey = np.frombuffer(pixmap.samples, np.uint8).reshape(pixmap.height, pixmap.width)
    assert Ink.of(grey).em == pytest.approx(30, rel=0.22)


def test_boxes_are_no_text() -> None:
    """Of a form, text in small type over boxes twice as high, the type is measured."""
    document = pymupdf.open()
    page = document.new_page()
    for row in range(9):
        for column in range(3):
            x, y = 60 + 160 * column, 80 + 70 * row
            page.insert_text((x, y), "Name of the applicant and date", fontsize=8)
            page.draw_rect(pymupdf.Rect(x, y + 6, x + 140, y + 26), width=1)
    pixmap = page.get_pixmap(dpi=144, colorspace=pymupdf.csGRAY)
    grey = np.frombuffer(pixmap.samples, np.uint8).reshape(pixmap.height, pixmap.width)
    assert Ink.of(grey).em == pytest.approx(16, rel=0.22)


@pytest.mark.parametrize(("points", "dpi"), [(10, 72), (10, 144), (10, 300), (14, 200)])
def test_page_comes_to_reading_size(points: float, dpi: int) -> None:
    page = upright(page_of("tiro", points, dpi)).grey
    assert page.width % 16 == page.height % 16 == 0
    measured = Ink.of(np.asarray(page)).em
    assert measured is not None
    assert EASY_EM_PX[0] * 0.9 <= measured <= EASY_EM_PX[1] * 1.1


@pytest.mark.parametrize("side", [500, 6000])
def test_a_word_that_fills_its_page_comes_to_reading_size(side: int) -> None:
    document = pymupdf.open()
    page = document.new_page(width=side, height=side)
    page.insert_text((0.07 * side, 0.5 * side), "Giant", fontsize=0.28 * side)
    pixmap = page.get_pixmap()
    image = Image.frombytes("RGB", (pixmap.width, pixmap.height), pixmap.samples)
    assert upright(image).grey.size == (256, 256)


def test_no_text_no_em() -> None:
    assert Ink.of(np.full((400, 300), 250, np.uint8)).em is None
    gradient = np.linspace(200, 230, 400 * 300).reshape(400, 300).astype(np.uint8)
    assert Ink.of(gradient).em is None


@pytest.mark.parametrize("size", [(5000, 4000), (4000, 800), (600, 9000)])
def test_places_are_bounded(size: tuple[int, int]) -> None:
    """Beyond the last row and column the reader could not name there is nothing."""
    page = upright(Image.new("L", size, 255)).grey
    rows, columns = page.height // v.CELL_PX, page.width // v.CELL_PX
    assert rows <= v.MAX_ROWS
    assert columns <= v.MAX_COLUMNS
    assert rows * columns <= 1.05 * MOST_CELLS


@pytest.mark.parametrize(("dpi", "degrees"), [(100, 0), (216, 0), (150, 2)])
def test_margins_are_left_out_and_nothing_else(dpi: int, degrees: float) -> None:
    """And it is known where on the page the rest of it was."""
    image = page_of("tiro", 12, dpi)
    x, y = round(0.3 * image.width), round(0.8 * image.height)
    image.paste((0, 0, 0), (x, y, x + dpi // 20, y + dpi // 20))
    whole = image.rotate(degrees, Image.Resampling.BICUBIC, fillcolor="white")
    page = upright(whole)
    assert page.grey.width < 0.9 * image.width * page.factor
    left, top, right, bottom = page.box
    ink = Ink.of(np.asarray(image.convert("L"))).faint
    rows, columns = np.flatnonzero(ink.any(1)), np.flatnonzero(ink.any(0))
    assert left * image.width < columns[0] < columns[-1] < right * image.width
    assert top * image.height < rows[0] < rows[-1] < bottom * image.height
    lowest = np.flatnonzero(page.ink.mask.any(1))[-1]
    leftmost = np.flatnonzero(page.ink.mask[lowest - 3])[0]
    assert (left + leftmost / page.grey.width * (right - left)) * image.width == pytest.approx(
        x, abs=3
    )
    assert (top + lowest / page.grey.height * (bottom - top)) * image.height == pytest.approx(
        y + dpi // 20, abs=3
    )


def test_small_type_has_the_room_of_the_margins() -> None:
    """The cells a page may have are not spent on paper."""
    document = pymupdf.open()
    page = document.new_page(width=1200, height=1600)
    for row in range(60):
        page.insert_text((100, 100 + 12 * row), SENTENCE, fontsize=6, fontname="tiro")
    pixmap = page.get_pixmap(dpi=144)
    image = Image.frombytes("RGB", (pixmap.width, pixmap.height), pixmap.samples)
    em = upright(image).ink.em
    assert em == pytest.approx(24, rel=0.15)


def test_how_much_of_a_tall_page_is_read_at_once() -> None:
    assert tallest(Image.new("L", (600, 1300), 255)) is None
    assert (tallest(Image.new("L", (600, 1800), 255)) or 0) >= 1800
    page = page_of("tiro", 12, 145)  # an easy size
    receipt = Image.new("RGB", (page.width // 2, 6000), "white")
    for top in range(0, 6000, page.height):
        receipt.paste(page, (0, top))
    assert tallest(receipt) == v.MAX_ROWS * v.CELL_PX


def test_tiny_image() -> None:
    assert upright(Image.new("RGB", (1, 1))).grey.size == (16, 16)
