"""Faint print and uneven light put right: the paper about every place white, its ink black.

Thresholds and levels are local, after J. Sauvola and M. Pietikäinen, "Adaptive document image
binarization" (2000), but grey stays grey.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import sliding_window_view
from PIL import Image

_BLOCKS, _ABOUT = 60, 2
"""Blocks along the shorter side of a page, a line of text or so; and how many to each side of one
show what is paper there and what is ink."""
_PAPER, _INK = 90, 2
"""Percentiles of a block."""
_SOME, _CLEAR = 30.0, 110.0
"""Levels between paper and ink: where there is any ink, more; where it is faint, mostly less."""

Levels = npt.NDArray[np.float32]


def evened(page: Image.Image) -> Image.Image:
    """A grey page with faint ink made black; one that is printed clearly as it is."""
    grey = np.asarray(page)
    paper, ink = _levels(grey)
    contrast = paper - ink
    inked = contrast[contrast > _SOME]
    if not inked.size or float(np.median(inked)) >= _CLEAR:
        return page
    white, range_ = (
        np.asarray(Image.fromarray(one).resize(page.size, Image.Resampling.BILINEAR))
        for one in (paper, np.maximum(contrast, 2 * _SOME))
    )
    shown = 255 * (1 - (white - grey) / range_)
    return Image.fromarray(shown.clip(0, 255).astype(np.uint8))


def _levels(grey: npt.NDArray[np.uint8]) -> tuple[Levels, Levels]:
    """Of paper and of ink about each block of a page, [blocks down, blocks across]."""
    side = max(1, min(grey.shape) // _BLOCKS)
    rows, columns = (length // side for length in grey.shape)
    blocks = grey[: rows * side, : columns * side].reshape(rows, side, columns, side)
    paper, ink = np.percentile(blocks, (_PAPER, _INK), axis=(1, 3)).astype(np.float32)
    return _about(paper).max((2, 3)), _about(ink).min((2, 3))


def _about(levels: Levels) -> Levels:
    """The blocks about each, [blocks down, blocks across, window, window]."""
    window = 2 * _ABOUT + 1
    return sliding_window_view(np.pad(levels, _ABOUT, mode="edge"), (window, window))
