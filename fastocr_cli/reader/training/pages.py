"""What training knows of a page: its grey raster, and every character with its place.

`Page` is plain arrays in pixels. It does not know whether the page was typeset by us or found.
"""

from __future__ import annotations

from dataclasses import dataclass
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


@dataclass(frozen=True)
class Line:
    """One line of text on a page.

    text: folded characters with spaces, `CELL_BREAK` between table cells.
    left, right: float32 [len(text)], x of each character's edges.
    middle: float32 [len(text)], y half-way up each character's x-height.
    em: font size. All in pixels (points before rendering).
    block: lines of one block share a number. is_kind_known: False where `kind` was only guessed.
    """

    text: str
    left: Array
    right: Array
    middle: Array
    em: float
    kind: LineKind
    block: int
    is_kind_known: bool = True

    @property
    def is_legible(self) -> bool:
        return self.text.count(UNKNOWN_MARK) <= 0.3 * len(self.text)


@dataclass(frozen=True)
class Page:
    """grey: uint8 [height, width]; lines in reading order."""

    grey: npt.NDArray[np.uint8]
    lines: tuple[Line, ...]


def extract_lines(page: pymupdf.Page) -> list[tuple[Line, int]]:
    """The page's horizontal lines in points, each with the colour of its first character.

    Order is the document's own. Lines that are turned or mostly unreadable come with a `text` of
    unknown marks, so that whoever crops can paint them out.
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
    is_level = abs(line["dir"][0] - 1) < 0.01
    for span in line["spans"]:
        size = span["size"]
        for char in span["chars"]:
            folded = fold(char["c"]) if is_level else UNKNOWN_MARK
            x0, _, x1, _ = char["bbox"]
            width = (x1 - x0) / len(folded)
            for i, c in enumerate(folded):
                text.append(c)
                left.append(x0 + i * width)
                right.append(x0 + (i + 1) * width)
                middle.append(char["origin"][1] - MIDDLE * size)
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
    return Line("".join(text[span]), x0s, x1s, ys, em, LineKind.LINE, block, False), colour


def join_lines(first: Line, second: Line, separator: str) -> Line:
    """Two pieces of one line as one, `separator` standing between them."""
    gap = np.array([first.right[-1]], np.float32), np.array([second.left[0]], np.float32)
    return Line(
        first.text + separator + second.text,
        np.concatenate([first.left, gap[0], second.left]),
        np.concatenate([first.right, gap[1], second.right]),
        np.concatenate([first.middle, first.middle[-1:], second.middle]),
        max(first.em, second.em),
        first.kind,
        first.block,
        first.is_kind_known,
    )


def scaled(line: Line, factor: float) -> Line:
    return Line(
        line.text,
        line.left * factor,
        line.right * factor,
        line.middle * factor,
        line.em * factor,
        line.kind,
        line.block,
        line.is_kind_known,
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
