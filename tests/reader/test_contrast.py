"""Faint pages made clear, and others left as they are."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from fastocr_cli.reader.contrast import evened
from fastocr_cli.reader.ink import Ink
from fastocr_cli.reader.scale import upright
from tests.reader.test_scale import page_of


def faded(page: Image.Image, contrast: float, paper: tuple[float, float]) -> Image.Image:
    """Ink so many levels darker than the paper, which darkens from left to right."""
    grey = np.asarray(page.convert("L"), np.float32)
    light = np.linspace(*paper, grey.shape[1])
    return Image.fromarray((light - contrast * (1 - grey / 255)).round().astype(np.uint8))


@pytest.mark.parametrize("contrast", [45, 90])
def test_faint_print_on_uneven_paper_becomes_black_on_white(contrast: float) -> None:
    clear = page_of("tiro", 12, 150).convert("L")
    shown = np.asarray(evened(faded(clear, contrast, (240, 170))), np.float32)
    printed = np.asarray(clear)
    assert shown[printed < 20].mean() < 60
    assert shown[printed > 235].mean() > 235


def test_a_faint_page_is_read_at_the_size_of_a_clear_one() -> None:
    """A part of it is printed darker, and would be all that is taken for ink."""
    clear = page_of("tiro", 12, 150).convert("L")
    faint = faded(clear, 60, (240, 240))
    faint.paste(faded(clear, 200, (240, 240)).crop((0, 0, clear.width, 300)), (0, 0))
    page, usual = upright(faint), upright(clear)
    assert page.factor == pytest.approx(usual.factor, rel=0.05)
    assert page.ink.mask.mean() == pytest.approx(usual.ink.mask.mean(), rel=0.4)


def test_clear_pages_stay_as_they_are() -> None:
    clear = page_of("tiro", 12, 150).convert("L")
    for page in (clear, faded(clear, 130, (240, 200)), Image.new("L", (300, 400), 250)):
        assert evened(page) is page


@pytest.mark.parametrize("noise", [2, 6])
def test_blank_paper_gets_no_ink(noise: float) -> None:
    rng = np.random.default_rng(0)
    paper = np.clip(rng.normal(220, noise, (1700, 1200)), 0, 255).astype(np.uint8)
    assert not Ink.of(np.asarray(evened(Image.fromarray(paper)))).mask.any()


@pytest.mark.parametrize("size", [(1, 1), (1, 900), (700, 3)])
def test_any_size_will_do(size: tuple[int, int]) -> None:
    rng = np.random.default_rng(0)
    grey = rng.integers(150, 230, size[::-1], dtype=np.uint8)
    assert evened(Image.fromarray(grey)).size == size
