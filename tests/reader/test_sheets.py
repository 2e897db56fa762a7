"""Where a page has type of other sizes than the usual, and the sheet of strips it is read on."""

from __future__ import annotations

import numpy as np
import pymupdf
import pytest
from PIL import Image, ImageDraw

from fastocr_cli.reader import vocabulary as v
from fastocr_cli.reader.ink import Ink
from fastocr_cli.reader.scale import MOST_CELLS, upright
from fastocr_cli.reader.sheets import Strip, enlarged, has_large_type, small_type
from tests.reader.test_scale import SENTENCE, page_of

FOOT_PT = 500


def with_note(font: str, points: float) -> Image.Image:
    """Text in 10 pt, and two lines of other type whose base lines are at FOOT_PT and below."""
    document = pymupdf.open()
    page = document.new_page()
    page.insert_textbox((60, 60, 535, 480), SENTENCE * 18, fontsize=10, fontname=font)
    for i in range(2):
        place = 60, FOOT_PT + 1.2 * points * i
        page.insert_text(place, SENTENCE[:60], fontsize=points, fontname=font)
    for i in range(3):  # as wide as text, and as high as what is small
        page.draw_rect(pymupdf.Rect(60, 600 + 40 * i, 500, 603 + 40 * i), fill=(0, 0, 0))
    pixmap = page.get_pixmap(dpi=150)
    return Image.frombytes("RGB", (pixmap.width, pixmap.height), pixmap.samples)


@pytest.mark.parametrize("font", ["helv", "tiro", "cour"])
def test_large_type_is_noticed(font: str) -> None:
    plain = page_of(font, 10, 150)
    assert not has_large_type(Ink.of(np.asarray(plain.convert("L"))))
    plain.paste(page_of(font, 20, 150).crop((100, 100, 500, 240)), (100, 900))
    assert has_large_type(Ink.of(np.asarray(plain.convert("L"))))


@pytest.mark.parametrize("font", ["helv", "tiro"])
@pytest.mark.parametrize("points", [5, 6, 7.5])
def test_small_type_is_found(font: str, points: float) -> None:
    page = upright(with_note(font, points))
    (strip,) = small_type(page.ink)
    foot = FOOT_PT * 150 / 72 * page.factor - page.corner[1]
    assert strip.top < foot < strip.bottom
    assert strip.scale == pytest.approx(10 / points, rel=0.1)


@pytest.mark.parametrize("font", ["helv", "tiro", "cour"])
def test_the_usual_type_is_not_small(font: str) -> None:
    assert small_type(upright(with_note(font, 10)).ink) == []
    assert small_type(Ink.of(np.full((300, 200), 255, np.uint8))) == []


def test_rows_of_the_sheet_know_where_they_are_on_the_page() -> None:
    page = upright(with_note("tiro", 6))
    strips = small_type(page.ink)
    left, mark = (page.corner[0] / page.factor, (page.corner[1] + strips[0].top + 12) / page.factor)
    ImageDraw.Draw(page.raster).rectangle((left, mark, left + 40, mark + 1), fill=0)
    sheet, rows = enlarged(page, strips)
    assert sheet.shape[0] == v.CELL_PX * len(rows)
    darkest = int(sheet[:, :20].min(1).argmin())
    row, within = divmod(darkest, v.CELL_PX)
    height, scale = rows[row]
    assert scale == pytest.approx(1 / strips[0].scale)
    found = height * v.CELL_PX + v.CELL_PX / 2 + (within - v.CELL_PX / 2) * scale
    assert found == pytest.approx(strips[0].top + 12, abs=1.5)


def test_a_sheet_is_no_larger_than_a_page() -> None:
    page = upright(with_note("tiro", 6))
    height = page.grey.height
    foot = Strip(height - 40, height, 2.5)  # its last rows are no part of the raster
    sheet, rows = enlarged(page, [foot])
    assert sheet.shape[0] == v.CELL_PX * len(rows)
    strips = [Strip(top, top + 100, 2.5) for top in range(0, height - 100, 50)]
    sheet, rows = enlarged(page, strips)
    assert 0.8 * MOST_CELLS < sheet.size / v.CELL_PX**2 <= MOST_CELLS
    assert sheet.shape[0] == v.CELL_PX * len(rows)
