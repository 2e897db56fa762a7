"""The ink of a page, and from it how large its text is.

How large text is on a raster nobody says, so it is measured: ink is smeared sideways until words
are bars, and the usual height of a bar tells the em.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
import numpy.typing as npt

BAR_SHARE = 0.67
"""Height of a smeared line of text over its em, measured on typeset pages."""
REACH = 0.7
"""Ems to either side by which ink is smeared into bars."""
_TALLEST_LETTER = 1.2
"""Ems; brackets and bars are the tallest."""
_WIDEST_LETTER = 3.0
"""Ems; letters that touch are no wider."""
_SLENDER = 30.0
"""How many times as tall as it is thick a rule is, at least; hardly any letter is."""
_LARGEST_BAR = 0.12
"""Bars taller than this share of the page are pictures."""

_DARK, _FAINT = 0.45, 0.35
"""Shares of the way from paper to the darkest ink: of strokes, and of thin ones in light faces."""

Grey = npt.NDArray[np.uint8]
Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int_]


@dataclass(frozen=True, eq=False)
class Ink:
    """Where a page is inked: clearly, and as faintly as light faces are in places; bool [H, W]."""

    mask: Bools
    faint: Bools

    @classmethod
    def of(cls, grey: Grey) -> Self:
        """Where a pixel is darker than the page around it. grey: [H, W]."""
        paper = paper_level(grey)
        contrast = paper - float(np.percentile(grey[::4, ::4], 0.5))
        if contrast < 40:
            return cls(np.zeros_like(grey, bool), np.zeros_like(grey, bool))
        return cls(grey < paper - _DARK * contrast, grey < paper - _FAINT * contrast)

    @cached_property
    def em(self) -> float | None:
        """The usual em of the page's text in px, None where no text is seen."""
        if not self.mask.any():
            return None
        # Broken strokes would make text look smaller than it is.
        ink, any_em = self.faint, max(8.0, self.mask.shape[1] / 60)  # says how far to smear
        starts, stops = self._runs
        # A table's sides, smeared, may be taller than all its text.
        is_rule = _are_rules(ink, starts, stops, _TALLEST_LETTER * any_em)
        if is_rule.any():
            ink = ink & ~_drawn(self._runs, is_rule, ink.shape)
        guess = _bar_em(ink, any_em)
        em = guess and _bar_em(ink, guess)
        if em is None:
            return None
        is_frame = is_rule | (stops - starts > _TALLEST_LETTER * em)
        ink = self.faint & ~_drawn(self._runs, is_frame, ink.shape)
        return min(em, _bar_em(ink, em) or em)  # frames can only have made it look larger

    @cached_property
    def _runs(self) -> tuple[Ints, Ints]:
        return vertical_runs(self.faint)

    def slender_runs(self, least: float) -> Bools:
        """Where it runs down for more than so many px as slender as a rule, [H, W]."""
        is_rule = _are_rules(self.faint, *self._runs, least)
        return _drawn(self._runs, is_rule, self.faint.shape)


def paper_level(grey: Grey) -> float:
    """How light most of a page is. grey: [H, W]."""
    return float(np.percentile(grey[::4, ::4], 90))


def _bar_em(ink: Bools, em: float) -> float | None:
    bars = smeared(ink, max(3, round(REACH * em)))
    step = max(1, ink.shape[1] // 400)
    bar = usual_bar(bars[:, ::step])
    return bar and bar / BAR_SHARE


def usual_bar(bars: Bools) -> float | None:
    """The usual height of a bar in px, None where there are hardly any. bars: [H, W]."""
    heights = run_lengths(bars)
    heights = heights[(heights >= 3) & (heights < _LARGEST_BAR * len(bars))]
    if len(heights) < 20:
        return None
    # Tall runs hold more text than the many specks of dots, dashes and accents.
    order = np.sort(heights)
    weight = np.cumsum(order)
    return float(order[np.searchsorted(weight, weight[-1] / 2)])


def without_frames(ink: Bools, em: float) -> Bools:
    """Ink but for what stands higher than any letter: the sides of boxes and tables would smear
    into bars as tall as themselves."""
    return ink & ~tall_runs(ink, _TALLEST_LETTER * em)


def without_rules(ink: Bools, em: float) -> Bools:
    """Ink but for what runs on further than any letter."""
    return ink & ~tall_runs(ink.T, _WIDEST_LETTER * em).T


def tall_runs(mask: Bools, least: float) -> Bools:
    """Of a mask the vertical runs of more than so many px."""
    starts, stops = vertical_runs(mask)
    return _drawn((starts, stops), stops - starts > least, mask.shape)


def _are_rules(mask: Bools, starts: Ints, stops: Ints, least: float) -> Bools:
    """Which vertical runs are more than so many px, and slender where most of each is."""
    is_rule = stops - starts > least
    if not is_rule.any():
        return is_rule
    starts, lengths = starts[is_rule], (stops - starts)[is_rule]
    most = np.ceil(lengths / _SLENDER).astype(int)
    sums = np.cumsum(np.pad(mask, ((0, 0), (1, 0))), axis=1, dtype=np.int32)
    slender = np.zeros(len(starts), int)
    for share in (0.25, 0.5, 0.75):  # at one of them something may cross it
        x, y = np.divmod((starts + share * lengths).astype(int), len(mask))
        left, right = np.maximum(x - most, 0), np.minimum(x + most + 1, mask.shape[1])
        slender += (sums[y, x + 1] - sums[y, left] <= most) & (sums[y, right] - sums[y, x] <= most)
    is_rule[is_rule] = slender >= 2
    return is_rule


def _drawn(runs: tuple[Ints, Ints], chosen: Bools, shape: tuple[int, ...]) -> Bools:
    """Some of the vertical runs, by their starts and stops, as a mask of that shape."""
    height, width = shape
    turns = np.zeros(height * width + 1, np.int8)
    turns[runs[0][chosen]] += 1
    turns[runs[1][chosen]] -= 1
    return np.cumsum(turns[:-1], dtype=np.int8).reshape(width, height).T.astype(bool)


def smeared(ink: Bools, reach: int) -> Bools:
    """Ink widened sideways by `reach` px each way."""
    sums = np.cumsum(np.pad(ink, ((0, 0), (reach + 1, reach))), axis=1, dtype=np.int32)
    return sums[:, 2 * reach + 1 :] > sums[:, : -2 * reach - 1]


def run_lengths(mask: Bools) -> npt.NDArray[np.int64]:
    """Lengths of the vertical runs of True, all columns together."""
    starts, stops = vertical_runs(mask)
    return stops - starts


def vertical_runs(mask: Bools) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Where vertical runs of True start and stop, counted down one column after the other."""
    height = len(mask)
    turns = np.diff(np.pad(mask, ((1, 1), (0, 0))).astype(np.int8), axis=0).T
    x, y = np.nonzero(turns == 1)
    starts = x * height + y
    x, y = np.nonzero(turns == -1)
    return starts, x * height + y


def connected(mask: Bools) -> Iterator[Bools]:
    """Each part of a mask whose px touch by their sides, as a mask."""
    labels = np.where(mask, np.arange(1, mask.size + 1).reshape(mask.shape), 0)
    before = np.zeros_like(labels)
    while (labels != before).any():
        before = labels
        labels = _with_highest(_with_highest(labels).T).T
    for label in np.unique(labels[mask]):
        yield labels == label


def _with_highest(labels: Ints) -> Ints:
    """Every vertical run of labels above 0 with its highest throughout."""
    starts, stops = vertical_runs(labels > 0)
    flat = np.append(labels.T, 0)
    highest = np.maximum.reduceat(flat, np.stack([starts, stops], axis=1).ravel())[::2]
    flat[flat > 0] = np.repeat(highest, stops - starts)
    return flat[:-1].reshape(labels.T.shape).T
