"""The scoring rule: what counts as the same text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastocr_cli.bench.scoring import character_error_rate, normalise, word_recall


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("“it’s”", '"it\'s"'),
        ("a – b — c", "a - b - c"),
        ("hyphen-\nated", "hyphenated"),
        ("# Title\n\ntext", "Title text"),
        ("- item\n* item\n• item", "item item item"),
        ("| a | b |\n| --- | :-: |\n| 1 | 2 |", "a b 1 2"),
        ("**bold** and *slanted*", "bold and slanted"),
        ("ﬁne\u00a0day", "fine day"),
        ("a \\* b \\| c", "a * b c"),
        ("```python\nx\n```", "x"),
        ("1. first", "1. first"),
        ("snake_case_name", "snake_case_name"),
    ],
)
def test_equal_after_normalising(one: str, other: str) -> None:
    assert normalise(one) == normalise(other)
    assert character_error_rate(one, other) == 0


def test_figures() -> None:
    assert character_error_rate("abxd", "abcd") == pytest.approx(0.25)
    assert character_error_rate("", "abcd") == 1
    assert character_error_rate("", "") == 0
    assert character_error_rate("x", "") == 1
    assert word_recall("the the cat", "the cat the dog") == pytest.approx(0.75)
    assert word_recall("the", "the the") == pytest.approx(0.5)
    assert word_recall("", "") == 1


@given(st.text(max_size=200))
def test_normalising_twice_changes_nothing_that_scores(text: str) -> None:
    assert character_error_rate(text, text) == 0
    assert word_recall(text, text) == 1
