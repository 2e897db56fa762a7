"""Blank or not: everything a scanner adds to paper is blank, the least that is printed is not."""

import numpy as np
import pymupdf
import pytest
from PIL import Image, ImageFilter

from fastocr_cli.raster.blank import is_blank
from fastocr_cli.results import PageImage

DPIS = [72, 144, 200, 300]
WIDTH_IN, HEIGHT_IN = 595 / 72, 842 / 72


def page(grey: np.ndarray, dpi: float) -> PageImage:
    pixels = np.clip(grey, 0, 255).astype(np.uint8)
    return PageImage(np.repeat(pixels[..., None], 3, axis=2), 1, dpi, "x")


def paper(dpi: float, level: float = 245.0) -> np.ndarray:
    return np.full((round(HEIGHT_IN * dpi), round(WIDTH_IN * dpi)), level)


def printed(
    text: str, dpi: float, *, size: float = 10, ink: float = 20, y: float = 800
) -> np.ndarray:
    """A page that carries `text` at the given size and grey level of its ink."""
    document = pymupdf.open()
    document.new_page(width=595, height=842).insert_text((290, y), text, fontsize=size)
    pixmap = document[0].get_pixmap(dpi=int(dpi), colorspace=pymupdf.csGRAY)
    cover = np.frombuffer(pixmap.samples, np.uint8).reshape(pixmap.height, pixmap.width) / 255
    return 245 * cover + ink * (1 - cover)


def noise(grey: np.ndarray, sigma: float = 4) -> np.ndarray:
    return grey + np.random.default_rng(3).normal(0, sigma, grey.shape)


def distances(dpi: float) -> tuple[np.ndarray, np.ndarray]:
    """Inches from the top, as a column, and from the left, as a row."""
    height, width = paper(dpi).shape
    return np.arange(height)[:, None] / dpi, np.arange(width)[None] / dpi


def pepper(dpi: float) -> np.ndarray:
    grey = paper(dpi)
    grey[np.random.default_rng(1).random(grey.shape) < 0.005] = 0
    return grey


def dust(dpi: float) -> np.ndarray:
    """200 specks of up to half a millimetre."""
    grey, rng = paper(dpi), np.random.default_rng(2)
    for _ in range(200):
        y, x = (int(rng.integers(0, side - 9)) for side in grey.shape)
        size = int(rng.integers(1, max(2, int(dpi * 0.02)) + 1))
        grey[y : y + size, x : x + size] = rng.integers(0, 120)
    return noise(grey, 3)


def edge_shadow(dpi: float) -> np.ndarray:
    down, across = distances(dpi)
    light = (1 - 0.8 * np.exp(-across / 0.15)) * (1 - 0.5 * np.exp(-down / 0.3))
    return noise(paper(dpi) * light)


def uneven_light(dpi: float) -> np.ndarray:
    down, across = distances(dpi)
    return noise(paper(dpi) - 100 * ((across - 4) ** 2 + (down - 6) ** 2) / 60)


def black_bands(dpi: float) -> np.ndarray:
    grey = paper(dpi)
    grey[:, : int(0.2 * dpi)] = 5
    grey[-int(0.1 * dpi) :] = 5
    return noise(grey)


def skewed_sheet(dpi: float) -> np.ndarray:
    wide = np.pad(paper(dpi), int(dpi * 0.2)).astype(np.uint8)
    return noise(np.asarray(Image.fromarray(wide).rotate(1, fillcolor=5), float))


def show_through(dpi: float) -> np.ndarray:
    grey = printed("The other side of the sheet " * 2, dpi, ink=225).astype(np.uint8)
    blurred = Image.fromarray(grey).filter(ImageFilter.GaussianBlur(dpi * 0.01))
    return noise(np.asarray(blurred, float), 3)


BLANK = {
    "white": paper,
    "black": lambda dpi: noise(paper(dpi, 5), 3),
    "an even tint": lambda dpi: paper(dpi, 170),
    "grain": lambda dpi: noise(paper(dpi), 6),
    "coarse grain": lambda dpi: noise(paper(dpi, 230), 15),
    "pepper": pepper,
    "dust": dust,
    "shadow at the edges": edge_shadow,
    "uneven light": uneven_light,
    "black bands": black_bands,
    "skewed sheet on black": skewed_sheet,
    "show-through": show_through,
}


@pytest.mark.parametrize("dpi", DPIS)
@pytest.mark.parametrize("case", BLANK)
def test_paper_is_blank(case: str, dpi: float) -> None:
    assert is_blank(page(BLANK[case](dpi), dpi))


@pytest.mark.parametrize("dpi", DPIS)
@pytest.mark.parametrize("size", [6, 10, 40])
@pytest.mark.parametrize("text", ["1", "7", "One line of text."])
def test_the_least_print_is_not_blank(text: str, size: float, dpi: float) -> None:
    assert not is_blank(page(printed(text, dpi, size=size), dpi))


def test_print_is_seen_through_whatever_the_scanner_adds() -> None:
    dpi = 144
    number = printed("12", dpi)
    assert not is_blank(page(noise(number, 8), dpi))
    assert not is_blank(page(255 - number, dpi))
    assert not is_blank(page(printed("A pale grey line", dpi, ink=180), dpi))
    for case in ("dust", "shadow at the edges", "uneven light", "black bands"):
        added = BLANK[case](dpi)
        assert not is_blank(
            page(np.minimum(added, number[: added.shape[0], : added.shape[1]]), dpi)
        )


@pytest.mark.parametrize("shape", [(1, 1), (2, 3), (1, 500), (500, 1)])
def test_tiny_images_are_blank(shape: tuple[int, int]) -> None:
    assert is_blank(page(np.zeros(shape), 72))


def test_a_cropped_word_is_not_blank() -> None:
    word = printed("word", 144)[1570:1620, 570:650]
    assert word.min() < 60
    assert not is_blank(page(word, 144))
