"""Markdown to blocks: every kind, in order, with its text; and never an exception."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fastocr_cli.results import BlockType
from fastocr_cli.text.blocks import split_blocks
from fastocr_cli.text.neutral import is_neutral, neutralise
from tests.text import nasty
from tests.writers.examples import TECHNICAL

Summary = tuple[str, str, int]


def summaries(markdown: str) -> list[Summary]:
    return [(str(block.type), block.text, block.level) for block in split_blocks(markdown)]


def text(words: str) -> Summary:
    return "paragraph", words, 0


def item(words: str, depth: int) -> Summary:
    return "list_item", words, depth


@pytest.mark.parametrize(
    ("markdown", "expected"),
    [
        ("# A *b* `c`", [("heading", "A b c", 1)]),
        ("A\n===\n\nB\n---", [("heading", "A", 1), ("heading", "B", 2)]),
        ("one\ntwo  \nthree", [text("one two\nthree")]),
        ("- a\n  - b\n- c", [item("a", 1), item("b", 2), item("c", 1)]),
        ("1. a\n\n   more\n2. b", [item("a", 1), text("more"), item("b", 1)]),
        ("> quoted", [text("quoted")]),
        ("```py\nx = 1\n\ny\n```", [("code", "x = 1\n\ny", 0)]),
        ("a\n\n---\n\nb", [text("a"), ("rule", "", 0), text("b")]),
        ("$$x$$", [("formula", "x", 0)]),
        ("$$\na\n+ b\n= c\n$$", [("formula", "a\n+ b\n= c", 0)]),
        ("\\[ x_1 \\]", [("formula", "x_1", 0)]),
        ("text\n$$y$$\nmore", [text("text"), ("formula", "y", 0), text("more")]),
        ("$$x$$ (1)", [text("$x$ (1)")]),
        ("$$ open\n\nnot closed", [text("$$ open"), text("not closed")]),
        ("$a_1*b*c_2$ and \\(d_e\\)", [text("$a_1*b*c_2$ and $d_e$")]),
        ("$5 and $6, 5$ each", [text("$5 and $6, 5$ each")]),
        ("![alt](x.png) [link](y) &amp; &lt;", [text("alt link & <")]),
        ("[1]: https://example.org", [text("[1]: https://example.org")]),
        ("", []),
        (" \n\n\t", []),
    ],
)  # fmt: skip
def test_kinds(markdown: str, expected: list[Summary]) -> None:
    assert summaries(markdown) == expected


def test_tables_of_both_spellings() -> None:
    pipes, html = split_blocks("|a|b|\n|-|-|\n|1<br>2|c|\n\n<table><tr><td>x</td></tr></table>")
    assert pipes.type == html.type == BlockType.TABLE
    assert pipes.rows == (("a", "b"), ("1\n2", "c"))
    assert pipes.text == "a\tb\n1 2\tc"
    assert html.rows == (("x",),)


def test_the_sources_of_the_blocks_make_up_the_page() -> None:
    lines = "\n".join(block.markdown for block in split_blocks(TECHNICAL)).split("\n")
    assert lines == [line for line in neutralise(TECHNICAL).split("\n") if line]


@settings(max_examples=500, deadline=None)
@given(st.one_of(nasty.markdown, st.text()))
def test_any_string_gives_blocks_that_are_safe_one_by_one(page: str) -> None:
    for block in split_blocks(page):
        assert is_neutral(block.markdown)
        block.text.encode("utf-8")
        assert len({len(row) for row in block.rows}) <= 1


words = st.lists(st.text(st.characters(categories=["Ll", "Lu", "Nd"]), min_size=1, max_size=6))


@settings(max_examples=100, deadline=None)
@given(st.lists(words.filter(bool).map(" ".join), min_size=1, max_size=6))
def test_no_word_is_lost(lines: list[str]) -> None:
    page = "\n\n".join(lines)
    assert " ".join(block.text for block in split_blocks(page)).split() == page.split()


@pytest.mark.parametrize("page", nasty.STRINGS)
def test_the_corpus_gives_blocks(page: str) -> None:
    assert isinstance(split_blocks(page), tuple)
