"""Which rows are typewritten."""

from __future__ import annotations

import random

import numpy as np
import pytest

from fastocr_cli.reader.pitch import Row, row_pitches

TEXT = "the quick brown fox jumps over the lazy dog"


def typed(pitch: float, seed: int, text: str = TEXT, uneven: float = 0.03) -> Row:
    """Characters at one pitch, but for what rounding to columns and an uneven stroke do."""
    rng = random.Random(seed)
    places = [(i + rng.uniform(-uneven, uneven)) * pitch for i in range(len(text))]
    kept = [(round(2 * x) / 2, c.isalpha()) for x, c in zip(places, text, strict=True) if c != " "]
    middles, are_letters = zip(*kept, strict=True)
    return Row(np.array(middles), np.array(are_letters))


def set_in_type(seed: int, text: str = TEXT) -> Row:
    """Characters as wide as they are."""
    rng = random.Random(seed)
    middles, at = [], rng.uniform(0, 10)
    for character in text:
        width = 2.8 if character in "iljtf" else 9.0 if character in "mw" else 5.8
        if character != " ":
            middles.append(round(2 * at + width) / 2)
        at += width if character != " " else 3.3
    return Row(np.array(middles), np.ones(len(middles), bool))


@pytest.mark.parametrize("pitch", [5.6, 7.2, 11.0])
def test_a_typewritten_page_tells_its_pitch(pitch: float) -> None:
    """The short line and the line of figures are typewritten as well."""
    rows = [typed(pitch, seed) for seed in range(6)]
    rows += [typed(pitch, 7, "no"), typed(pitch, 8, "1926 1927 1928 1929 1930")]
    for row, pitches in zip(rows, row_pitches(rows), strict=True):
        assert pitches == pytest.approx([pitch] * len(row.middles), rel=0.05)


def test_other_pages_have_none() -> None:
    texts = [TEXT[i:] + TEXT[:i] for i in range(0, 30, 3)]
    rows = [set_in_type(i, text) for i, text in enumerate(texts)]
    assert not any(pitches.any() for pitches in row_pitches(rows))
    figures = Row(np.arange(0, 120, 5.8), np.zeros(21, bool))
    assert not any(pitches.any() for pitches in row_pitches([figures] * 5))
    assert row_pitches([]) == []


def test_code_among_prose_is_told_from_it() -> None:
    """Below it and beside it."""
    code = [typed(6.6, seed, uneven=0) for seed in range(4)]
    prose = [set_in_type(seed) for seed in range(8)]
    beside = [
        Row(
            np.concatenate([prose[i].middles, code[i].middles + prose[i].middles[-1] + 20]),
            np.concatenate([prose[i].are_letters, code[i].are_letters]),
        )
        for i in range(4)
    ]
    pitches = row_pitches([*code, *prose, *beside, typed(6.6, 9, "no")])
    for of_code in pitches[:4]:
        assert of_code == pytest.approx([6.6] * len(of_code), rel=0.05)
    assert not any(of_prose.any() for of_prose in (*pitches[4:12], pitches[-1]))
    for i, both in enumerate(pitches[12:-1]):
        edge = len(prose[i].middles)
        assert not both[: edge - 10].any()
        assert both[edge + 10 :] == pytest.approx([6.6] * len(both[edge + 10 :]), rel=0.05)
