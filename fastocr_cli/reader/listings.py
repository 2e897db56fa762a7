"""Listings of code: lines in a monospaced face among prose.

The tower judges every line by itself, and one that says only `try:` looks like any other. But code
stands line below line in a face whose characters are all as wide, and of short lines it can be told
whether they stand on the places of their neighbours. What is in columns there was put so by spaces:
words far apart on one level are one line, whatever stands above and below them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from statistics import fmean, median

import numpy as np

from fastocr_cli.reader.evidence import EM, EM_ROWS, Word
from fastocr_cli.reader.monospaced import EVEN, FEW_STEPS, Spacing
from fastocr_cli.reader.vocabulary import COLUMNS_PER_CELL

_SOME_STEPS, _MANY_STEPS = 3, 16
"""Steps from character to character by fewer of which nothing can be told of a line's face; and so
many that it surely can be told without its neighbours, even where some were misread."""
_SAME_PITCH, _PERHAPS_SAME, _ON_PLACE = 0.1, 0.2, 0.3
"""Shares of the pitch by which those of two lines of a listing may differ, if both are told, and if
one is of a few characters; and by which the first character of a line may miss its place."""
_BLANK_ROWS = 3.9 * EM_ROWS
"""Rows from one line of a listing to the next, at most: there may be blank ones."""
_LINE_ROWS = 2.1 * EM_ROWS
"""The same where there are none."""
_LEVEL, _NUMBER_LEVEL = 0.6, 0.85
"""Rows between the middles of what stands in one line, and of a line and its number."""
_INDENT, _NUMBER_GAP = 10, 16 * EM
"""Characters by which a line with marks of code may stand out to the left; columns from a number to
its line, at most."""
_FLUSH, _SAME_PLACE = 4, 2.5
"""Columns between the beginnings of two lines of one paragraph, and of the next two at the same
place of a listing, at most."""
_MARKS = frozenset('(){}[]<>=_\\"“”;:#*&|@^~$/')
_BARE = _MARKS | set(".,%")
_BRACKETS = frozenset("(){}[]<>=_\\")
_FEWEST, _MARKED, _FEWEST_LINES, _FEWEST_BRACKETS = 12, 0.02, 3, 2
"""Characters of a listing, and the share that are marks of code rather than of prose, at least; and
lines, or brackets in fewer."""
_DIGITS = 0.35
"""Share of them that are digits, at most; tables of numbers have more."""
_MOST, _BRACKETED = 0.75, 0.03
"""Share of a page's characters that is monospaced where the page is typewritten, or nothing but
code; and share of them that are brackets and the like in code, at least."""


class _Chain:
    """Words joined from left to right.

    code: what follows the number of a line, which may be in another face; text: its characters.
    """

    def __init__(self, words: Sequence[Word]) -> None:
        is_numbered = len(words) > 1 and words[0].text.isdecimal()
        self.words, self.code = words, words[is_numbered:]
        self.spacing = Spacing(self.code)
        self.row = fmean(word.height for word in words)
        self.start, self.stop = words[0].start, words[-1].stop
        self.first = self.code[0].glyphs[0].middle
        self.text = "".join(word.text for word in self.code)


class _Listing:
    """Chains of one listing, and what it can be told from."""

    def __init__(self, chains: Sequence[_Chain]) -> None:
        self.chains = list(chains)
        self._measure()

    def add(self, chain: _Chain) -> None:
        self.chains.append(chain)
        self._measure()

    def _measure(self) -> None:
        told = [chain.spacing for chain in self.chains if chain.spacing.is_even]
        steps = sum(spacing.steps for spacing in told)
        self.pitch = sum(spacing.pitch * spacing.steps for spacing in told) / max(1, steps)
        self.left = min(chain.start for chain in self.chains)
        self.right = max(chain.stop for chain in self.chains)
        self.top = min(chain.row for chain in self.chains)
        self.bottom = max(chain.row for chain in self.chains)

    def crosses(self, chain: _Chain) -> bool:
        return chain.start < self.right and chain.stop > self.left

    def goes_on_with(self, chain: _Chain, others: Sequence[_Chain]) -> bool:
        """Whether a monospaced chain belongs to it, with none of some others between."""
        is_near = chain.row - self.bottom <= _BLANK_ROWS
        if not is_near or abs(chain.spacing.pitch - self.pitch) > _SAME_PITCH * self.pitch:
            return False
        both = _Listing([*self.chains, chain])
        return not any(
            self.bottom + _LEVEL < other.row < chain.row - _LEVEL
            and other.spacing.steps >= _MANY_STEPS
            and both.crosses(other)
            for other in others
        )

    def holds(self, chain: _Chain) -> bool:
        """Whether a chain that cannot be told by itself is a line of it, or some of one."""
        is_marked = not _MARKS.isdisjoint(chain.text)
        is_bracket = _BARE.issuperset(chain.text)
        steps, spacing = chain.spacing.steps, chain.spacing
        is_told = (is_marked and steps > 1) or (steps >= _SOME_STEPS and spacing.misfit <= EVEN)
        away = max(self.top - chain.row, chain.row - self.bottom)
        if away > (_BLANK_ROWS if is_told else _LINE_ROWS if is_bracket else 0):
            return False
        places = (chain.first - np.array([one.first for one in self.chains])) / self.pitch
        is_on_place = float(np.median(np.abs(places - np.round(places)))) <= _ON_PLACE
        misfit = abs(spacing.pitch - self.pitch) / self.pitch
        is_alike = steps < _SOME_STEPS or misfit <= _PERHAPS_SAME
        if not is_on_place or not is_alike or chain.start > self.right + EM:
            return False
        place = float(places.max())  # from the leftmost
        if is_bracket:
            return place >= -_INDENT
        if steps < FEW_STEPS:
            return place >= (-_INDENT if is_told and is_marked else -0.5)
        return place > 0.5 and steps < _MANY_STEPS and is_marked

    @property
    def is_code(self) -> bool:
        """Whether what it says looks like code as well, not like an address or a table that is
        typewritten."""
        text = "".join(chain.text for chain in self.chains)
        marks, brackets = (sum(c in some for c in text) for some in (_MARKS, _BRACKETS))
        is_block = len(list(self.levels())) >= _FEWEST_LINES or brackets >= _FEWEST_BRACKETS
        is_marked = len(text) >= _FEWEST and marks >= _MARKED * len(text)
        return is_block and is_marked and sum(map(str.isdecimal, text)) < _DIGITS * len(text)

    def levels(self) -> Iterator[list[_Chain]]:
        """Its lines from the top, each from left to right."""
        level: list[_Chain] = []
        for chain in sorted(self.chains, key=lambda chain: chain.row):
            if level and chain.row - level[0].row > _LEVEL:
                yield sorted(level, key=lambda chain: chain.start)
                level = []
            level.append(chain)
        yield sorted(level, key=lambda chain: chain.start)


def listings(chains: Sequence[Sequence[Word]], behind: Collection[Word]) -> list[list[list[int]]]:
    """Of each listing its lines from the top, as the numbers of the chains in them from left to
    right. behind: words that begin columns of text for certain."""
    all_chains = sorted(map(_Chain, chains), key=lambda chain: (chain.row, chain.start))
    if _is_typewritten(all_chains):
        return []
    found: list[_Listing] = []
    runs, left = _runs(all_chains, behind)
    for run in runs:
        left = _filled(run, left)
        found += _parts(run, left)
    number = {words[0]: i for i, words in enumerate(chains)}
    return [
        [[number[chain.words[0]] for chain in level] for level in one.levels()]
        for one in found
        if one.is_code and (len(one.chains) > 1 or _stands_alone(one.chains[0], all_chains))
    ]


def _is_typewritten(chains: Sequence[_Chain]) -> bool:
    """Whether a page is monospaced without being code."""
    letters = sum(len(chain.text) for chain in chains)
    even = "".join(chain.text for chain in chains if chain.spacing.is_even)
    brackets = sum(character in _BRACKETS for character in even)
    return len(even) > _MOST * letters and brackets < _BRACKETED * len(even)


def first_cells(lines: Sequence[Word]) -> list[int]:
    """The cell that each line of a listing begins in, by their first words: the same where they
    begin at the same place, whatever side of a cell's edge a column more or less puts them on."""
    places: list[list[float]] = []
    for middle in sorted(word.glyphs[0].middle for word in lines):
        if not places or middle - places[-1][-1] > _SAME_PLACE:
            places.append([])
        places[-1].append(middle)
    cells = {middle: int(median(place)) // COLUMNS_PER_CELL for place in places for middle in place}
    return [cells[word.glyphs[0].middle] for word in lines]


def _runs(
    chains: Sequence[_Chain], behind: Collection[Word]
) -> tuple[list[_Listing], list[_Chain]]:
    """Monospaced chains that follow each other with nothing between that surely is prose, and what
    below them belongs to them; and chains of none."""
    runs: list[_Listing] = []
    left: list[_Chain] = []
    for chain in chains:
        for run in reversed(runs):
            if chain.spacing.is_even:
                is_beside = chain.words[0] in behind and chain.start >= run.right
                is_its = not is_beside and run.goes_on_with(chain, left)
            else:
                is_its = run.holds(chain)
            if is_its:
                run.add(chain)
                break
        else:
            if chain.spacing.is_even:
                runs.append(_Listing([chain]))
            else:
                left.append(chain)
    return runs, left


def _filled(listing: _Listing, left: Sequence[_Chain]) -> list[_Chain]:
    """Adds to a listing what belongs to it of the chains that are left; those that still are."""
    while held := [chain for chain in left if listing.holds(chain)]:
        for chain in held:
            listing.add(chain)
        left = [chain for chain in left if chain not in held]
    numbers = [chain for chain in left if any(_numbers(chain, line) for line in listing.chains)]
    listing.chains += numbers  # which may stand well to the left of it: they widen nothing
    return [chain for chain in left if chain not in numbers]


def _parts(listing: _Listing, others: Sequence[_Chain]) -> list[_Listing]:
    """A listing cut where other text stands in it."""
    cuts = [chain.row for chain in others if listing.crosses(chain)]
    parts: dict[int, list[_Chain]] = {}
    for chain in listing.chains:
        parts.setdefault(sum(cut < chain.row for cut in cuts), []).append(chain)
    return [_Listing(part) for part in parts.values()]


def _numbers(chain: _Chain, line: _Chain) -> bool:
    """Whether it is the number of a line."""
    return (
        chain.text.isdecimal()
        and abs(chain.row - line.row) <= _NUMBER_LEVEL
        and 0 <= line.start - chain.stop <= _NUMBER_GAP
    )


def _stands_alone(chain: _Chain, chains: Sequence[_Chain]) -> bool:
    """Whether a line is none of a paragraph: none begins directly above or below where it does."""
    return not any(
        other is not chain
        and abs(other.start - chain.start) <= _FLUSH
        and abs(other.row - chain.row) <= _LINE_ROWS
        for other in chains
    )
