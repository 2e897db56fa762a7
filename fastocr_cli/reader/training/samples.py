"""Crops of known pages, with everything the losses ask for.

A crop keeps the lines that stand wholly inside it, trims lines that its edge cuts to whole words,
and paints the rest out; so its text is exactly what its tokens say.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from fastocr_cli.reader import vocabulary as v
from fastocr_cli.reader.training import figures, grounds, noise
from fastocr_cli.reader.training.pages import CELL_BREAK, Line, Page, marked
from fastocr_cli.reader.vocabulary import CELL_PX, COLUMN_PX, COLUMNS_PER_CELL, LineKind

IGNORE = -100
_FIGURE_SHARE, _RULE_SHARE, _TINTED_SHARE = 0.15, 0.2, 0.12
"""Crops with a picture in them, with a rule beside or under the text, and with lines in grey or on
a ground."""
_USUAL_ROWS, _USUAL_COLUMNS = 156, 112
"""Cells of the pages that crops are cut from; few pages at reading size have more."""
_ROW_TOLERANCE_PX = 3
"""A line whose middle is this near to a cell's edge may be read in either row of cells."""

Int = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Sample:
    """One crop.

    grey: uint8 [H, W], sides multiples of 16. tokens: int64 [T], ends with EOS.
    cells: int64 [T], the crop's cell each token is read from, IGNORE where there is none.
    columns: int64 [H/16, W/2], the character in each 2 px column, 0 for none.
    edges: int64 [H/16, W/2], 1 where a character begins, 0 where it goes on; IGNORE elsewhere.
    starts: int64 [H/16, W/16], what begins in each cell: 0 nothing, `vocabulary.WORD_START` a
        word, else the `LineKind` of a line; IGNORE where it might as well be the cell beside.
    origin: row and column of the crop's first cell on its page (tokens name places of the page).
    page_columns: width of that page in cells.
    is_kind_known: whether the line kinds among the tokens may be learned.
    """

    grey: npt.NDArray[np.uint8]
    tokens: Int
    cells: Int
    columns: Int
    edges: Int
    starts: Int
    origin: tuple[int, int]
    page_columns: int
    is_kind_known: bool


def crop_sample(
    rng: random.Random, page: Page, height: int, width: int, *, clean: float = 0.33
) -> Sample | None:
    """A random crop of height x width px (multiples of 16), None where it shows no text.

    clean: chance that it is neither turned nor degraded.
    """
    top, left = _window(rng, page, height, width)
    degrade = rng.random() >= clean
    return cut_sample(rng, page, (top, left, height, width), degrade=degrade)


def whole_sample(rng: random.Random, page: Page, *, clean: float = 0.33) -> Sample | None:
    """The whole page, sides padded to multiples of 16."""
    height, width = (CELL_PX * math.ceil(side / CELL_PX) for side in page.grey.shape)
    degrade = rng.random() >= clean
    return cut_sample(rng, page, (0, 0, height, width), degrade=degrade, at_origin=True)


def _window(rng: random.Random, page: Page, height: int, width: int) -> tuple[int, int]:
    """Upper left corner of the fullest of three windows: paper teaches less than text."""
    corners = [_corner(rng, page, width) for _ in range(3)]
    return max(corners, key=lambda corner: _text_inside(page, corner, height, width))


def _corner(rng: random.Random, page: Page, width: int) -> tuple[int, int]:
    """Near the start of a line most of the time, else anywhere along it."""
    line = rng.choice(page.lines)
    top = int(line.middle[0] - line.em) - rng.randint(0, 24)
    if rng.random() < 0.7:
        return top, int(line.left[0]) - rng.randint(2, 24)
    return top, rng.randint(-8, max(-8, page.grey.shape[1] - width))


def _text_inside(page: Page, corner: tuple[int, int], height: int, width: int) -> float:
    """How many characters, about, a window shows."""
    top, left = corner
    total = 0.0
    for line in page.lines:
        if top <= line.middle[0] < top + height:
            start, stop = float(line.left[0]), float(line.right[-1])
            shown = min(stop, left + width) - max(start, left)
            total += len(line.text) * max(0.0, shown) / max(stop - start, 1.0)
    return total


def cut_sample(
    rng: random.Random,
    page: Page,
    window: tuple[int, int, int, int],
    *,
    degrade: bool,
    at_origin: bool = False,
) -> Sample | None:
    top, left, height, width = window
    grey = _cut_pixels(page.grey, window)
    figure = figures.place(rng, height, width) if rng.random() < _FIGURE_SHARE else None
    kept: list[Line] = []
    for line in page.lines:
        moved = replace(
            line, left=line.left - left, right=line.right - left, middle=line.middle - top
        )
        if _is_outside(moved, height, width):
            continue
        room = figure.room_beside(moved, width) if figure else (0, width)
        part = _inside(marked(moved), height, room) if moved.is_told else None
        _paint_out_rest(grey, moved, part)
        if part is not None:
            kept.append(part)
    if sum(len(line.text) for line in kept) < 3:
        return None
    kept = _restart_blocks(kept)
    if figure:
        figure.paint(rng, grey)
    if rng.random() < _RULE_SHARE:
        figures.rule(rng, grey, kept)
    if rng.random() < _TINTED_SHARE:
        grounds.tint(rng, grey, kept)
    if degrade:
        if rng.random() < 0.2:
            grey, kept = _skewed(rng, grey, kept)
        grey = noise.degraded(rng, grey)
    rows, columns = height // CELL_PX, width // CELL_PX
    origin = (0, 0) if at_origin else _origin(rng, rows, columns)
    tokens, cells = tokens_of(kept, rows, columns, origin)
    return Sample(
        np.ascontiguousarray(grey),
        *(tokens, cells, *column_labels(kept, rows, columns), start_labels(kept, rows, columns)),
        origin=origin,
        page_columns=columns if at_origin else _page_columns(rng, origin[1] + columns),
        is_kind_known=all(line.is_kind_known for line in kept),
    )


def _origin(rng: random.Random, rows: int, columns: int) -> tuple[int, int]:
    return (
        rng.randint(0, max(0, _USUAL_ROWS - rows)),
        rng.randint(0, max(0, _USUAL_COLUMNS - columns)),
    )


def _page_columns(rng: random.Random, least: int) -> int:
    return max(least, rng.randint(64, _USUAL_COLUMNS))


def _cut_pixels(grey: npt.NDArray[np.uint8], window: tuple[int, ...]) -> npt.NDArray[np.uint8]:
    top, left, height, width = window
    out = np.full((height, width), 255, np.uint8)
    y0, x0 = max(0, top), max(0, left)
    y1, x1 = min(grey.shape[0], top + height), min(grey.shape[1], left + width)
    if y1 > y0 and x1 > x0:
        out[y0 - top : y1 - top, x0 - left : x1 - left] = grey[y0:y1, x0:x1]
    return out


def _is_outside(line: Line, height: int, width: int) -> bool:
    y = float(line.middle[0])
    return (
        y + 0.6 * line.em <= 0
        or y - 0.6 * line.em >= height
        or line.right[-1] <= 0
        or line.left[0] >= width
    )


def _inside(line: Line, height: int, room: tuple[int, int]) -> Line | None:
    """The whole words of a line that stand in a stretch across, None where there are none."""
    if line.middle.min() - 0.5 * line.em < 0 or line.middle.max() + 0.55 * line.em > height:
        return None
    start, stop = 0, len(line.text)
    inside = np.flatnonzero((line.left >= room[0]) & (line.right <= room[1]))
    if not len(inside):
        return None
    start, stop = int(inside[0]), int(inside[-1]) + 1
    if start > 0:
        while start < stop and not _is_gap(line.text[start - 1]):
            start += 1
    if stop < len(line.text):
        while stop > start and not _is_gap(line.text[stop]):
            stop -= 1
    while start < stop and _is_gap(line.text[start]):
        start += 1
    while stop > start and _is_gap(line.text[stop - 1]):
        stop -= 1
    if start == stop:
        return None
    span = slice(start, stop)
    kind = line.kind
    if kind is LineKind.ITEM and (start > 0 or line.left[0] - room[0] < 1.6 * line.em):
        kind = LineKind.PARAGRAPH  # its bullet is cut off, nothing shows that it is an item
    return replace(
        line,
        kind=kind,
        text=line.text[span],
        left=line.left[span],
        right=line.right[span],
        middle=line.middle[span],
    )


def _is_gap(character: str) -> bool:
    return character in (" ", CELL_BREAK)


def _paint_out_rest(grey: npt.NDArray[np.uint8], line: Line, part: Line | None) -> None:
    """White over what of `line` is not in `part`."""
    y = float(line.middle[0])
    top, bottom = max(0, int(y - 0.58 * line.em)), max(0, int(y + 0.6 * line.em) + 1)
    left, right = float(line.left[0]), float(line.right[-1])
    spans = [(left, right)]
    if part is not None:
        spans = [(left, float(part.left[0]) - 1), (float(part.right[-1]) + 1, right)]
    for start, stop in spans:
        if stop - start > 1:
            grey[top:bottom, max(0, int(start)) : max(0, int(stop) + 2)] = 255


def _restart_blocks(lines: list[Line]) -> list[Line]:
    """A line that goes on with a block whose beginning was cut off begins a block here."""
    out, previous = [], None
    for line in lines:
        if line.block != previous:
            if line.kind is LineKind.LINE:
                line = replace(line, kind=LineKind.PARAGRAPH)
            elif line.kind is LineKind.ROW:
                line = replace(line, kind=LineKind.TABLE)
        out.append(line)
        previous = line.block
    return out


def _skewed(
    rng: random.Random, grey: npt.NDArray[np.uint8], lines: list[Line]
) -> tuple[npt.NDArray[np.uint8], list[Line]]:
    """Turn the crop by up to 1.5 degrees, and the characters' places with it."""
    degrees = rng.uniform(-1.5, 1.5) * min(1.0, 500 / max(grey.shape))
    cosine, sine = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    centre_y, centre_x = (grey.shape[0] - 1) / 2, (grey.shape[1] - 1) / 2

    def turned(line: Line) -> Line:
        x = (line.left + line.right) / 2 - centre_x
        y = line.middle - centre_y
        new_x, half = cosine * x + sine * y + centre_x, (line.right - line.left) / 2
        return replace(
            line,
            left=(new_x - half).astype(np.float32),
            right=(new_x + half).astype(np.float32),
            middle=(cosine * y - sine * x + centre_y).astype(np.float32),
        )

    return noise.rotated(grey, degrees), [turned(line) for line in lines]


def tokens_of(
    lines: list[Line], rows: int, columns: int, origin: tuple[int, int]
) -> tuple[Int, Int]:
    """Tokens and the cell each is read from. Places count from the page's corner, cells from the
    crop's."""
    tokens: list[int] = []
    cells: list[int] = []
    for line in lines:
        row = np.clip(line.middle // CELL_PX, 0, rows - 1).astype(int)
        column = np.clip((line.left + line.right) / 2 // CELL_PX, 0, columns - 1).astype(int)
        cell = row * columns + column
        tokens += [line.kind, v.row_id(row[0] + origin[0]), v.column_id(column[0] + origin[1])]
        cells += [int(cell[0])] * 3
        for i, character in enumerate(line.text):
            if not _is_gap(character):
                tokens.append(v.character_id(character))
                cells.append(int(cell[i]))
                continue
            ahead = _next_word(line.text, i)
            if character == CELL_BREAK:
                tokens.append(v.CELL)
                cells.append(int(cell[ahead]))
            if not _is_gap(line.text[i + 1]):
                tokens.append(v.column_id(column[i + 1] + origin[1]))
                cells.append(int(cell[i + 1]))
    tokens.append(v.EOS)
    cells.append(IGNORE)
    return np.array(tokens, np.int64), np.array(cells, np.int64)


def _next_word(text: str, i: int) -> int:
    while _is_gap(text[i]):
        i += 1
    return i


def column_labels(lines: list[Line], rows: int, columns: int) -> tuple[Int, Int]:
    """The character of each 2 px column, [rows, 8 * columns]: 0 for none, IGNORE for either; and
    where it begins, see `Sample.edges`."""
    labels = np.zeros((rows, columns * COLUMNS_PER_CELL), np.int64)
    edges = np.full_like(labels, IGNORE)
    either: list[tuple[int, int, int]] = []
    for line in lines:
        first = np.ceil(line.left / COLUMN_PX - 0.5).astype(int)
        last = np.ceil(line.right / COLUMN_PX - 0.5).astype(int)
        centre = ((line.left + line.right) / 2 // COLUMN_PX).astype(int)
        row = np.clip(line.middle // CELL_PX, 0, rows - 1).astype(int)
        offset = line.middle - row * CELL_PX
        for i, character in enumerate(line.text):
            if _is_gap(character):
                continue
            start, stop = max(0, min(first[i], centre[i])), max(last[i], centre[i] + 1)
            labels[row[i], start:stop] = v.character_id(character)
            edges[row[i], start:stop] = 0
            edges[row[i], start : start + 1] = 1
            if offset[i] < _ROW_TOLERANCE_PX and row[i] > 0:
                either.append((row[i] - 1, start, stop))
            elif offset[i] > CELL_PX - _ROW_TOLERANCE_PX and row[i] < rows - 1:
                either.append((row[i] + 1, start, stop))
    for row_index, start, stop in either:
        span = labels[row_index, start:stop]
        is_free = span == 0
        span[is_free] = IGNORE
        edges[row_index, start:stop][is_free] = 0
        edges[row_index, start : start + 1][is_free[:1]] = 1
    return labels, edges


def start_labels(lines: list[Line], rows: int, columns: int) -> Int:
    """What begins in each cell, [rows, columns]; see `Sample.starts`."""
    labels = np.zeros((rows, columns), np.int64)
    near: list[tuple[int, int]] = []
    for line in lines:
        centre = (line.left + line.right) / 2
        row = np.clip(line.middle // CELL_PX, 0, rows - 1).astype(int)
        column = np.clip(centre // CELL_PX, 0, columns - 1).astype(int)
        for i, character in enumerate(line.text):
            if _is_gap(character) or (i and not _is_gap(line.text[i - 1])):
                continue
            here = int(row[i]), int(column[i])
            labels[here] = max(labels[here], line.kind if i == 0 else v.WORD_START)
            near += _as_well(here, float(line.middle[i]), float(centre[i]))
    for y, x in near:
        if 0 <= y < rows and 0 <= x < columns and labels[y, x] == 0:
            labels[y, x] = IGNORE
    return labels


def _as_well(cell: tuple[int, int], y: float, x: float) -> list[tuple[int, int]]:
    """Cells beside `cell` that a point near its edge might as well be in."""
    down, across = y - cell[0] * CELL_PX, x - cell[1] * CELL_PX
    rows = [-1] * (down < _ROW_TOLERANCE_PX) + [1] * (down > CELL_PX - _ROW_TOLERANCE_PX)
    steps = [-1] * (across < _ROW_TOLERANCE_PX) + [1] * (across > CELL_PX - _ROW_TOLERANCE_PX)
    beside = [(dy, 0) for dy in rows] + [(0, dx) for dx in steps]
    beside += [(dy, dx) for dy in rows for dx in steps]
    return [(cell[0] + dy, cell[1] + dx) for dy, dx in beside]
