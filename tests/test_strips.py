"""Tall pages: where they are cut, and what becomes of the readings."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from fastocr_cli.results import PageReading, PageStats, PageStatus
from fastocr_cli.strips import cut, join

LINE, PITCH = 12, 20


def lines_of_ink(height: int) -> Image.Image:
    pixels = np.full((height, 50), 255, np.uint8)
    for top in range(0, height, PITCH):
        pixels[top : top + LINE, 5:45:2] = 0
    return Image.fromarray(pixels)


@given(st.integers(1, 2000), st.integers(100, 400))
def test_strips_are_the_page(height: int, tallest: int) -> None:
    page = lines_of_ink(height)
    strips = cut(page, tallest)
    assert max(strip.height for strip in strips) <= tallest
    assert np.array_equal(np.concatenate([*map(np.asarray, strips)]), np.asarray(page))


def test_no_line_is_cut() -> None:
    for strip in cut(lines_of_ink(2000), 250)[1:]:
        first_inked = int(np.flatnonzero((np.asarray(strip) < 128).any(axis=1))[0])
        assert 0 < first_inked <= PITCH - LINE


def test_what_fits_is_not_cut() -> None:
    page = lines_of_ink(300)
    assert cut(page, None) == cut(page, 300) == [page]


def reading(status: PageStatus, tokens: int) -> PageReading:
    stats = PageStats(
        visual_tokens=10 * tokens,
        decode_steps=tokens,
        keep_sparse_layers=0.1 * tokens,
        extra={"of": tokens},
    )
    places = ((0.0, 0.5, 1.0, 1.0),) * tokens
    return PageReading("x", (7,) * tokens, (-0.5,) * tokens, status, stats, places, ("x",) * tokens)


def test_readings_are_one() -> None:
    page = join([reading(PageStatus.OK, 1), reading(PageStatus.OK, 3)], [100, 300], "xxxx")
    assert (page.text, page.token_ids, len(page.logprobs)) == ("xxxx", (7,) * 4, 4)
    assert page.places == ((0.0, 0.125, 1.0, 0.25), *[(0.0, 0.625, 1.0, 1.0)] * 3)
    assert (page.stats.visual_tokens, page.stats.decode_steps) == (40, 4)
    # Ten tokens in one step at 0.1 and thirty in each of three at 0.3.
    assert page.stats.keep_sparse_layers == pytest.approx(0.28)
    assert page.stats.extra == {"strips": [{"of": 1}, {"of": 3}]}


def test_strips_without_a_step_have_shares_too() -> None:
    page = join([reading(PageStatus.BLANK, 0), reading(PageStatus.BLANK, 0)], [100, 300], "")
    assert (page.stats.keep_all_layers, page.stats.decode_steps) == (1.0, 0)


def test_a_part_that_could_not_be_read_is_named() -> None:
    parts = [reading(PageStatus.OK, 3), reading(PageStatus.FAILED, 0), reading(PageStatus.OK, 3)]
    page = join(parts, [50, 25, 25], "")
    assert page.warnings == ("nothing could be read from 50% to 75% of the page's height",)


def test_strips_that_were_not_reached_have_their_height() -> None:
    page = join([reading(PageStatus.TRUNCATED, 1)], [100, 300], "x")
    assert page.places == ((0.0, 0.125, 1.0, 0.25),)


@pytest.mark.parametrize(
    ("strips", "page"),
    [
        (["ok", "blank"], "ok"),
        (["ok", "failed"], "truncated"),
        (["failed", "ok", "looped"], "looped"),
        (["blank", "failed"], "failed"),
        (["ok", "truncated", "blank"], "truncated"),
        (["blank", "blank"], "blank"),
    ],
)
def test_status(strips: list[str], page: str) -> None:
    readings = [reading(PageStatus(one), 1) for one in strips]
    assert join(readings, [50] * len(readings), "").status == page
