"""What training knows of a page: its grey raster, and every character with its place.

`Page` is plain arrays in pixels. It does not know whether the page was typeset by us or found.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import numpy as np
import numpy.typing as npt
import pymupdf

from fastocr_cli.reader.vocabulary import UNKNOWN_MARK, LineKind, fold

Array = npt.NDArray[np.float32]
CELL_BREAK = "\t"
"""Stands between the cells of a table row, in place of a space."""

MIDDLE = 0.3
"""A line's middle lies this share of an em above its baseline: half the x-height or so."""

_NO_WIDTH = 0.01
"""Points."""


@dataclass(frozen=True)
class Line:
    """One line of text on a page.

    text: folded characters with spaces, `CELL_BREAK` between table cells.
    left, right: float32 [len(text)], x of each character's edges.
    middle: float32 [len(text)], y half-way up each character's x-height.
    em: font size. All in pixels (points before rendering).
    block: lines of one block share a number. is_kind_known: False where `kind` was only guessed.
    is_told: False where nobody says what stands there: the line is turned, or its font keeps its
    characters to itself.
    """

    text: str
    left: Array
    right: Array
    middle: Array
    em: float
    kind: LineKind
    block: int
    is_kind_known: bool = True
    is_told: bool = True

    @property
    def is_legible(self) -> bool:
        return self.is_told and self.text.count(UNKNOWN_MARK) <= 0.3 * len(self.text)


@dataclass(frozen=True)
class Page:
    """grey: uint8 [height, width]; lines in reading order."""

    grey: npt.NDArray[np.uint8]
    lines: tuple[Line, ...]


def extract_lines(page: pymupdf.Page) -> list[tuple[Line, int]]:
    """The page's horizontal lines in points, each with the colour of its first character.

    Order is the document's own.
    """
    flags = pymupdf.TEXT_PRESERVE_LIGATURES | pymupdf.TEXT_PRESERVE_WHITESPACE
    raw = page.get_text("rawdict", flags=flags | pymupdf.TEXT_MEDIABOX_CLIP)
    found = []
    for number, block in enumerate(raw["blocks"]):
        for line in block.get("lines", ()):
            extracted = _extract_line(line, number)
            if extracted is not None:
                found.append(extracted)
    return found


def _extract_line(line: dict[str, Any], block: int) -> tuple[Line, int] | None:
    text, left, right, middle = [], [], [], []
    sizes = []
    is_told = True
    is_level = abs(line["dir"][0] - 1) < 0.01
    for span in line["spans"]:
        size = span["size"]
        for characters, x0, x1, baseline in _glyphs(span["chars"]):
            folded = fold(characters) if is_level else UNKNOWN_MARK
            is_told &= is_level and not any(map(_is_untold, characters))
            width = (x1 - x0) / len(folded)
            for i, c in enumerate(folded):
                text.append(c)
                left.append(x0 + i * width)
                right.append(x0 + (i + 1) * width)
                middle.append(baseline - MIDDLE * size)
                sizes.append(size)
    start = next((i for i, c in enumerate(text) if c != " "), len(text))
    stop = next((i for i in range(len(text), start, -1) if text[i - 1] != " "), start)
    if start == stop:
        return None
    span = slice(start, stop)
    x0s, x1s, ys = (np.array(values[span], np.float32) for values in (left, right, middle))
    em = float(np.median(sizes[span]))
    if em < 1:
        return None
    colour = line["spans"][0]["color"]
    kind = LineKind.LINE
    return Line("".join(text[span]), x0s, x1s, ys, em, kind, block, False, is_told), colour


def _glyphs(chars: Sequence[dict[str, Any]]) -> list[tuple[str, float, float, float]]:
    """Of each glyph its characters, left and right edge, and baseline.

    What a font calls several characters, a ligature, comes with the first as wide as all of them
    and the others without any width.
    """
    glyphs: list[tuple[str, float, float, float]] = []
    for char in chars:
        x0, _, x1, _ = char["bbox"]
        if glyphs and x1 - x0 < _NO_WIDTH and not char["c"].isspace():
            first, x0, x1, baseline = glyphs[-1]
            glyphs[-1] = unicodedata.normalize("NFC", first + char["c"]), x0, x1, baseline
        else:
            glyphs.append((char["c"], x0, x1, char["origin"][1]))
    return glyphs


def _is_untold(character: str) -> bool:
    """Whether this is what is got of a font that keeps its characters to itself."""
    is_no_character = unicodedata.category(character) in ("Cc", "Cn", "Co")
    return character == UNKNOWN_MARK or (is_no_character and not character.isspace())


def join_lines(first: Line, second: Line, separator: str) -> Line:
    """Two pieces of one line as one, `separator` standing between them."""
    marks = len(separator)
    left, right = first.right[-1:].repeat(marks), second.left[:1].repeat(marks)
    return replace(
        first,
        text=first.text + separator + second.text,
        left=np.concatenate([first.left, left, second.left]),
        right=np.concatenate([first.right, right, second.right]),
        middle=np.concatenate([first.middle, first.middle[-1:].repeat(marks), second.middle]),
        em=max(first.em, second.em),
        is_told=first.is_told and second.is_told,
    )


def marked(line: Line) -> Line:
    """The line with one unknown mark for every run of characters that cannot be read."""
    if UNKNOWN_MARK not in line.text:
        return line
    runs = [list(run) for _, run in groupby(range(len(line.text)), key=_reading_unit(line.text))]
    return replace(
        line,
        text="".join(line.text[run[0]] for run in runs),
        left=np.array([line.left[run].min() for run in runs], np.float32),
        right=np.array([line.right[run].max() for run in runs], np.float32),
        middle=np.array([line.middle[run].mean() for run in runs], np.float32),
    )


def _reading_unit(text: str) -> Callable[[int], int]:
    """Which mark or character of the reading stands for a character, by its index."""
    return lambda i: -1 if text[i] == UNKNOWN_MARK else i


def scaled(line: Line, factor: float) -> Line:
    return replace(
        line,
        left=line.left * factor,
        right=line.right * factor,
        middle=line.middle * factor,
        em=line.em * factor,
    )


def render_grey(page: pymupdf.Page, scale: float) -> npt.NDArray[np.uint8]:
    """The page at `scale` pixels a point, uint8 [height, width]."""
    matrix = pymupdf.Matrix(scale, scale)
    pixmap = page.get_pixmap(matrix=matrix, colorspace=pymupdf.csGRAY, alpha=False)
    samples = np.frombuffer(pixmap.samples, np.uint8).reshape(pixmap.height, pixmap.stride)
    return samples[:, : pixmap.width].copy()


def body_em(lines: list[Line]) -> float:
    """The em of the page's body text: the median over characters."""
    sizes = np.repeat([line.em for line in lines], [len(line.text) for line in lines])
    return float(np.median(sizes)) if len(sizes) else 10.0
