"""Styling HTML of hub models as Markdown."""

import pytest
from hypothesis import given, settings

from fastocr_cli.text.inline_html import styling_to_markdown
from fastocr_cli.text.neutral import neutralise
from tests.text import nasty


@pytest.mark.parametrize(
    ("html", "markdown"),
    [
        ("no tags, 1 < 2", "no tags, 1 < 2"),
        ("10<sup>6</sup> H<sub>2</sub>O x<sup>th</sup> y<sub>a</sub>", "10⁶ H₂O x^(th) y_a"),
        ("<b>bold</b> <EM> it </EM> <u>u</u>", "**bold** *it* u"),
        ("one<br>two<br/>\nthree", "one  \ntwo  \nthree"),
        ("| a<br/>b |", "| a<br>b |"),
        ('<div align="center"><b>T</b></div>\ntext', "\n\n**T**\n\ntext"),
        ('<img src="images/1.png" alt="a chart">', "![a chart](images/1.png)"),
        ('<img src="http://a/b.png" alt="a chart">', "a chart"),
        ("<!-- image -->x", "x"),
        ("`<b>` and\n```\n<b>x</b>\n```", "`<b>` and\n```\n<b>x</b>\n```"),
        ("<table><tr><td>x<br>y</td></tr></table>", "<table><tr><td>x<br>y</td></tr></table>"),
        ("<script>x</script>", "<script>x</script>"),
    ],
)
def test_styling(html: str, markdown: str) -> None:
    assert styling_to_markdown(html) == markdown


@settings(max_examples=200, deadline=None)
@given(nasty.markdown)
def test_any_string_passes(text: str) -> None:
    neutralise(styling_to_markdown(text))
