"""Light print on dark grounds turned into dark print on white: dark slides, boxes, heads of tables.

A ground is dark over some breadth and height, which the strokes of headlines are not; and what is
printed on it is lighter, which is not so on dark paper.
"""

from __future__ import annotations

import numpy as np
from PIL import Image, ImageFilter

from fastocr_cli.reader.ink import Bools, Grey, connected, tall_runs

_FINENESS = 450
"""Grounds are looked for on a page of about so many px across, where strokes of text are one or two
wide. Lengths below are in these."""
_LEAST_WIDTH, _LEAST_HEIGHT = 50, 1
"""Above its print and below, a ground goes on for more."""
_STROKES = 7
"""Squares of which a median shows the ground and not the text on it; no ground is lower."""
_LARGEST_LETTER = 60
_FULLNESS = 0.55
"""Share of a ground that is not printed on, at least."""
_CONTRAST, _PRINTED = 40, 0.001
"""Levels by which print is lighter than its ground, and the share of a ground with print, at
least."""
_SIDE = 2.0
"""What is printed on a ground is that many times as often lighter as it is darker."""
_DENT, _FRAMED = 3, 0.6
"""How deep the sides of a rectangle may be dented, and the share of them that a ground has at
least."""
_NO_GROUND = 255


def dark_on_light(page: Image.Image) -> Image.Image:
    """A grey page with its dark grounds made white and the light print on them dark; one without
    dark grounds as it is."""
    levels = _ground_levels(page.reduce(max(1, page.width // _FINENESS)))
    if levels is None:
        return page
    ground = np.asarray(Image.fromarray(levels).resize(page.size, Image.Resampling.NEAREST))
    grey, rest = 255 - np.asarray(page), np.maximum(255 - ground, 1)
    turned = (255.0 * grey / rest).clip(0, 255).astype(np.uint8)
    return Image.fromarray(np.where(ground == _NO_GROUND, np.asarray(page), turned))


def _ground_levels(page: Image.Image) -> Grey | None:
    """How dark the ground is where it is dark and its print is light, else _NO_GROUND."""
    grey = np.asarray(page)
    middle = (float(grey.min()) + float(grey.max())) / 2
    wide = tall_runs((grey < middle).T, _LEAST_WIDTH).T
    solid = tall_runs(wide, _LEAST_HEIGHT)
    if not solid.any():
        return None
    usual = np.asarray(page.filter(ImageFilter.MedianFilter(_STROKES))) < middle
    grounds = tall_runs(_without_gaps(solid) & _without_gaps(usual.T).T, _STROKES)
    levels = np.full_like(grey, _NO_GROUND)
    for ground in connected(grounds):
        if _is_framed(ground):
            levels[ground] = _level(grey[ground], middle)
    if (levels == _NO_GROUND).all():
        return None
    # The median rounds a ground's corners.
    near = np.asarray(Image.fromarray(levels).filter(ImageFilter.MinFilter(_STROKES)))
    return np.where(grey < middle, near, levels)


def _is_framed(piece: Bools) -> bool:
    """Whether most of a piece's outline is a rectangle, as that of a box is, but not a shadow's."""
    rows, columns = (np.flatnonzero(piece.any(axis)) for axis in (1, 0))
    part = piece[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
    if min(part.shape) < _STROKES:
        return False
    sides = part[_DENT], part[-1 - _DENT], part[:, _DENT], part[:, -1 - _DENT]
    return float(np.concatenate(sides).mean()) > _FRAMED


def _level(shown: Grey, middle: float) -> int:
    """How dark a piece of a page is where nothing is printed, if its print is light."""
    is_empty = shown < middle
    level = int(np.median(shown[is_empty])) if is_empty.mean() > _FULLNESS else _NO_GROUND
    lighter, darker = (shown > level + _CONTRAST).mean(), (shown < level - _CONTRAST).mean()
    return level if lighter > max(_PRINTED, _SIDE * darker) else _NO_GROUND


def _without_gaps(mask: Bools) -> Bools:
    """The mask with what it has above and below, no further apart than a letter is high."""
    padded = np.pad(mask, ((_LARGEST_LETTER + 1, _LARGEST_LETTER + 1), (0, 0)))
    filled = ~tall_runs(~padded, _LARGEST_LETTER)
    return filled[_LARGEST_LETTER + 1 : -_LARGEST_LETTER - 1]
