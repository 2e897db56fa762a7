"""The reader's alphabet: folding, ids, lines back to text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastocr_cli.reader import vocabulary as v
from fastocr_cli.reader.unwrap import unwrap
from fastocr_cli.reader.vocabulary import LineKind


def spell(kind: LineKind, row: int, text: str) -> list[int]:
    """Tokens of one line, words at made-up columns; "|" parts the cells of a table row."""
    tokens = [int(kind), v.row_id(row)]
    for column, word in enumerate(text.split()):
        if word == "|":
            tokens.append(v.CELL)
            continue
        tokens.append(v.column_id(3 * column))
        tokens += [v.character_id(c) for c in word]
    return tokens


def test_ids_do_not_overlap() -> None:
    kinds = {int(kind) for kind in LineKind}
    characters = {v.character_id(c) for c in v.CHARACTERS}
    columns = {v.column_id(i) for i in range(v.MAX_COLUMNS)}
    rows = {v.row_id(i) for i in range(v.MAX_ROWS)}
    special = {v.PAD, v.BOS, v.EOS, v.IMAGE, v.UNKNOWN, v.CELL}
    groups = [special, kinds, characters, columns, rows]
    assert sum(map(len, groups)) == len(set().union(*groups))
    assert max(rows) == v.VOCABULARY_SIZE - 1
    assert len(characters) == len(v.CHARACTERS)


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("ﬁne ﬂow oﬃce", "fine flow office"),
        ("a−b ‐ c", "a-b - c".replace("a-b", "a–b")),
        ("naïve café Œuvre", "naïve café Œuvre"),
        ("ā ő", "a o"),
        ("漢字", "��"),
        ("a\u00a0b\u2009c", "a b c"),
        ("● item", "• item"),
    ],
)
def test_fold(text: str, folded: str) -> None:
    assert v.fold(text) == folded


@given(st.text())
def test_folded_text_has_ids(text: str) -> None:
    for character in v.fold(text):
        assert character == " " or 0 < v.character_id(character) < v.FIRST_COLUMN


def test_detokenize_blocks() -> None:
    tokens = [
        *spell(LineKind.HEADING_1, 1, "A title"),
        *spell(LineKind.PARAGRAPH, 3, "First line"),
        *spell(LineKind.LINE, 5, "second line"),
        *spell(LineKind.ITEM, 7, "one"),
        *spell(LineKind.LINE, 8, "more"),
        *spell(LineKind.ITEM, 9, "1. two"),
        *spell(LineKind.TABLE, 11, "a | b c"),
        *spell(LineKind.ROW, 12, "| d"),
        *spell(LineKind.CODE, 14, "x = 1"),
        *spell(LineKind.CODE, 15, "y = 2"),
        v.EOS,
    ]
    assert v.detokenize(tokens) == (
        "# A title\n\nFirst line\nsecond line\n\n- one\nmore\n1. two\n\n"
        "| a | b c |\n|  | d |\n\n    x = 1\n    y = 2"
    )


def test_code_keeps_its_blank_lines() -> None:
    code = [(14, "f(x):"), (16, "y"), (20, "z")]
    tokens = [token for row, text in code for token in spell(LineKind.CODE, row, text)]
    assert v.detokenize(tokens) == "    f(x):\n    y\n    \n    z"
    assert unwrap(v.detokenize(tokens)) == "```\nf(x):\ny\n\nz\n```"


@given(st.lists(st.integers(0, v.VOCABULARY_SIZE + 5), max_size=60))
def test_any_tokens_are_text(tokens: list[int]) -> None:
    text = v.detokenize(tokens)
    assert "\n\n\n" not in text
    written = [v.character_of(t) for t in tokens]
    assert [c for c in text if c == v.UNKNOWN_MARK] == [c for c in written if c == v.UNKNOWN_MARK]
