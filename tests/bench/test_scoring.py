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
        ("hyphen-\nated hy\u2010\nphen\u00ad\r\nated", "hyphenated hyphenated"),
        ("# Title\n\ntext", "Title text"),
        ("- item\n* item\n• item", "item item item"),
        ("| a | b |\n| --- | :-: |\n| 1 | 2 |", "a b 1 2"),
        (
            "<table><tr><th>a<sup>2</sup></th><th>b</th></tr><tr><td>x*</td><td>2<br>3</td></tr>"
            "</table>",
            "| a² | b |\n| --- | --- |\n| x\\* | 2<br/>3 |",
        ),
        ("p &lt; 0.05 &amp; &#42;a&#42;", "p < 0.05 & \\*a\\*"),
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


PLAIN_WORDS = st.lists(st.text("abcäß019", min_size=1, max_size=8), max_size=20)


@given(PLAIN_WORDS)
def test_plain_words_stay_as_they_are_however_often(words: list[str]) -> None:
    text = " ".join(words)
    assert normalise("  \n".join(words)) == text
    assert normalise(normalise(text)) == text
