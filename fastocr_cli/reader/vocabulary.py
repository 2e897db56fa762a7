"""The reader's alphabet: characters, line kinds, and places.

The reader writes a page as lines. A line is a kind (what sort of line it is), the row and the
column of the 16 px cell it starts in, and its words. Between two words stands not a space but
the column where the next word starts:

    PARAGRAPH row 12 col 5  D e a r  col 8  M r s  LINE row 14 col 5  ...

So the place of every word is part of the text (as in Kosmos-2.5 or Pix2Seq), reading order is
something the model says rather than something it must remember, and a loop would have to run
backwards over the page. The cost is two tokens a line; a column costs what a space would.

This module knows ids and strings. It knows neither pictures nor tensors.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from itertools import groupby

from fastocr_cli.reader.indentation import Placed, spaced
from fastocr_cli.reader.literal import literal, literal_line
from fastocr_cli.reader.nesting import Nesting

CELL_PX, COLUMNS_PER_CELL = 16, 8
COLUMN_PX = CELL_PX // COLUMNS_PER_CELL
"""The columns of a row, of which each shows one character, are narrower than its cells."""
USUAL_EM_PX = 23.0
"""Of body text, as pages are read."""
MAX_COLUMNS = 128
MAX_ROWS = 192

PAD, BOS, EOS, IMAGE, UNKNOWN, CELL = range(6)
"""UNKNOWN is the visible mark of what could not be read; CELL separates the cells of a row."""


class LineKind(IntEnum):
    """What a line is; the value is its token id."""

    LINE = 6  # goes on with the block above
    PARAGRAPH = 7  # first line of a paragraph
    HEADING_1 = 8
    HEADING_2 = 9
    HEADING_3 = 10
    ITEM = 11  # first line of a list item; a drawn bullet is not written again
    TABLE = 12  # first row of a table
    ROW = 13  # a further row
    CODE = 14  # a line of code


WORD_START = 1
"""Among cells, numbered as line kinds are: here begins a word, but no line."""

FIRST_CHARACTER = 16
UNKNOWN_MARK = "�"

_ASCII = "".join(map(chr, range(33, 127)))
_LATIN_1 = "".join(chr(i) for i in range(0xA1, 0x100) if i != 0xAD)
_TYPOGRAPHIC = "‘’“”‚„–—•…€†‡™ŒœŠšŽžŸ"
CHARACTERS = _ASCII + _LATIN_1 + _TYPOGRAPHIC
FIRST_COLUMN = FIRST_CHARACTER + len(CHARACTERS)
FIRST_ROW = FIRST_COLUMN + MAX_COLUMNS
VOCABULARY_SIZE = FIRST_ROW + MAX_ROWS

_CHARACTER_ID = {c: FIRST_CHARACTER + i for i, c in enumerate(CHARACTERS)}
BULLET = _CHARACTER_ID["•"]
_FOLDED = {
    **{"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "ft", "ﬆ": "st"},
    **{"‐": "-", "‑": "-", "‒": "–", "―": "—", "−": "–", "­": "-"},
    **{"′": "'", "″": '"', "‛": "‘", "‟": "“", "⁃": "•", "∙": "•", "●": "•", "▪": "•", "■": "•"},
    **{
        "∗": "*",
        "∼": "~",
        "˜": "~",
        "ˆ": "^",
        "⁄": "/",
        "∕": "/",
        "⋅": "·",
        "µ": "µ",
        "Ω": UNKNOWN_MARK,
    },
    **{"\u2009": " ", "\u00a0": " ", "\u2002": " ", "\u2003": " ", "\u200a": " ", "\u202f": " "},
}


def fold(text: str) -> str:
    """Write `text` with the characters the reader knows; what it lacks becomes the unknown mark.

    Ligatures fall apart, look-alike dashes and quotes are folded, accents that have no character
    of their own are dropped from their letter. Spaces stay spaces.
    """
    return "".join(map(_fold_one, text))


def _fold_one(character: str) -> str:
    folded = _FOLDED.get(character, character)
    if all(c in _CHARACTER_ID or c == " " for c in folded):
        return folded
    plain = "".join(
        c for c in unicodedata.normalize("NFKD", folded) if not unicodedata.combining(c)
    )
    if plain and all(c in _CHARACTER_ID for c in plain):
        return plain
    return " " if character.isspace() else UNKNOWN_MARK


def character_id(character: str) -> int:
    """Token id of one folded, non-space character."""
    return UNKNOWN if character == UNKNOWN_MARK else _CHARACTER_ID[character]


def column_id(column: int) -> int:
    return FIRST_COLUMN + min(max(column, 0), MAX_COLUMNS - 1)


def row_id(row: int) -> int:
    return FIRST_ROW + min(max(row, 0), MAX_ROWS - 1)


def column_of(token: int) -> int | None:
    """The column a token names, or None for other tokens."""
    return token - FIRST_COLUMN if FIRST_COLUMN <= token < FIRST_ROW else None


def row_of(token: int) -> int | None:
    return token - FIRST_ROW if FIRST_ROW <= token < VOCABULARY_SIZE else None


def character_of(token: int) -> str | None:
    if token == UNKNOWN:
        return UNKNOWN_MARK
    if FIRST_CHARACTER <= token < FIRST_COLUMN:
        return CHARACTERS[token - FIRST_CHARACTER]
    return None


def kind_of(token: int) -> LineKind | None:
    return LineKind(token) if token in LineKind._value2member_map_ else None


def piece_of(token: int) -> str:
    """What one token writes: its character, a space for a column, a line feed for a line."""
    if (character := character_of(token)) is not None:
        return character
    if kind_of(token) is not None:
        return "\n"
    return " " if column_of(token) is not None else ""


@dataclass
class ReadLine:
    """One line as the reader wrote it: cells of words (one cell unless it is a table row), and the
    column of each word it named."""

    kind: LineKind
    row: int | None = None
    columns: list[int] = field(default_factory=list)
    cells: list[list[str]] = field(default_factory=lambda: [[""]])

    @property
    def text(self) -> str:
        return " ".join(word for cell in self.cells for word in cell if word)


def split_lines(tokens: Iterable[int]) -> list[ReadLine]:
    """Parse token ids into lines; lenient, for a model may write anything."""
    lines: list[ReadLine] = []
    for token in tokens:
        kind = kind_of(token)
        if kind is not None or not lines:
            lines.append(ReadLine(kind or LineKind.PARAGRAPH))
            if kind is not None:
                continue
        _append(lines[-1], token)
    return [line for line in lines if line.text]


def _append(line: ReadLine, token: int) -> None:
    words = line.cells[-1]
    if token == CELL:
        line.cells.append([""])
    elif (row := row_of(token)) is not None:
        line.row = row
    elif (column := column_of(token)) is not None:
        if words[-1]:
            words.append("")
        del line.columns[sum(map(len, line.cells)) - 1 :]
        line.columns.append(column)
    elif (character := character_of(token)) is not None:
        words[-1] += character


_MARKS = {
    LineKind.HEADING_1: "# ",
    LineKind.HEADING_2: "## ",
    LineKind.HEADING_3: "### ",
    LineKind.ITEM: "- ",
    LineKind.CODE: "    ",
}
TABULAR = (LineKind.TABLE, LineKind.ROW)
NUMBERED = re.compile(r"\(?(\d{1,3}|[a-z])[.)] ")


def detokenize(tokens: Sequence[int]) -> str:
    """The Markdown of the token ids: one line of text per line of the page, blocks parted by a
    blank line, `#`, `-` and `|` for headings, list items and table rows; what was printed is
    escaped where it would be taken for such marks."""
    pieces: list[str] = []
    above: LineKind | None = None  # kind of the line above
    block: LineKind | None = None  # and of the block it belongs to
    nesting = Nesting()
    for line, text in _lines_with_texts(tokens):
        if above is not None:
            pieces.append("\n" if _goes_on(line.kind, above, block) else "\n\n")
        pieces += [_item_mark(line, nesting) if line.kind is LineKind.ITEM else _mark(line), text]
        above = line.kind
        block = block if line.kind is LineKind.LINE else line.kind
        if block is not LineKind.ITEM:
            nesting.end()
    return "".join(pieces)


def _mark(line: ReadLine) -> str:
    return _MARKS.get(line.kind, "")


def _item_mark(line: ReadLine, nesting: Nesting) -> str:
    """With the spaces that put a list into an item of another."""
    number = NUMBERED.match(line.text)
    mark = "" if number else _mark(line)
    column = line.columns[0] if line.columns else 0
    return " " * nesting.indent(column, line.row or 0, len(number[0] if number else mark)) + mark


def _goes_on(kind: LineKind, above: LineKind, block: LineKind | None) -> bool:
    """Whether a line stands directly below the one above it, without a blank line."""
    match kind:
        case LineKind.LINE:
            return True
        case LineKind.ITEM:
            return block is LineKind.ITEM
        case LineKind.ROW:
            return above in TABULAR
        case LineKind.CODE:
            return above is LineKind.CODE
        case _:
            return False


def _lines_with_texts(tokens: Sequence[int]) -> Iterator[tuple[ReadLine, str]]:
    for is_code, run in groupby(split_lines(tokens), lambda line: line.kind is LineKind.CODE):
        lines = list(run)
        texts = _code(lines) if is_code else map(_line_text, lines)
        yield from zip(lines, texts, strict=True)


def _line_text(line: ReadLine) -> str:
    if line.kind in TABULAR:
        cells = (literal(" ".join(filter(None, cell))) for cell in line.cells)
        return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
    return literal_line(line.text)


def _code(lines: Sequence[ReadLine]) -> Iterator[str]:
    """Lines of code as they were set, each with the blank ones above it, which are marked as it."""
    for blank, text in spaced([_placed(line) for line in lines]):
        yield f"\n{_MARKS[LineKind.CODE]}" * blank + text


def _placed(line: ReadLine) -> Placed:
    words = [word for cell in line.cells for word in cell]
    if len(words) != len(line.columns):
        return Placed([line.text], line.columns[:1] or [0], line.row)
    columns = [column for word, column in zip(words, line.columns, strict=True) if word]
    return Placed([word for word in words if word], columns, line.row)
