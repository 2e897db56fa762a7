"""Words of a page to its lines, in reading order.

Geometry alone: which words stand in one line, which gaps part columns of text and which the cells
of a table, and what is read before what. The order is a topological sort, after T. Breuel, "High
Performance Document Layout Analysis" (2003), but of whole blocks: one is read before those below it
and before those beside it on the right, and the column is read to its end before the next.

Lengths across are columns of 2 px, lengths down rows of 16 px; a page is scaled so that body text
has about the same size in both.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from statistics import fmean

import numpy as np
import numpy.typing as npt

from fastocr_cli.reader import vocabulary as v
from fastocr_cli.reader.bullets import are_marked, has_bullet
from fastocr_cli.reader.evidence import EM, EM_ROWS, LIKELY, Word
from fastocr_cli.reader.grids import Cell, cells_of_tables
from fastocr_cli.reader.gutters import behind_gutters
from fastocr_cli.reader.listings import first_cells, listings
from fastocr_cli.reader.monospaced import is_monospaced
from fastocr_cli.reader.rules import behind_rules
from fastocr_cli.reader.vocabulary import TABULAR, LineKind

_WORD_GAP, _COLUMN_GAP = 1.3 * EM, EM
"""Between words of one line, mostly less; between columns of text, mostly more."""
_EDGE_ROWS = 1.3 * EM_ROWS
"""Rows between a page's header or footer and the text, at least."""
_FLUSH = 4
"""Columns between the beginnings of two lines of one column of text, at most."""
_CELL_BEGINS = 0.75
"""Chance of a line's beginning behind the gaps of a table, mostly less."""
_ROW_INDENT = 4 * EM
"""Columns between the beginnings of two rows of a table, at most."""
_LEVEL, _STEP = 0.6, 1.05
"""Rows between the middles of two words of one line, mostly less; and at most, for what stands
across the edge of two rows may have been seen in either."""
_NEAR_ROWS, _BLOCK_ROWS = 5.2 * EM_ROWS, 2.6 * EM_ROWS
"""Rows to lines that tell whether one begins behind a gap, at most; to the next of a block."""
_PASSING, _PASSING_SHARE = 6, 0.15
"""Columns, and share of the shorter, by which the ends of two stretches may pass each other."""
_MARGIN_ROWS, _SET_RIGHT, _FEW_ALIKE = 16 * EM_ROWS, 11 * EM, 2
"""Rows above and below within which lines tell where the right margin is; columns of what is set to
it on the level of other text, and such lines that begin below each other, at most."""
_LABEL = re.compile(r"\(?(\d{1,3}|[A-Za-z])[.)]|\d{1,2}(\.\d{1,2})+")
_LABEL_GAP, _LABEL_BEGINS = 4 * EM, 0.1
"""Columns from a label to its text, at most; chance that a line begins with it, at least."""
_FEWEST_NUMBERS, _NUMBER_STEP, _NUMBER_GAP = 4, 3, 16 * EM
"""Lines that count up and so are numbered; what a misread number may leave out; columns from a
number to its line, at most."""
_NUMBER = re.compile(r"[-+–(]{0,2}[$€£¥]? ?\d[\d.,' ]*[%$€£¥]?\)?")
_CELL_CHANCE, _CELL_WIDTH = 0.7, 7 * EM
"""Chance that a number, or what a rule parts from the rest of its level, is a cell of a table; and
columns of such a cell, at most, for rules stand between columns of text as well."""
_TABULAR = [kind - min(LineKind) for kind in TABULAR]

Bools = npt.NDArray[np.bool_]
Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True)
class TextLine:
    """Words that are read one after another.

    cells: numbers of the words that begin a cell, for a row of a table; else empty.
    listing: number of the listing of code it is a line of; first_cell: the cell that such a line is
    told to begin in. is_marked: whether its first word is none, but a mark that stands before an
    item of a list.
    """

    words: tuple[Word, ...]
    cells: tuple[int, ...] = ()
    listing: int | None = None
    first_cell: int | None = None
    is_marked: bool = False

    @cached_property
    def row(self) -> float:
        return _height(self.words)

    @property
    def start(self) -> int:
        return self.words[0].start

    @property
    def stop(self) -> int:
        return self.words[-1].stop

    @property
    def is_text(self) -> bool:
        """Whether it is neither a row of a table nor code."""
        return not self.cells and self.listing is None

    @property
    def has_bullet(self) -> bool:
        return self.is_marked or has_bullet(self.words)

    @cached_property
    def is_monospaced(self) -> bool | None:
        """None where there are too few characters to tell."""
        return is_monospaced(self.words)

    @property
    def begins_line(self) -> float:
        return self.words[0].begins_line

    @property
    def tabular(self) -> float:
        """Chance that a cell of a table begins with it."""
        return float(self.words[0].kinds[_TABULAR].sum())

    @property
    def is_tabular(self) -> bool:
        return self.tabular > LIKELY * self.begins_line


def _height(words: Sequence[Word]) -> float:
    return fmean(word.height for word in words)


def lay_out(words: Sequence[Word], rules: Bools | None = None) -> list[TextLine]:
    """Every word in a line, lines in reading order. rules: see `rules.upright_rules`."""
    chains = _chains(words)
    levels = _levels(chains)
    ruled = set() if rules is None else behind_rules([level.words for level in levels], rules)
    behind = behind_gutters([level.words for level in levels if not level.is_tabular])
    if ruled or behind:
        chains = _chains(words, ruled | behind)
    chains, code = _without_listings(chains, behind)
    blocks = _blocks([*_whole_lines(chains, behind, ruled), *code])
    lines = [line for i in _reading_order(blocks) for line in blocks[i]]
    marked = are_marked([line.words if line.is_text else () for line in lines])
    return [replace(line, is_marked=is_it) for line, is_it in zip(lines, marked, strict=True)]


def _without_listings(
    chains: list[TextLine], behind: Collection[Word]
) -> tuple[list[TextLine], list[TextLine]]:
    """Chains that are in no listing of code, and the lines of those that are."""
    found = listings([chain.words for chain in chains], behind)
    code = []
    for number, levels in enumerate(found):
        lines = [tuple(word for i in level for word in chains[i].words) for level in levels]
        cells = first_cells([words[0] for words in lines])
        code += [
            TextLine(words, listing=number, first_cell=cell)
            for words, cell in zip(lines, cells, strict=True)
        ]
    taken = {i for levels in found for level in levels for i in level}
    return [chain for i, chain in enumerate(chains) if i not in taken], code


def _chains(words: Sequence[Word], behind: Collection[Word] = ()) -> list[TextLine]:
    """Words joined from left to right as long as gaps are those between words and they stand about
    level, for a page may not be quite straight. behind: words that begin lines for certain."""
    left = sorted(words, key=lambda word: word.start)
    begun = _begun(words)
    lines = []
    while left:
        chain = [left.pop(0)]
        height = chain[0].height
        while (
            following := _next_word(chain[-1], height, left, begun)
        ) is not None and following not in behind:
            chain.append(following)
            height = (height + following.height) / 2
            left.remove(following)
        lines.append(TextLine(tuple(chain)))
    return sorted(lines, key=lambda line: (line.row, line.start))


def _begun(words: Sequence[Word]) -> set[Word]:
    """Those that nothing precedes on their own level."""
    height = np.array([word.height for word in words])
    gaps = np.array([w.start for w in words])[:, None] - np.array([w.stop for w in words])
    is_level = np.abs(height[:, None] - height) <= _LEVEL
    precedes = is_level & (gaps >= -2) & (gaps <= _WORD_GAP)
    return {word for word, is_it in zip(words, precedes.any(1).tolist(), strict=True) if not is_it}


def _next_word(
    last: Word, height: float, words: Sequence[Word], begun: Collection[Word]
) -> Word | None:
    """The next to the right of words sorted by start; those `begun` may go on with a line that was
    seen in the row beside."""
    ahead = words[bisect_left(words, last.stop - 2, key=lambda word: word.start) :]
    level = _first_level(ahead, height)
    room = level.start + 2 if level else math.inf
    for word in ahead:
        if word.start - last.stop > _WORD_GAP * last.scale:
            return None
        gap = (word.start - last.stop) / min(last.scale, word.scale)
        if gap > _WORD_GAP:
            continue
        begins_line = word.begins_line > LIKELY
        if word is level:
            return None if begins_line and gap > _COLUMN_GAP else word
        is_beside = abs(word.height - height) <= _STEP and word in begun
        if is_beside and not begins_line and word.stop <= room:
            return word
    return None


def _first_level(words: Sequence[Word], height: float) -> Word | None:
    """The first of words sorted by start that stands on this level; where two lines come close and
    both have a word there, that of the nearer line."""
    nearest: Word | None = None
    end = math.inf
    for word in words:
        if word.start >= end:
            break
        away = abs(word.height - height)
        if away <= _LEVEL and (nearest is None or away < abs(nearest.height - height)):
            end = word.stop if nearest is None else end
            nearest = word
    return nearest


def _neighbours(lines: Sequence[TextLine]) -> dict[int, int]:
    """Each line's next to the right on the same level, by number; every line to the right of one
    at most."""
    to_left: dict[int, int] = {}
    heads = [_height(line.words[:3]) for line in lines]
    for i, line in enumerate(lines):
        tail = _height(line.words[-3:])
        ahead = [
            (other.start, j)
            for j, other in enumerate(lines)
            if other.start >= line.stop and abs(heads[j] - tail) <= _LEVEL
        ]
        if ahead:
            _, j = min(ahead)
            if j not in to_left or line.stop > lines[to_left[j]].stop:
                to_left[j] = i
    return {i: j for j, i in to_left.items()}


def _levels(lines: Sequence[TextLine]) -> list[TextLine]:
    """All that stands on one level as one line."""
    beside = _neighbours(lines)
    first = _first_of_levels(len(lines), beside)
    return [_whole_line(lines, i, beside, is_row=False) for i in first]


def _first_of_levels(count: int, to_right: dict[int, int]) -> list[int]:
    """The lines that nothing is to the left of."""
    return sorted(set(range(count)) - {*to_right.values()})


def _level(i: int, to_right: dict[int, int]) -> list[int]:
    """A line and those to its right."""
    level = [i]
    while level[-1] in to_right:
        level.append(to_right[level[-1]])
    return level


def _whole_lines(
    lines: list[TextLine], behind: Collection[Word], ruled: Collection[Word]
) -> list[TextLine]:
    """Lines that a wide gap has torn made whole: text set to full width, and rows of tables.

    A gap parts two lines if it is a gutter or there is a rule in it, or if another line begins
    behind it, there or mostly above and below. A rule may part the cells of a table.
    """
    beside = _neighbours(lines)
    in_table = _in_tables(lines, beside, ruled)
    is_cell = [
        i in in_table or (line.is_tabular and _is_in_table(line, lines))
        for i, line in enumerate(lines)
    ]
    numbered = _numbered(lines)
    to_right: dict[int, int] = {}
    for i in sorted(beside, key=lambda i: lines[i].start):
        j = beside[i]
        is_cell[j] |= is_cell[i]
        near = [other for other in lines if abs(other.row - lines[j].row) <= _NEAR_ROWS]
        beyond = [x for x in near if lines[i].stop <= x.start < lines[j].stop]
        flush = [x for x in beyond if abs(x.start - lines[j].start) <= _FLUSH]
        begins = max(fmean(x.begins_line for x in some) for some in (beyond, flush))
        if lines[j].start - lines[i].stop <= _label_reach(lines[i], is_numbered=i in numbered):
            is_inside = True
        elif is_cell[i]:  # a table beside a table is one, wider than the tower can see
            is_inside = j in in_table or lines[j].is_tabular or begins < _CELL_BEGINS
        else:
            begins = max(begins, lines[j].begins_line)
            goes_on = begins < LIKELY or (
                not lines[i].words[0].text.isdecimal() and _is_set_right(lines[j], lines)
            )
            is_torn = lines[j].words[0].is_known and not _ends_flush(lines[i], lines)
            is_inside = is_torn and goes_on and lines[j].words[0] not in ruled
        if is_inside and lines[j].words[0] not in behind:
            to_right[i] = j
    first = _first_of_levels(len(lines), to_right)
    return [_whole_line(lines, i, to_right, is_row=is_cell[i]) for i in first]


def _in_tables(
    lines: Sequence[TextLine], beside: dict[int, int], ruled: Collection[Word]
) -> set[int]:
    """Numbers of the lines, of those sorted from the top, that are cells of tables."""
    levels = [_level(i, beside) for i in _first_of_levels(len(lines), beside)]
    is_ruled = {i for i, line in enumerate(lines) if line.words[0] in ruled}
    is_ruled |= {i for i, j in beside.items() if j in is_ruled}
    cells = cells_of_tables([[_cell(lines[i], i in is_ruled) for i in level] for level in levels])
    return {levels[row][k] for row, k in cells}


def _cell(line: TextLine, is_ruled: bool) -> Cell:
    """Numbers below each other are cells more often than not, and what a rule parts from the rest
    of its level, unless it is a line of a column of text."""
    is_number = _NUMBER.fullmatch(" ".join(word.text for word in line.words)) is not None
    is_likely = is_number or (is_ruled and line.stop - line.start < _CELL_WIDTH)
    chance = max(line.tabular, _CELL_CHANCE if is_likely else 0.0)
    return Cell(line.start, line.stop, line.row, chance)


def _label_reach(line: TextLine, *, is_numbered: bool) -> float:
    """Columns to the right within which stands what a line is but the label of: it hangs before an
    item of a list, a bullet; 1. or (a) outside tables; or it numbers a line."""
    if len(line.words) > 1:
        return -math.inf
    if is_numbered:
        return _NUMBER_GAP
    word = line.words[0]
    is_label = word.mark == v.BULLET or (
        line.begins_line > _LABEL_BEGINS
        and not line.is_tabular
        and _LABEL.fullmatch(word.text) is not None
    )
    return _LABEL_GAP if is_label else -math.inf


def _numbered(lines: Sequence[TextLine]) -> set[int]:
    """Lines, of those sorted from the top, that begin with their number: the numbers stand below
    each other and count up, as in listings and pleadings."""
    counts: dict[int, list[int]] = {}  # by their last, lines that count up to it
    for i, line in enumerate(lines):
        text = line.words[0].text
        if line.is_tabular or not text.isdecimal():
            continue
        before = [
            j
            for j in counts
            if 0 < int(text) - int(lines[j].words[0].text) <= _NUMBER_STEP
            and lines[j].row < line.row
            and abs(lines[j].words[0].stop - line.words[0].stop) <= _FLUSH
        ]
        counts[i] = [*(counts.pop(before[-1]) if before else []), i]
    return {i for count in counts.values() if len(count) >= _FEWEST_NUMBERS for i in count}


def _is_in_table(line: TextLine, lines: Sequence[TextLine]) -> bool:
    """Whether the next line above or below it is a row of a table as well."""
    return any(other.is_tabular for other in _next_to(line, lines))


def _ends_flush(line: TextLine, lines: Sequence[TextLine]) -> bool:
    """Whether the next lines above and below it both end where it ends, as in a column of justified
    text."""
    beside = _next_to(line, lines)
    is_flush = len(beside) == 2 and all(abs(x.stop - line.stop) <= _FLUSH for x in beside)
    return is_flush and not line.words[-1].is_leader


def _is_set_right(line: TextLine, lines: Sequence[TextLine]) -> bool:
    """Whether it is set to the right margin and stands alone there, so that it ends what stands on
    its level: dates in a curriculum. Lines of a column begin below each other."""
    near = [other for other in lines if abs(other.row - line.row) <= _MARGIN_ROWS]
    alike = [other for other in near if abs(other.start - line.start) <= _FLUSH]
    is_alone = len(alike) <= _FEW_ALIKE and all(
        abs(other.stop - line.stop) <= _FLUSH for other in alike
    )
    is_short = line.stop - line.start <= _SET_RIGHT
    is_at_margin = max(other.stop for other in near) - line.stop <= _FLUSH
    return is_short and is_alone and is_at_margin


def _next_to(line: TextLine, lines: Sequence[TextLine]) -> list[TextLine]:
    """The next lines above and below that begin about where it begins."""
    near = [other for other in lines if abs(other.start - line.start) <= _ROW_INDENT]
    above = max((x for x in near if x.row < line.row), key=lambda x: x.row, default=None)
    below = min((x for x in near if x.row > line.row), key=lambda x: x.row, default=None)
    return [other for other in (above, below) if other]


def _whole_line(
    lines: Sequence[TextLine], i: int, to_right: dict[int, int], *, is_row: bool
) -> TextLine:
    words: list[Word] = []
    cells: list[int] = []
    for j in _level(i, to_right):
        cells.append(len(words))
        words += lines[j].words
    return TextLine(tuple(words), tuple(cells) if is_row and len(cells) > 1 else ())


def _blocks(lines: Sequence[TextLine]) -> list[list[TextLine]]:
    """Lines that stand below each other with nothing beside them, top down; and listings."""
    left, right, row = (
        np.array([getattr(line, name) for line in lines], float)
        for name in ("start", "stop", "row")
    )
    overlaps = _overlaps(left, right)
    above = overlaps & (row[:, None] < row - 0.5)
    follows = above & ~(above.astype(np.float32) @ above.astype(np.float32) > 0)
    is_only = (follows.sum(1)[:, None] == 1) & (follows.sum(0) == 1)
    is_near = row - row[:, None] <= _BLOCK_ROWS
    # What stands well above or below all else belongs to the page, not to a column.
    in_order = np.argsort(row)
    if len(row) > 1 and row[in_order[1]] - row[in_order[0]] > _EDGE_ROWS:
        is_near[in_order[0]] = False
    if len(row) > 1 and row[in_order[-1]] - row[in_order[-2]] > _EDGE_ROWS:
        is_near[:, in_order[-1]] = False
    following = {int(a): int(b) for a, b in np.argwhere(follows & is_only & is_near)}
    following = {
        a: b for a, b in following.items() if lines[a].listing is None and lines[b].listing is None
    }
    following |= {
        i: i + 1
        for i, (line, below) in enumerate(pairwise(lines))
        if line.listing is not None and line.listing == below.listing
    }
    blocks = []
    for i in sorted(set(range(len(lines))) - set(following.values())):
        block = [lines[i]]
        while i in following:
            i = following[i]
            block.append(lines[i])
        blocks.append(block)
    return blocks


def _overlaps(left: Numbers, right: Numbers) -> Bools:
    """Which of n stretches left..right lie above or below each other, [n, n]; ends that just pass
    each other do not make them."""
    shorter = np.minimum((right - left)[:, None], right - left)
    overlaps: Bools = _shared(left, right) > np.minimum(_PASSING, _PASSING_SHARE * shorter)
    return overlaps


def _shared(left: Numbers, right: Numbers) -> Numbers:
    """Columns that n stretches left..right have in common, [n, n]; below 0: that part them."""
    common: Numbers = np.minimum(right[:, None], right) - np.maximum(left[:, None], left)
    return common


def _between_columns(overlaps: Bools, left: Numbers, right: Numbers) -> Bools:
    """Which of n stretches hangs over the end of which, [n, n], as a caption set between two
    columns does: it overlaps both and lies mostly in neither, so it need not be read between what
    stands above and below it."""
    width = (right - left)[:, None]
    mostly_beside = _shared(left, right) < 0.5 * width
    hangs_over = overlaps & (width <= width.T) & mostly_beside
    to_right = hangs_over & (left[:, None] > left)
    to_left = hangs_over & (left[:, None] < left)
    ends_apart = to_right.astype(np.float32) @ ~overlaps > 0
    is_between = np.any(ends_apart & to_left, axis=1, keepdims=True)
    return hangs_over & is_between


def _closed(before: Bools) -> Bools:
    """The relation's transitive closure, [n, n]."""
    closed = before
    while True:
        wider = closed | (closed.astype(np.float32) @ closed.astype(np.float32) > 0)
        if (wider == closed).all():
            return closed
        closed = wider


def _reading_order(units: Sequence[Sequence[TextLine]]) -> list[int]:
    """Numbers of the units, blocks of text or tables, in the order they are read."""
    left = np.array([min(line.start for line in unit) for unit in units], float)
    right = np.array([max(line.stop for line in unit) for unit in units], float)
    top = np.array([unit[0].row for unit in units])
    bottom = np.array([unit[-1].row for unit in units])
    overlaps = _overlaps(left, right)
    between = _between_columns(overlaps, left, right)
    overlaps &= ~between & ~between.T
    is_level = (top[:, None] <= bottom) & (top <= bottom[:, None])
    before = (overlaps & (top[:, None] < top)) | (is_level & ~overlaps & (left[:, None] < left))
    leads_to = _closed(before)
    waiting = np.lexsort((left, top)).tolist()
    done: list[int] = []
    while waiting:
        is_free = ~before[np.ix_(waiting, waiting)].any(0)
        free = [waiting[i] for i in np.flatnonzero(is_free)] or waiting[:1]
        last = next((u for u in reversed(done) if overlaps[u, waiting].any()), None)
        if last is not None:  # this column goes on, below; or what must be read before it
            goes_on = [u for u in waiting if overlaps[last, u]]
            below = [u for u in free if overlaps[last, u] or top[u] > bottom[last]]
            free = below or [u for u in free if leads_to[u, goes_on[0]]] or free
        done.append(free[0])
        waiting.remove(done[-1])
    return done
