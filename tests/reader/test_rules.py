"""Upright rules are seen, and what they part is never one line."""

from __future__ import annotations

import numpy as np
import pymupdf
from PIL import Image

from fastocr_cli.reader.ink import Ink
from fastocr_cli.reader.layout import lay_out
from fastocr_cli.reader.rules import behind_rules, rules_erased, upright_rules
from fastocr_cli.reader.scale import upright
from tests.reader.test_layout import words

PROSE = "Nobody had weighed the herring since 1987, although the rules were clear about it. "


def test_rules_are_where_they_are_drawn_and_letters_are_none() -> None:
    page = pymupdf.open().new_page()
    page.insert_textbox((60, 60, 540, 400), PROSE * 8 + "|||[]{}()", fontsize=11)
    page.insert_text((60, 440), "Illness", fontsize=15)
    page.draw_rect((60, 500, 540, 560), width=0.7)
    page.draw_line((300, 500), (300, 560), width=0.7)
    pixmap = page.get_pixmap(dpi=216, colorspace=pymupdf.csGRAY)
    sized = upright(Image.frombytes("L", (pixmap.width, pixmap.height), pixmap.samples))
    rules = upright_rules(sized.ink)
    assert rules.shape == (sized.grey.height // 16, sized.grey.width // 2)
    scale, (left, top) = 3 * sized.factor, sized.corner
    first, last = (int((y * scale - top) / 16) for y in (500, 560))
    assert not rules[: first - 1].any()
    for row in range(first + 1, last):
        expected = [(x * scale - left) / 2 for x in (60, 300, 540)]
        away = np.abs(np.flatnonzero(rules[row])[:, None] - expected)
        assert (away.min(axis=0) < 2).all()
        assert (away.min(axis=1) < 2).all()


def test_a_blank_page_has_none() -> None:
    blank = np.full((160, 320), 255, np.uint8)
    assert not upright_rules(Ink.of(blank)).any()
    assert (rules_erased(blank, Ink.of(blank)) == blank).all()


def test_rules_close_to_text_leave_the_page_and_take_nothing_along() -> None:
    def drawn(*, ruled: bool) -> np.ndarray:
        page = pymupdf.open().new_page(width=300, height=200)
        for row in range(10):
            for column in range(3):
                text = f"lI{column}/{row}!"
                page.insert_text((22.3 + 80 * column, 30 + 14 * row), text, fontsize=11)
        for x in (20, 100, 180) if ruled else ():
            page.draw_line((x, 18.24), (x, 160.32), width=0.7)  # ends on whole px
        pixmap = page.get_pixmap(dpi=150, colorspace=pymupdf.csGRAY)
        pixels = np.frombuffer(pixmap.samples, np.uint8)
        return pixels.reshape(pixmap.height, pixmap.width)

    ruled, bare = drawn(ruled=True), drawn(ruled=False)
    assert (ruled < 128).sum() > 1.1 * (bare < 128).sum()
    left = rules_erased(ruled, Ink.of(ruled))
    assert np.abs(left.astype(int) - bare).max() < 64
    assert (rules_erased(bare, Ink.of(bare)) == bare).all()


def test_words_behind_a_rule_begin_something() -> None:
    level = words(4, 10, "one two three")
    rules = np.zeros((10, 200), bool)
    assert behind_rules([level], rules) == set()
    rules[4, level[1].stop + 1] = True
    assert behind_rules([level], rules) == {level[2]}
    rules[4], rules[5] = rules[5].copy(), rules[4].copy()
    assert behind_rules([level], rules) == set()


def test_rules_make_cells_of_what_stands_close_together() -> None:
    rows = [words(4 + 2 * i, 10, "208 9,774 Some", gap=2) for i in range(4)]
    page = [word for row in rows for word in row]
    assert [len(line.cells) for line in lay_out(page)] == [0] * 4
    rules = np.zeros((20, 300), bool)
    for word in rows[0][1:]:
        rules[3:12, word.start - 2] = True
    assert [line.cells for line in lay_out(page, rules)] == [(0, 1, 2)] * 4


def test_a_rule_between_columns_of_text_keeps_them_apart() -> None:
    text = "a line of text in a column of some width"
    left = [words(4 + 2 * i, 10, text) for i in range(6)]
    stop = left[0][-1].stop
    right = [words(4 + 2 * i, (stop + 12) // 3, text) for i in range(6)]
    rules = np.zeros((20, 1000), bool)
    rules[3:16, stop + 6] = True
    lines = lay_out([word for line in (*left, *right) for word in line], rules)
    assert [line.start for line in lines] == [left[0][0].start] * 6 + [right[0][0].start] * 6
    assert not any(line.cells for line in lines)
