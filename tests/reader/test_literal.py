"""Printed characters never turn into Markdown."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fastocr_cli.reader import vocabulary as v
from fastocr_cli.reader.literal import literal_line
from fastocr_cli.reader.unwrap import unwrap
from fastocr_cli.reader.vocabulary import LineKind
from fastocr_cli.results import BlockType
from fastocr_cli.text.blocks import split_blocks

KINDS = {
    LineKind.PARAGRAPH: BlockType.PARAGRAPH,
    LineKind.HEADING_2: BlockType.HEADING,
    LineKind.ITEM: BlockType.LIST_ITEM,
}
MARKS = "\\`*_[]()#+-.!<>~&|=:123ab "
words = st.lists(st.text(MARKS.replace(" ", ""), min_size=1, max_size=6), min_size=1, max_size=5)


def tokens_of(kind: LineKind, text: list[str]) -> list[int]:
    tokens = [int(kind), v.row_id(3)]
    for i, word in enumerate(text):
        tokens += [v.column_id(4 + 3 * i), *map(v.character_id, word)]
    return tokens


@pytest.mark.parametrize("kind", KINDS)
@given(text=words)
@example(text=["1."])
@example(text=["#", "#"])
def test_every_character_is_shown(kind: LineKind, text: list[str]) -> None:
    line = " ".join(text)
    if v.NUMBERED.match(line):
        return  # an item of a numbered list, whatever the reader called it
    [block] = split_blocks(unwrap(v.detokenize(tokens_of(kind, text))))
    assert block.text == line
    assert block.type is KINDS[kind]


@pytest.mark.parametrize(
    "text",
    ["snake_case", "2 * 3 ~ 6", "Name: ______ Date: ____", "R&D", "C:\\tmp", "[1] (a)", "p < 0.05"],
)
def test_harmless_text_stays_as_it_is(text: str) -> None:
    assert literal_line(text) == text


def test_cells() -> None:
    [table] = split_blocks(unwrap(v.detokenize(tokens_of(LineKind.TABLE, ["a|b", "*c*"]))))
    assert table.rows == (("a|b *c*",),)
